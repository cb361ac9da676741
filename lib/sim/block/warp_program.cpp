#include "sim/block/warp_program.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ir/core/visit_op.hpp"
#include "ir/memory/shared_frame.hpp"
#include "ir/text/text.hpp"
#include "sim/block/meaning.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim::block {

using namespace ir;

namespace {

template <class OpStruct>
concept HasMeaning = requires(WarpProgram& warp, Op const& op, OpStruct const& attributes) {
  { perform(warp, op, attributes) } -> std::same_as<Progress>;
};
template <class OpStruct>
constexpr bool runs = (OpStruct::support & on_warp_simulator) != 0;
#define TEGULA_OP(name)                          \
  static_assert(!runs<name> || HasMeaning<name>, \
                #name " must have a meaning to warps: add an overload of perform to sim/block/meaning.hpp");
#include "tegula/ir/ops.def"
#undef TEGULA_OP

Progress dispatch(WarpProgram& warp, Op const& op) {
  return visit_op(op.kind(), [&](auto type) -> Progress {
    using OpStruct = typename decltype(type)::type;
    if constexpr (runs<OpStruct>)
      return perform(warp, op, op.as<OpStruct>());
    else
      throw UserError("simulate: " + why_not_run(op.info(), on_warp_simulator), op.where());
  });
}

}  // namespace

Registers RegisterFile::take(std::uint64_t bytes, std::uint64_t home) {
  std::vector<std::uint64_t>& free = pool_->free[bytes];
  std::uint64_t begin = pool_->next;
  if (auto const at = std::find(free.begin(), free.end(), home); at != free.end()) {
    begin = home;
    free.erase(at);
  } else if (free.empty()) {
    pool_->next += bytes;
  } else {
    begin = free.back();
    free.pop_back();
  }
  auto const give_back = [pool = pool_](Piece const* piece) {
    pool->free[piece->end - piece->begin].push_back(piece->begin);
    delete piece;
  };
  return {new Piece{begin, begin + bytes}, give_back};
}

WarpProgram::WarpProgram(Engine& engine, machine::Warp warp, int cta, int block, int index)
    : engine_(engine),
      warp_(warp),
      agent_(engine.launch(), block, Holds::fragments),
      cta_(cta),
      index_(index),
      handles_(static_cast<std::size_t>(engine.launch().value_count())),
      homes_(handles_.size(), RegisterFile::none) {
  Frame body;
  body.block = &engine.plan().kernel().body();
  body.at = body.block->begin();
  body.group.warps = engine.plan().warps();
  frames_.push_back(body);
}

bool WarpProgram::step() {
  for (;;) {
    if (op_ == nullptr) {
      if (frames_.empty()) return false;
      Frame& top = frames_.back();
      if (top.at == top.block->end())
        throw InternalError("simulate: a block of @" + engine_.plan().kernel().name() + " ends without a terminator");
      op_ = &*top.at;
      ++top.at;
      turn_ = 0;
      kept_ = nullptr;
      plan_of_op_ = &engine_.plan().of(*op_);
      engine_.launch().count_step();
      engine_.note_execution(*op_, warp_.number());
      if (warp_.costs() != nullptr) pass_time(*op_, plan_of_op_->cost);
      before(*plan_of_op_);
    }
    Op const& op = *op_;
    Progress const progress = dispatch(*this, op);
    if (progress == Progress::again) {
      ++turn_;
      return true;
    }
    op_ = nullptr;
    if (warp_.costs() != nullptr && !op.info().has(has_regions) && !op.is<CallOp>())
      for (int i = 0; i < op.result_count(); ++i) handle(*op.result(i)).ready = ready_;
    // Ops with blocks, and terminators, say themselves when values end.
    if (!op.info().has(has_regions) && !op.info().has(terminator) && !op.is<CallOp>()) after(engine_.plan().of(op));
    if (progress == Progress::turn) return true;
  }
}

void WarpProgram::pass_time(Op const& op, OpCost const& cost) {
  for (ir::Value const* operand : op.operands()) warp_.wait_until_time(handle(*operand).ready);
  if (cost.instructions > 0) warp_.start_instructions(static_cast<machine::Time>(cost.instructions));
  ready_ = warp_.now();
  if (cost.shared_bytes > 0) ready_ = std::max(ready_, warp_.transfer(machine::Port::shared, cost.shared_bytes));
  if (cost.global_bytes > 0) ready_ = std::max(ready_, warp_.transfer(machine::Port::global, cost.global_bytes));
  if (cost.product > 0) ready_ = std::max(ready_, warp_.multiply(static_cast<machine::Time>(cost.product)));
  ready_ += static_cast<machine::Time>(cost.latency);
}

void WarpProgram::before(OpPlan const& plan) {
  for (ir::Value const* value : plan.reads) {
    Registers const& held = registers(*value);
    warp_.read_registers(held->begin, held->end, plan.site);
  }
}

void WarpProgram::after(OpPlan const& plan) {
  // Operands end before results begin, so a result may take the registers of an operand.
  for (ir::Value const* value : plan.dies)
    if (value->defining_op() == nullptr || &engine_.plan().of(*value->defining_op()) != &plan) forget(*value);
  for (ir::Value const* value : plan.defines) {
    handle(*value).registers = nullptr;
    Registers const& held = registers(*value);
    warp_.write_registers(held->begin, held->end, plan.site);
  }
  for (ir::Value const* value : plan.dies)
    if (value->defining_op() != nullptr && &engine_.plan().of(*value->defining_op()) == &plan) forget(*value);
}

std::int64_t WarpProgram::integer(ir::Value const& value) const {
  Value const& held = agent_.value(value);
  switch (held.storage()) {
    case Storage::u8:
      return *held.data<std::uint8_t>();
    case Storage::i32:
      return *held.data<std::int32_t>();
    default:
      return *held.data<std::int64_t>();
  }
}

std::optional<int> WarpProgram::peer(ir::Value const& rank) {
  int const cluster = engine_.cluster();
  std::int64_t const number = integer(rank);
  if (number >= 0 && number < cluster) return cta_ / cluster * cluster + static_cast<int>(number);
  engine_.report(machine::ReportKind::misuse,
                 fmt::format("rank {} of a cluster of {} CTAs does not exist", number, cluster), site());
  return std::nullopt;
}

std::uint32_t WarpProgram::shared_place(Op const& user) const {
  Function const& function = *user.function();
  if (&function == &plan().kernel()) return plan().place(user);
  ir::Value const* const base = shared_base(function);
  if (base == nullptr)
    throw UserError("simulate: the shared memory of @" + function.name() + " has no offset; run allocate-shared-memory",
                    user.where());
  return plan().place(user) + static_cast<std::uint32_t>(integer(*base));
}

Extents WarpProgram::integers(std::span<ir::Value* const> values) const {
  // Offsets so far out that sums would overflow are outside all the same.
  constexpr std::int64_t far = std::int64_t{1} << 61;
  Extents result;
  for (ir::Value const* value : values) result.push_back(std::clamp(integer(*value), -far, far));
  return result;
}

Fragment const& WarpProgram::fragment(Type const& type, int warp) {
  layout::Layout const& layout = *type.layout();
  int const warps = group().warps;
  if (warps % layout.warps() != 0)
    throw UserError(fmt::format("simulate: {} is laid out over {} warps, but {} run this block", to_string(type),
                                layout.warps(), warps),
                    op_ == nullptr ? location() : op_->where());
  if (layout.shape() != type.shape())
    throw UserError("simulate: the layout of " + to_string(type) + " is one of another shape",
                    op_ == nullptr ? location() : op_->where());
  return engine_.fragment(layout, warp % layout.warps());
}

Fragment const& WarpProgram::fragment(Type const& type) { return fragment(type, index()); }

Registers const& WarpProgram::registers(ir::Value const& value) {
  Handle& held = handle(value);
  if (held.registers == nullptr) {
    std::int64_t const size = value.type().layout()->registers() * std::int64_t{bytes(value.type().element())};
    std::uint64_t& home = homes_[static_cast<std::size_t>(engine_.launch().number(value))];
    held.registers = file_.take(static_cast<std::uint64_t>((size + 3) / 4 * 4), home);
    home = held.registers->begin;
  }
  return held.registers;
}

void WarpProgram::pass(ir::Value const& from, ir::Value const& to) {
  agent_.copy(from, to);
  handle(to) = handle(from);
}

WarpProgram::Frame& WarpProgram::enter(Block const& block, Op const& owner) {
  Frame next = frames_.back();
  next.block = &block;
  next.at = block.begin();
  next.owner = &owner;
  frames_.push_back(next);
  return frames_.back();
}

void WarpProgram::leave() {
  Frame const left = frames_.back();
  frames_.pop_back();
  for (int i = 0; i < left.block->argument_count(); ++i) forget(*left.block->argument(i));
  if (left.owner != nullptr) forget(engine_.plan().of(*left.owner));
}

void WarpProgram::forget(ir::Value const& value) {
  agent_.forget(value);
  handle(value).registers = nullptr;
}

void WarpProgram::forget(OpPlan const& plan) {
  for (ir::Value const* value : plan.dies) forget(*value);
}

WarpProgram::Carried WarpProgram::take(Op const& op, ir::Value const& value) {
  Carried carried{agent_.value(value), handle(value)};
  if (!engine_.plan().in_tensor_core(value)) return carried;
  if (carried.handle.registers == nullptr) carried.handle.registers = registers(value);
  Op const* const around = op.parent_op();
  bool const out_of_branch = op.is<YieldOp>() && around->is<IfOp>() && engine_.plan().ends_at(*around, value) &&
                             std::ranges::count(op.operands(), &value) == 1;
  if (out_of_branch || engine_.plan().takes_over(op, value)) {
    handle(value).registers = nullptr;
    return carried;
  }
  Registers const from = carried.handle.registers;
  warp_.read_registers(from->begin, from->end, site());
  carried.handle.registers = file_.take(from->end - from->begin);
  warp_.write_registers(carried.handle.registers->begin, carried.handle.registers->end, site());
  return carried;
}

void WarpProgram::give(ir::Value const& to, Carried carried) {
  agent_.set(to, std::move(carried.value));
  handle(to) = std::move(carried.handle);
}

}  // namespace tegula::sim::block
