#include "transform/laid_out/limit_registers.hpp"

#include <algorithm>
#include <set>

#include "analysis/register_need.hpp"
#include "analysis/register_pressure.hpp"
#include "ir/core/families.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/element_chains.hpp"

namespace tegula::transform {
namespace {

using ir::Op;

/// Tells whether an op keeps few registers besides its operands and results. Arithmetic of 64 bits, and quotients of
/// integers, take many steps.
bool is_plain(Op const& op) {
  if (op.result_count() == 0 || !op.result()->type().is_tile()) return true;
  Element const element = op.result()->type().element();
  return bits(element) < 64 && (is_float(element) || !ir::divides(op));
}

/// Finds the ops that a thread does a few elements at a time.
std::set<Op const*> ops_of_chains(ir::Function& function) {
  std::set<Op const*> result;
  auto const cost = [](ir::Value const& value) { return analysis::registers_of(value); };
  for (ir::ElementChain const& chain : ir::element_chains(function.body(), cost))
    if (chain.by_elements()) result.insert(chain.ops.begin(), chain.ops.end());
  return result;
}

/// Tells whether tiles, and values within chains, are all that takes registers.
bool has_known_registers(ir::Function& function, Tuning const& tuning) {
  std::set<Op const*> const chains = ops_of_chains(function);
  bool known = true;
  int tile_ops = 0;
  ir::walk(function, [&](Op& op) {
    if (chains.count(&op) != 0 || ir::makes_elements(op)) return;
    tile_ops += op.result_count() != 0 && op.result()->type().is_tile() ? 1 : 0;
    known = known && is_plain(op) &&
            (analysis::streams(op) || op.is(ir::Family::launch) || op.info().has(ir::terminator) ||
             op.is<ir::LoadOp>() || op.is<ir::StoreOp>() || (op.is<ir::ReduceOp>() && op.block_count() == 0));
  });
  return known && tile_ops <= tuning.max_tile_ops;
}

}  // namespace

PassResult limit_registers(ir::Function& function, AnalysisCache&, PassContext& context) {
  if (!function.is_kernel() || function.ctas != 1 || !has_known_registers(function, context.target.tuning))
    return PassResult::unchanged;
  TargetInfo const& target = context.target;
  int const step = target.register_step;
  int const needed = analysis::registers_needed(function) + step;  // the model may foretell a few too little
  int const registers = std::max((needed + step - 1) / step * step, target.tuning.usual_registers);
  int const ctas = std::min(target.registers / (registers * function.warps * target.lanes), target.resident_ctas);
  if (ctas <= 1) return PassResult::unchanged;
  function.ctas = ctas;
  return PassResult::changed;
}

}  // namespace tegula::transform
