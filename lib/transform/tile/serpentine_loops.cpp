#include "transform/tile/serpentine_loops.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/walk.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

bool has_product(ir::Block const& block) {
  for (Op const& op : block)
    if (op.is<ir::DotOp>()) return true;
  return false;
}

/// Tells whether this pass has turned a loop around.
bool turns(ir::Loop const& loop) {
  auto const& uses = loop.counter()->uses();
  return uses.size() == 2 && std::any_of(uses.begin(), uses.end(), [&](ir::Use const& use) {
           return use.user->is<ir::SelectOp>() && use.user->operand(1)->defined_by<ir::SubOp>() != nullptr &&
                  use.user->operand(1)->defining_op()->rhs() == loop.counter();
         });
}

/// Explains why the iterations of a loop of products cannot run in any order; empty: they can.
std::string why_not_reorder(ir::Loop const& loop) {
  if (turns(loop)) return "it already turns";
  if (ir::constant_int(*loop.step()) != 1) return "its step is not 1";
  int dots = 0;
  for (Op const& op : loop.body()) {
    dots += op.is<ir::DotOp>() ? 1 : 0;
    if (op.block_count() > 0 || !(op.pure() || op.is<ir::LoadOp>() || op.info().has(ir::terminator)))
      return "it has more than loads and arithmetic";
  }
  if (dots != 1 || loop.count() != 1) return "it carries more than the sum of one product";
  Op const* const dot = loop.yielded(0)->defining_op();
  bool const sums = dot != nullptr && dot->is<ir::DotOp>() && dot->in<ir::DotOp>("accumulator") == loop.carried(0);
  if (!sums || loop.carried(0)->uses().size() != 1 || dot->result()->uses().size() != 1)
    return "its sum has other uses";
  return {};
}

/// Makes a loop count its products from the end where `odd` is true.
void turn_around(ir::Loop const& loop, Value* odd) {
  Value* const counter = loop.counter();
  ir::Builder outside = ir::Builder::before(loop.op());
  outside.set_where(loop.op().where());
  // Forwards it is at i, backwards at (lower + upper - 1) - i.
  Value* const both = outside.same(ir::SubOp{}, {outside.same(ir::AddOp{}, {loop.lower(), loop.upper()}), loop.step()});
  std::vector<ir::Use> const uses(counter->uses().begin(), counter->uses().end());
  ir::Builder inside = ir::Builder::before(loop.body().front());
  inside.set_where(loop.op().where());
  Value* const mirrored = inside.same(ir::SubOp{}, {both, counter});
  Value* const place = inside.value(ir::SelectOp{}, {odd, mirrored, counter}, counter->type());
  for (ir::Use const& use : uses) use.user->set_operand(use.index, place);
}

/// Returns i1, in a loop over tiles: its CTA has had an odd number of tiles before this one.
Value* odd_turn(ir::Loop const& tiles) {
  ir::Type const number = ir::Type::scalar(Element::i32);
  ir::Builder builder = ir::Builder::before(tiles.body().front());
  builder.set_where(tiles.op().where());
  auto const narrow = [&](Value* value) { return builder.value(ir::CastOp{}, {value}, number); };
  // There are fewer than 2^31 tiles with loops.
  Value* const passed = narrow(builder.same(ir::SubOp{}, {tiles.counter(), tiles.lower()}));
  Value* const turn = builder.same(ir::DivOp{}, {passed, narrow(tiles.step())});
  auto const constant = [&](std::int64_t value) {
    return builder.constant(ir::make_constant(Element::i32, value), number);
  };
  Value* const low = builder.same(ir::AndOp{}, {turn, constant(1)});
  Value* const zero = constant(0);
  return builder.value(ir::make_op<ir::CompareOp>(ir::Predicate::ne), {low, zero}, ir::Type::scalar(Element::boolean));
}

}  // namespace

PassResult serpentine_loops(ir::Function& function, PassContext& context) {
  if (context.options.serpentine != Choice::on || !function.is_kernel()) return PassResult::unchanged;
  bool changed = false;
  for (Op& outer : function.body()) {
    if (!outer.is<ir::ForOp>() || !outer.as<ir::ForOp>().tiles) continue;
    ir::Loop const tiles(outer);
    Value* odd = nullptr;
    for (Op& op : tiles.body()) {
      if (!op.is<ir::ForOp>() || !has_product(op.block())) continue;
      std::string const error =
          context.options.exact ? "exact keeps the order of its terms" : why_not_reorder(ir::Loop(op));
      if (!error.empty()) {
        context.diagnostics.remark("serpentine-loops: the loop of a product runs forwards in every tile: " + error,
                                   op.where());
        continue;
      }
      if (odd == nullptr) odd = odd_turn(tiles);
      turn_around(ir::Loop(op), odd);
      changed = true;
    }
  }
  return result_of(changed);
}

}  // namespace tegula::transform
