#include "analysis/uniformity.hpp"

#include <algorithm>

#include "ir/core/families.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/walk.hpp"
#include "ir/text/text.hpp"
#include "tegula/support/error.hpp"

namespace tegula::analysis {

using namespace ir;

Uniformity::Uniformity(Module const& module, bool replicas) : replicas_(replicas) {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto const& function : module.functions()) changed = visit(module, function->body(), *function) || changed;
  }
}

bool Uniformity::divergent_control(Op const& op) const {
  auto const differs = [&](Value const* value) { return divergent(*value); };
  if (op.is<IfOp>()) return differs(op.in<IfOp>("condition"));
  if (op.is<ForOp>()) return differs(Loop(op).lower()) || differs(Loop(op).upper()) || differs(Loop(op).step());
  if (op.is<RepeatOp>()) return op.block().terminator() != nullptr && differs(Loop(op).condition());
  return false;
}

bool Uniformity::is_uniform(Block const& block) const {
  for (Op const* at = block.parent_op(); at != nullptr && !at->is<WarpSpecializeOp>(); at = at->parent_op())
    if (at->is<ElectOp>() || divergent_control(*at)) return false;
  return true;
}

bool Uniformity::visit_control(Op const& op) {
  bool changed = false;
  bool const control = divergent_control(op);
  if (op.is<IfOp>()) {
    for (int i = 0; i < op.result_count(); ++i)
      for (int b = 0; b < op.block_count(); ++b)
        if (control || divergent(*op.block(b).back().operand(i))) changed = mark(*op.result(i)) || changed;
    return changed;
  }
  Loop const loop(op);
  if (op.is<ForOp>() && control) changed = mark(*loop.counter()) || changed;
  for (int i = 0; i < loop.count(); ++i) {
    Value const& argument = *loop.carried(i);
    if (divergent(*loop.init(i)) || divergent(*loop.yielded(i))) changed = mark(argument) || changed;
    if (control || divergent(argument)) changed = mark(*loop.result(i)) || changed;
  }
  return changed;
}

bool Uniformity::mark_results(Op const& op) {
  bool changed = false;
  for (int i = 0; i < op.result_count(); ++i) changed = mark(*op.result(i)) || changed;
  return changed;
}

bool Uniformity::visit_partitions(Op const& op) {
  bool changed = false;
  for (int p = 0; replicas_ && p < op.block_count(); ++p)
    if (op.as<WarpSpecializeOp>().replicas[p] > 1) changed = mark(*op.block(p).argument(0)) || changed;
  return changed;
}

bool Uniformity::visit_call(Module const& module, Op const& op) {
  bool changed = false;
  Function const* const callee = module.find(op.as<CallOp>().callee.view());
  if (callee == nullptr) return false;
  for (int i = 0; i < std::min(op.operand_count(), callee->parameter_count()); ++i)
    if (divergent(*op.operand(i))) changed = mark(*callee->parameter(i)) || changed;
  Op const* const end = callee->body().terminator();
  for (int i = 0; end != nullptr && i < std::min(op.result_count(), end->operand_count()); ++i)
    if (divergent(*end->operand(i))) changed = mark(*op.result(i)) || changed;
  return changed;
}

bool Uniformity::visit(Module const& module, Block const& block, Function const& function) {
  bool changed = false;
  for (Op const& op : block) {
    for (int i = 0; i < op.block_count(); ++i) changed = visit(module, op.block(i), function) || changed;
    if (op.info().has(per_warp))
      changed = mark_results(op) || changed;
    else if (is_flow(op))
      changed = visit_control(op) || changed;
    else if (op.is<WarpSpecializeOp>())
      changed = visit_partitions(op) || changed;
    else if (op.is<CallOp>())
      changed = visit_call(module, op) || changed;
    else if (op.info().has(has_regions) && op.result_count() > 0)
      throw InternalError("uniformity: no rule for the results of " + std::string(op.info().mnemonic));
    else if (std::any_of(op.operands().begin(), op.operands().end(), [&](Value const* v) { return divergent(*v); }))
      changed = mark_results(op) || changed;
  }
  return changed;
}

std::string Uniformity::str(Function const& function) const {
  auto const names = value_names(function);
  std::string text;
  walk_pre_order(function.body(), [&](Op& op) {
    if (divergent_control(op)) text += std::string(op.info().mnemonic) + ": warps take different paths\n";
    for (int i = 0; i < op.result_count(); ++i)
      if (divergent(*op.result(i))) text += names.at(op.result(i)) + " differs between warps\n";
    return Walk::advance;
  });
  return text;
}

}  // namespace tegula::analysis
