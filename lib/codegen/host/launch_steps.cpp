#include "codegen/host/launch_steps.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "codegen/host/host.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen {

namespace host {

namespace {

bool collect(ir::Value const& value, std::set<ir::Value const*>& seen) {
  if (!seen.insert(&value).second) return true;
  if (value.type() != ir::Type::index()) return false;
  ir::Op const* op = value.defining_op();
  if (op == nullptr) return value.owner_block()->parent_function() != nullptr;
  if (op->is<ir::ExtentOp>()) return op->operand()->defining_op() == nullptr;  // not of a slice
  if (op->is<ir::ConstantOp>() || op->is<ir::MultiprocessorsOp>()) return true;
  return op->info().launch && std::all_of(op->operands().begin(), op->operands().end(),
                                          [&](ir::Value const* operand) { return collect(*operand, seen); });
}

}  // namespace

bool is_launch_expression(ir::Value const& value) {
  std::set<ir::Value const*> seen;
  return collect(value, seen);
}

std::int32_t LaunchSteps::add(LaunchInstruction instruction) {
  auto const found = std::find(steps_.begin(), steps_.end(), instruction);
  if (found != steps_.end()) return static_cast<std::int32_t>(found - steps_.begin());
  steps_.push_back(instruction);
  return static_cast<std::int32_t>(steps_.size()) - 1;
}

std::int32_t LaunchSteps::constant(std::int64_t value) { return add({LaunchOp::constant, 0, 0, 0, value}); }

std::int32_t LaunchSteps::apply(LaunchOp op, std::int32_t a, std::int32_t b, std::int32_t c) {
  return add({op, a, b, c, 0});
}

std::int32_t LaunchSteps::value(ir::Value const& value) {
  if (auto const found = known_.find(&value); found != known_.end()) return found->second;
  ir::Op const* const op = value.defining_op();
  std::int32_t step = 0;
  if (op == nullptr) {
    step = add({LaunchOp::scalar, value.index(), 0, 0, 0});
  } else if (op->is<ir::ConstantOp>()) {
    step = constant(static_cast<std::int64_t>(op->as<ir::ConstantOp>().value.bits));
  } else if (op->is<ir::ExtentOp>()) {
    step =
        add({LaunchOp::extent, op->operand()->index(), static_cast<std::int32_t>(op->as<ir::ExtentOp>().axis), 0, 0});
  } else if (op->is<ir::MultiprocessorsOp>()) {
    step = add({LaunchOp::multiprocessors, 0, 0, 0, 0});
  } else if (auto const kind = op->info().launch) {
    std::int32_t const a = this->value(*op->lhs());
    step = apply(*kind, a, this->value(*op->rhs()));
  } else {
    throw InternalError("host codegen: not a launch expression");
  }
  known_[&value] = step;
  return step;
}

}  // namespace host

void append_launch_program(LaunchProgram& to, LaunchProgram const& from) {
  auto const shift = static_cast<std::int32_t>(to.steps.size());
  for (LaunchInstruction step : from.steps) {
    if (!is_leaf(step.op)) {
      step.a += shift;
      step.b += shift;
      if (step.op == LaunchOp::select) step.c += shift;
    }
    to.steps.push_back(step);
  }
  for (std::size_t axis = 0; axis < from.grid.size(); ++axis)
    to.grid[axis] = from.grid[axis] < 0 ? -1 : from.grid[axis] + shift;
  to.requirements.clear();
  for (Requirement requirement : from.requirements) {
    requirement.condition += shift;
    to.requirements.push_back(requirement);
  }
}

}  // namespace tegula::codegen
