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

}  // namespace tegula::analysis
