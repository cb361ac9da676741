// Implements control flow: loops, branches, calls, partitions of warps and elected lanes.
#include <fmt/format.h>

#include "ir/core/loop.hpp"
#include "sim/block/meaning.hpp"
#include "support/checked_integer.hpp"
#include "target/block_rules.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim::block {

using namespace ir;

namespace {

/// Names the lane that elect picks. Not lane 0: PTX promises only that it is always the same.
constexpr int elected_lane = 13;

std::vector<WarpProgram::Carried> take_all(WarpProgram& warp, Op const& op, std::span<ir::Value* const> values) {
  std::vector<WarpProgram::Carried> taken;
  for (ir::Value const* value : values) taken.push_back(warp.take(op, *value));
  return taken;
}

void give_results(WarpProgram& warp, Op const& op, std::vector<WarpProgram::Carried> carried) {
  for (std::size_t i = 0; i < carried.size(); ++i) warp.give(*op.result(static_cast<int>(i)), std::move(carried[i]));
}

void bind_carried(WarpProgram& warp, Loop const& loop, std::vector<WarpProgram::Carried> carried) {
  for (std::size_t i = 0; i < carried.size(); ++i) warp.give(*loop.carried(static_cast<int>(i)), std::move(carried[i]));
}
void bind_carried(WarpProgram& warp, Loop const& loop, std::vector<WarpProgram::Carried> carried, std::int64_t index) {
  warp.agent().set_index(*loop.counter(), index);
  bind_carried(warp, loop, std::move(carried));
}

/// Forgets values that end with an op; values taken before are safe.
void forget_dying(WarpProgram& warp, Op const& op) { warp.forget(warp.plan().of(op)); }

}  // namespace

Progress perform(WarpProgram& warp, Op const& op, ForOp const&) {
  Loop const loop(op);
  std::int64_t const lower = warp.integer(*loop.lower()), upper = warp.integer(*loop.upper()),
                     step = warp.integer(*loop.step());
  auto inits = take_all(warp, op, loop.inits());
  if (step <= 0)
    warp.agent().report(sim::ReportKind::bad_step, op,
                        [&] { return fmt::format("a loop's step is {} but must be at least 1; it is not run", step); });
  if (step <= 0 || lower >= upper) {
    forget_dying(warp, op);
    give_results(warp, op, std::move(inits));
    return Progress::done;
  }
  bind_carried(warp, loop, std::move(inits), lower);
  WarpProgram::Frame& frame = warp.enter(op.block(), op);
  frame.index = lower;
  frame.upper = upper;
  frame.step = step;
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, RepeatOp const&) {
  bind_carried(warp, Loop(op), take_all(warp, op, Loop(op).inits()));
  warp.enter(op.block(), op);
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, IfOp const&) {
  warp.enter(op.block(warp.agent().condition(*op.in<IfOp>("condition")) ? 0 : 1), op);
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, YieldOp const&) {
  WarpProgram::Frame& frame = warp.frame();
  Op const& owner = *frame.owner;
  bool const again = owner.is<RepeatOp>() && warp.agent().condition(*Loop(owner).condition());
  auto values = take_all(warp, op, owner.is<RepeatOp>() ? Loop(owner).all_yielded() : op.operands());
  forget_dying(warp, op);
  if (again) {
    frame.at = frame.block->begin();
    bind_carried(warp, Loop(owner), std::move(values));
    return Progress::done;
  }
  if (owner.is<ForOp>() && support::has_next(frame.index, frame.upper, frame.step)) {
    frame.index += frame.step;
    frame.at = frame.block->begin();
    bind_carried(warp, Loop(owner), std::move(values), frame.index);
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
  auto values = take_all(warp, op, op.operands());
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
  throw UserError(fmt::format("simulate: warp {} does not belong to a partition", index), op.where());
}

Progress perform(WarpProgram& warp, Op const& op, ElectOp const& attributes) {
  bool const elects = attributes.warp == ElectOp::each_warp || attributes.warp == warp.index() ||
                      (attributes.warp == ElectOp::each_warpgroup && warp.index() % target::warpgroup_warps == 0);
  if (!elects) {
    forget_dying(warp, op);
    return Progress::done;
  }
  warp.enter(op.block(), op).lanes = machine::lane(elected_lane);
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, FillOp const&) {
  warp.enter(op.block(), op);
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
