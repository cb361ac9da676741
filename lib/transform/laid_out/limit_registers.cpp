#include "transform/laid_out/limit_registers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/register_need.hpp"
#include "analysis/register_pressure.hpp"
#include "ir/core/families.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/element_chains.hpp"
#include "layout/layout.hpp"

namespace tegula::transform {
namespace {

using ir::Op;

/// The model may foretell a fourth too much.
constexpr int excess_numerator = 4, excess_denominator = 5;
/// Votes and addresses of ranks take registers that the model does not know.
constexpr int min_registers_of_ranks = 64;

/// Tells whether an op on integers of 64 bits takes an instruction for each half: places in large tensors are made so.
bool goes_by_halves(Op const& op) {
  return op.is<ir::AddOp>() || op.is<ir::SubOp>() || op.is<ir::AndOp>() || op.is<ir::OrOp>() || op.is<ir::XorOp>() ||
         op.is<ir::CastOp>() || op.is<ir::BroadcastOp>();
}

/// Tells whether an op keeps few registers besides its operands and results. Other arithmetic of 64 bits, and quotients
/// of integers, take many steps.
bool is_plain(Op const& op) {
  if (op.result_count() == 0 || !op.result()->type().is_tile()) return true;
  Element const element = op.result()->type().element();
  if (bits(element) < 64) return is_float(element) || !ir::divides(op);
  if (op.result()->type().layout()->registers() == 1) return true;
  return !is_float(element) && goes_by_halves(op);
}

/// Tells whether an op is one of those by which a copy reaches registers, or by which CTAs of a cluster hand each other
/// results of reductions.
bool hands_over(Op const& op) {
  return op.is(ir::Family::synchronisation) || op.is<ir::ElectOp>() || op.is<ir::IfOp>() || op.is<ir::PeerStoreOp>() ||
         op.is<ir::BufferAllocOp>() || op.is<ir::ViewOp>() || op.is<ir::BufferLoadOp>() || op.is<ir::FetchOp>() ||
         op.is<ir::TensorMapOp>();
}

/// Tells whether threads hold several elements of an op's result: others take a register that is soon free.
bool holds_elements(Op const& op) {
  return op.result_count() != 0 && op.result()->type().is_tile() && op.result()->type().layout()->registers() > 1;
}

/// Tells whether an access to memory takes known registers: of boxes, and of single elements at indices.
bool is_plain_access(Op const& op) {
  if (op.is<ir::AtomicUpdateOp>()) return op.in("tile")->type().is_scalar() || op.in("tile")->type().elements() == 1;
  return op.is<ir::LoadOp>() || op.is<ir::StoreOp>() || (op.is<ir::GatherOp>() && !holds_elements(op));
}

/// Finds the ops that a thread does a few elements at a time.
std::set<Op const*> ops_of_chains(ir::Function& function) {
  std::set<Op const*> result;
  auto const cost = [](ir::Value const& value) { return analysis::registers_of(value); };
  for (ir::ElementChain const& chain : ir::element_chains(function.body(), cost))
    if (chain.by_elements()) result.insert(chain.ops.begin(), chain.ops.end());
  return result;
}

bool has_loops(ir::Function& function) {
  bool loops = false;
  ir::walk(function, [&](Op& op) { loops = loops || op.is<ir::ForOp>(); });
  return loops;
}

/// Counts the bytes of the rings that loops ask for.
std::int64_t bytes_of_rings(ir::Function& function) {
  std::int64_t sum = 0;
  ir::walk(function, [&](Op& op) {
    Op const* const loop = op.parent_op();
    if (!op.is<ir::FetchOp>() || loop == nullptr || !loop->is<ir::ForOp>()) return;
    ir::Type const& stage = op.result()->type();
    sum += stage.elements() * bytes(stage.element()) * std::max<std::int64_t>(loop->as<ir::ForOp>().stages, 1);
  });
  return sum;
}

/// Tells whether tiles, and values within chains, are all that takes registers.
bool has_known_registers(ir::Function& function, Tuning const& tuning) {
  std::set<Op const*> const chains = ops_of_chains(function);
  bool known = true;
  int tile_ops = 0;
  ir::walk(function, [&](Op& op) {
    if (chains.count(&op) != 0 || ir::makes_elements(op)) return;
    tile_ops += holds_elements(op) ? 1 : 0;
    known =
        known && is_plain(op) &&
        (analysis::streams(op) || hands_over(op) || is_plain_access(op) || op.is<ir::ForOp>() ||
         op.is(ir::Family::launch) || op.info().has(ir::terminator) || op.is<ir::ReduceOp>() || op.is<ir::ItemOp>());
  });
  return known && tile_ops <= tuning.max_tile_ops;
}

/// Tells whether a kernel puts elements at places, or ranks them: its warps wait for each other at one barrier after
/// another, where those of other CTAs work.
bool puts_elements(ir::Function& function) {
  bool found = false;
  ir::walk(function, [&](Op& op) { found = found || op.is<ir::PutOp>() || op.is<ir::RanksOp>(); });
  return found;
}

}  // namespace

PassResult limit_registers(ir::Function& function, PassContext& context) {
  if (!function.is_kernel() || function.ctas != 1) return PassResult::unchanged;
  bool const ranks = puts_elements(function);
  if (!ranks && !has_known_registers(function, context.target.tuning)) return PassResult::unchanged;
  TargetInfo const& target = context.target;
  std::int64_t const rings = bytes_of_rings(function);
  if (2 * rings > static_cast<std::int64_t>(target.shared)) return PassResult::unchanged;
  if (has_loops(function) && rings == 0) return PassResult::unchanged;  // arithmetic over what the loop loads
  int const step = target.register_step;
  int const needed = analysis::registers_needed(function) + step;  // the model may foretell a few too little
  int const registers =
      std::max((needed + step - 1) / step * step, ranks ? min_registers_of_ranks : target.tuning.usual_registers);
  int const threads = function.warps * target.lanes;
  int ctas = std::min(target.registers / (registers * threads), target.resident_ctas_anywhere());
  if (has_loops(function)) ctas = std::min(ctas, target.tuning.max_ctas_with_loops);
  // A CTA alone waits for its own loads. The assembler keeps narrow elements packed, and computes some values again.
  if (ctas == 1 && target.registers / (2 * threads) * excess_denominator >= needed * excess_numerator) ctas = 2;
  if (ctas <= 1)
    context.diagnostics.remark(
        fmt::format("limit-registers: @{}: a thread needs about {} registers, so that one CTA of "
                    "{} warps fills a multiprocessor",
                    function.name(), needed, function.warps),
        function.where);
  if (ctas <= 1) return PassResult::unchanged;
  function.ctas = ctas;
  return PassResult::changed;
}

}  // namespace tegula::transform
