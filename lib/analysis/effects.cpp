#include "analysis/effects.hpp"

#include "ir/memory/accesses.hpp"

namespace tegula::analysis {
namespace {

void add_effects(ir::Op const& op, EffectSummary& into, int depth);

void add_effects(ir::Block const& block, EffectSummary& into, int depth) {
  for (ir::Op const& op : block) add_effects(op, into, depth);
}

void add_effects(ir::Op const& op, EffectSummary& into, int depth) {
  for (ir::Effect const& effect : op.info().effects) {
    if (effect.space == ir::Space::console || effect.space == ir::Space::log) {
      into.reports = true;
      continue;
    }
    into.reads = into.reads || effect.access == ir::Access::read;
    into.writes = into.writes || effect.access == ir::Access::write;
  }
  if (op.is(ir::Family::synchronisation)) into.reads = into.writes = true;  // nothing moves past it
  into.launch_statement = into.launch_statement || op.is(ir::Family::launch);
  for (int i = 0; i < op.block_count(); ++i) add_effects(op.block(i), into, depth);
  if (!op.is<ir::CallOp>()) return;
  ir::Function const* const caller = op.function();
  ir::Function const* const callee = caller == nullptr || caller->parent() == nullptr
                                         ? nullptr
                                         : caller->parent()->find(op.as<ir::CallOp>().callee.view());
  if (callee == nullptr || depth > 64)
    into.reads = into.writes = into.reports = true;  // unknown or recursive: the verifier says so
  else
    add_effects(callee->body(), into, depth + 1);
}

/// Returns the parameter whose memory an effect is on; null: not known.
ir::Value const* memory_of(ir::Op const& op, ir::Effect const& effect) {
  if (effect.operand < 0) return nullptr;
  ir::Value const& tensor = ir::tensor_of(*op.operand(effect.operand));
  return tensor.type().is_tensor() ? &ir::parameter_behind(tensor) : nullptr;
}

/// Tells whether two effects may be on the same element of global memory, at least one of them a write.
bool collide(ir::Op const& a, ir::Effect const& of_a, ir::Op const& b, ir::Effect const& of_b) {
  if (of_a.space != ir::Space::global || of_b.space != ir::Space::global) return false;
  if (of_a.access == ir::Access::read && of_b.access == ir::Access::read) return false;
  ir::Value const* const memory = memory_of(a, of_a);
  return memory == nullptr || memory == memory_of(b, of_b) || memory_of(b, of_b) == nullptr;
}

bool orders(ir::Op const& op) { return op.is<ir::CallOp>() || memory_order(op) != ir::MemoryOrder::relaxed; }

/// Tells whether two ops may change places, the second one with all inside it.
bool passes_all(ir::Op const& access, ir::Op const& op) {
  if (!may_change_places(access, op)) return false;
  for (int i = 0; i < op.block_count(); ++i)
    for (ir::Op const& inner : op.block(i))
      if (!passes_all(access, inner)) return false;
  return true;
}

}  // namespace

EffectSummary effects_of(ir::Op const& op) {
  EffectSummary result;
  add_effects(op, result, 0);
  return result;
}

bool removable(ir::Op const& op) {
  if (op.info().has(ir::terminator)) return false;
  EffectSummary const effects = effects_of(op);
  return !effects.writes && !effects.reports && !effects.launch_statement;
}

ir::MemoryOrder memory_order(ir::Op const& op) {
  if (op.is<ir::AtomicUpdateOp>()) return op.as<ir::AtomicUpdateOp>().order;
  return op.is<ir::CompareExchangeOp>() ? op.as<ir::CompareExchangeOp>().order : ir::MemoryOrder::relaxed;
}

bool is_global_read(ir::Op const& op) {
  ir::Effects const& effects = op.info().effects;
  if (effects.count != 1 || op.info().is_block_op()) return false;
  return effects.list[0].space == ir::Space::global && effects.list[0].access == ir::Access::read;
}

bool reads_constant_memory(ir::Op const& read) {
  if (!is_global_read(read)) return false;
  ir::Value const& tensor = *read.in("tensor");
  // A callee's in may be the caller's inout.
  return ir::parameter_of(tensor).direction == Direction::in &&
         ir::parameter_behind(tensor).owner_block()->parent_function()->is_kernel();
}

bool may_change_places(ir::Op const& a, ir::Op const& b) {
  if (orders(a) || orders(b)) return false;
  for (ir::Effect const& of_a : a.info().effects)
    for (ir::Effect const& of_b : b.info().effects)
      if (collide(a, of_a, b, of_b)) return false;
  return true;
}

bool may_wait_for(ir::Op const& access, ir::Op const& later) {
  if (reads_constant_memory(access)) return true;
  bool between = false;
  for (ir::Op const& op : *access.parent()) {
    if (&op == &later) break;
    if (between && !passes_all(access, op)) return false;
    between = between || &op == &access;
  }
  return true;
}

}  // namespace tegula::analysis
