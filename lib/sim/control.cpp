// Implements control flow, calls and the ops that tie a kernel to its launch.
#include <fmt/format.h>

#include "ir/core/loop.hpp"
#include "sim/meaning.hpp"
#include "support/checked_integer.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim {

using namespace ir;

namespace {

/// Binds a loop's index and carried values; `values` are copied before any is set, for a body may yield its arguments
/// in another order.
void bind(Agent& agent, Loop const& loop, std::span<Value const> values) {
  for (std::size_t i = 0; i < values.size(); ++i) agent.set(*loop.carried(static_cast<int>(i)), values[i]);
}
void bind_carried(Agent& agent, Loop const& loop, std::vector<Value> const& values, std::int64_t index) {
  agent.set_index(*loop.counter(), index);
  bind(agent, loop, values);
}

std::vector<Value> values_of(Agent& agent, std::span<ir::Value* const> operands) {
  std::vector<Value> result;
  result.reserve(operands.size());
  for (ir::Value const* operand : operands) result.push_back(agent.value(*operand));
  return result;
}

void set_results(Agent& agent, Op const& op, std::span<Value const> values) {
  for (std::size_t i = 0; i < values.size(); ++i) agent.set(*op.result(static_cast<int>(i)), values[i]);
}

}  // namespace

void execute(Agent& agent, Op const& op, ForOp const&) {
  Loop const loop(op);
  std::int64_t const lower = agent.index(*loop.lower()), upper = agent.index(*loop.upper()),
                     step = agent.index(*loop.step());
  auto const inits = values_of(agent, loop.inits());
  if (step <= 0)
    agent.report(ReportKind::bad_step, op,
                 [&] { return fmt::format("a loop's step is {} but must be at least 1; it is not run", step); });
  if (step <= 0 || lower >= upper) return set_results(agent, op, inits);
  bind_carried(agent, loop, inits, lower);
  agent.enter({&op.block(), op.block().begin(), &op, lower, upper, step});
}

void execute(Agent& agent, Op const& op, RepeatOp const&) {
  bind(agent, Loop(op), values_of(agent, op.operands()));
  agent.enter({&op.block(), op.block().begin(), &op});
}

void execute(Agent& agent, Op const& op, IfOp const&) {
  Block const& taken = op.block(agent.condition(*op.in<IfOp>("condition")) ? 0 : 1);
  agent.enter({&taken, taken.begin(), &op});
}

void execute(Agent& agent, Op const& op, YieldOp const&) {
  auto const values = values_of(agent, op.operands());
  Frame& frame = agent.frame();
  Op const& owner = *frame.owner;
  if (owner.is<ForOp>() && support::has_next(frame.index, frame.upper, frame.step)) {
    frame.index += frame.step;
    frame.at = frame.block->begin();
    return bind_carried(agent, Loop(owner), values, frame.index);
  }
  std::span<Value const> carried = values;
  if (owner.is<RepeatOp>()) {
    carried = carried.subspan(1);  // behind the condition
    if (*values[0].data<std::uint8_t>() != 0) {
      frame.at = frame.block->begin();
      return bind(agent, Loop(owner), carried);
    }
  }
  agent.leave();
  set_results(agent, owner, carried);
}

void execute(Agent& agent, Op const& op, ReturnOp const&) {
  Op const* const call = agent.frame().owner;
  if (call == nullptr) return agent.finish();
  auto const values = values_of(agent, op.operands());
  agent.leave();
  set_results(agent, *call, values);
}

void execute(Agent& agent, Op const& op, CallOp const& attributes) {
  Module const* const module = op.function()->parent();
  Function const* const callee = module == nullptr ? nullptr : module->find(attributes.callee.view());
  if (callee == nullptr)
    throw InternalError("simulator: @" + std::string(attributes.callee.view()) + " is not defined");
  for (int i = 0; i < op.operand_count(); ++i) agent.copy(*op.operand(i), *callee->parameter(i));
  agent.enter({&callee->body(), callee->body().begin(), &op});
}

// Evaluated before the launch (Launch), so nothing is left to do in a block.
void execute(Agent&, Op const&, GridOp const&) {}
void execute(Agent&, Op const&, RequireOp const&) {}

void execute(Agent& agent, Op const& op, ExtentOp const& attributes) {
  Tensor const& tensor = agent.view(agent.tensor(*op.in<ExtentOp>("tensor")));
  agent.set_index(*op.result(), tensor.extents[static_cast<int>(attributes.axis)]);
}

void execute(Agent& agent, Op const& op, BlockIndexOp const& attributes) {
  agent.set_index(*op.result(), agent.block()[static_cast<std::size_t>(attributes.axis)]);
}

void execute(Agent& agent, Op const& op, GridExtentOp const& attributes) {
  agent.set_index(*op.result(), agent.launch().grid()[static_cast<std::size_t>(attributes.axis)]);
}

void execute(Agent& agent, Op const& op, MultiprocessorsOp const&) {
  agent.set_index(*op.result(), host_multiprocessors);
}

}  // namespace tegula::sim
