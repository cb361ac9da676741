// Control flow: loops, branches, calls, partitions of warps and elected lanes.
#include "sim/block/meaning.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim::block {

using namespace ir;

namespace {

/// The lane that elect picks. Not lane 0: PTX promises only that it is always the same.
constexpr int elected_lane = 13;

std::vector<WarpProgram::Carried> take_all(WarpProgram& warp, Op const& op, int first) {
  std::vector<WarpProgram::Carried> taken;
  for (int i = first; i < op.operand_count(); ++i) taken.push_back(warp.take(op, *op.operand(i)));
  return taken;
}

void give_results(WarpProgram& warp, Op const& op, std::vector<WarpProgram::Carried> carried) {
  for (std::size_t i = 0; i < carried.size(); ++i) warp.give(*op.result(static_cast<int>(i)), std::move(carried[i]));
}

/// Block arguments from `first` on.
void bind_arguments(WarpProgram& warp, Block const& body, int first, std::vector<WarpProgram::Carried> carried) {
  for (std::size_t i = 0; i < carried.size(); ++i)
    warp.give(*body.argument(static_cast<int>(i) + first), std::move(carried[i]));
}
void bind_arguments(WarpProgram& warp, Block const& body, std::vector<WarpProgram::Carried> carried,
                    std::int64_t index) {
  warp.agent().set_index(*body.argument(0), index);
  bind_arguments(warp, body, 1, std::move(carried));
}

/// Values taken before this are safe.
void forget_dying(WarpProgram& warp, Op const& op) { warp.forget(warp.plan().of(op)); }

}  // namespace

Progress perform(WarpProgram& warp, Op const& op, ForOp const&) {
  std::int64_t const lower = warp.integer(*op.operand(0)), upper = warp.integer(*op.operand(1)),
                     step = warp.integer(*op.operand(2));
  auto inits = take_all(warp, op, 3);
  if (step <= 0)
    warp.agent().report(sim::ReportKind::bad_step, op, [&] {
      return "a loop's step is " + std::to_string(step) + " but must be at least 1; it is not run";
    });
  if (step <= 0 || lower >= upper) {
    forget_dying(warp, op);
    give_results(warp, op, std::move(inits));
    return Progress::done;
  }
  bind_arguments(warp, op.block(), std::move(inits), lower);
  WarpProgram::Frame& frame = warp.enter(op.block(), op);
  frame.index = lower;
  frame.upper = upper;
  frame.step = step;
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, RepeatOp const&) {
  bind_arguments(warp, op.block(), 0, take_all(warp, op, 0));
  warp.enter(op.block(), op);
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, IfOp const&) {
  warp.enter(op.block(warp.agent().condition(*op.operand(0)) ? 0 : 1), op);
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, YieldOp const&) {
  WarpProgram::Frame& frame = warp.frame();
  Op const& owner = *frame.owner;
  bool const repeats = owner.is<RepeatOp>();
  bool const again = repeats && warp.agent().condition(*op.operand(0));
  auto values = take_all(warp, op, repeats ? 1 : 0);
  forget_dying(warp, op);
  if (again) {
    frame.at = frame.block->begin();
    bind_arguments(warp, *frame.block, 0, std::move(values));
    return Progress::done;
  }
  if (owner.is<ForOp>() && frame.step < frame.upper - frame.index) {
    frame.index += frame.step;
    frame.at = frame.block->begin();
    bind_arguments(warp, *frame.block, std::move(values), frame.index);
    return Progress::done;
  }
  warp.leave();
  give_results(warp, owner, std::move(values));
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, ReturnOp const&) {
  Op const* const call = warp.frame().owner;
  if (call == nullptr) {
    warp.finish();
    return Progress::done;
  }
  auto values = take_all(warp, op, 0);
  warp.leave();
  give_results(warp, *call, std::move(values));
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, CallOp const& attributes) {
  Module const* const module = op.function()->parent();
  Function const* const callee = module == nullptr ? nullptr : module->find(attributes.callee.view());
  if (callee == nullptr) throw InternalError("simulate: @" + std::string(attributes.callee.view()) + " is not defined");
  for (int i = 0; i < op.operand_count(); ++i) warp.pass(*op.operand(i), *callee->parameter(i));
  warp.enter(callee->body(), op);
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, WarpSpecializeOp const& attributes) {
  int const index = warp.group().first + warp.index();
  int first = 0;
  for (int part = 0; part < op.block_count(); ++part) {
    auto const warps = static_cast<int>(attributes.warps[part]);
    auto const replicas = static_cast<int>(attributes.replicas[part]);
    if (index >= first + warps * replicas) {
      first += warps * replicas;
      continue;
    }
    std::int64_t const count = attributes.registers[part];
    if (count != 0 && warp.turn() == 0) {
      std::uint32_t const entry = warp.engine().entry_registers();
      (void)warp.warp().set_max_registers(count > entry, static_cast<std::uint32_t>(count), warp.site());
      return Progress::again;
    }
    int const replica = (index - first) / warps;
    warp.agent().set_index(*op.block(part).argument(0), replica);
    WarpProgram::Frame& frame = warp.enter(op.block(part), op);
    frame.group = {first + replica * warps, warps, true};
    return Progress::done;
  }
  throw UserError("simulate: warp " + std::to_string(index) + " belongs to no partition", op.where());
}

Progress perform(WarpProgram& warp, Op const& op, ElectOp const& attributes) {
  if (attributes.warp >= 0 && attributes.warp != warp.index()) {
    forget_dying(warp, op);
    return Progress::done;
  }
  warp.enter(op.block(), op).lanes = machine::lane(elected_lane);
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, WarpIndexOp const&) {
  warp.agent().set_index(*op.result(), warp.index());
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, ClusterRankOp const&) {
  warp.agent().set_index(*op.result(), warp.cta() % warp.engine().cluster());
  return Progress::done;
}

}  // namespace tegula::sim::block
