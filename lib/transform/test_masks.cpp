#include "transform/test_masks.hpp"

#include <vector>

#include "analysis/coordinate_sums.hpp"
#include "ir/builder.hpp"
#include "ir/layout.hpp"
#include "ir/rewrite.hpp"
#include "ir/walk.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

/// Registers of a thread from which on a test is cheaper than a mask.
constexpr int worth_a_test = 16;

bool in_loop(Op const& op) {
  Op const* at = op.parent_op();
  while (at != nullptr && (!at->is<ir::ForOp>() || at->as<ir::ForOp>().tiles)) at = at->parent_op();
  return at != nullptr;
}

/// Whether it stands under its own test.
bool is_tested(Op const& select) {
  Op const* const branch = select.parent_op();
  return branch != nullptr && branch->is<ir::IfOp>() && select.parent() == &branch->block(1) &&
         &branch->block(0).front() == &branch->block(0).back() &&
         branch->block(0).back().operand(0) == select.operand(1);
}

/// A scalar that narrow-masks made: between two constants, so that sums with coordinates do not wrap in 32 bits.
bool is_clamped(Value const& value) {
  auto const bounded = [](Op const* op) {
    return op != nullptr && (op->is<ir::MinOp>() || op->is<ir::MaxOp>()) &&
           ir::constant_int(*op->operand(1)).has_value();
  };
  Op const* const cast = value.defining_op();
  if (cast == nullptr || !cast->is<ir::CastOp>() || !bounded(cast->operand(0)->defining_op())) return false;
  Op const& outer = *cast->operand(0)->defining_op();
  Op const* const inner = outer.operand(0)->defining_op();
  return bounded(inner) && inner->kind() != outer.kind();
}

/// The ops from a comparison of coordinates to a mask; empty: something else makes it.
std::vector<Op*> makers_of(Value const& mask) {
  std::vector<Op*> makers;
  for (Op* at = mask.defining_op(); at != nullptr; at = at->operand(0)->defining_op()) {
    makers.push_back(at);
    if (at->is<ir::CompareOp>()) return {makers.rbegin(), makers.rend()};
    if (!at->is<ir::BroadcastOp>()) break;
  }
  return {};
}

bool test_first(Op& select) {
  if (!select.result()->type().is_tile() || select.result()->type().layout()->registers() < worth_a_test ||
      in_loop(select) || is_tested(select))
    return false;
  std::vector<Op*> const makers = makers_of(*select.operand(0));
  if (makers.empty()) return false;
  auto const sum = analysis::compared_sum(*makers.front(), {nullptr, [](Value const&) { return true; }});
  if (!sum || sum->terms.empty()) return false;
  bool const wide = makers.front()->operand(0)->type().element() == Element::i64;
  for (auto const& term : sum->terms)
    if (!wide && !is_clamped(*term.first)) return false;

  ir::Builder builder = ir::Builder::before(select);
  builder.set_where(select.where());
  Value* greatest = builder.index(sum->most);
  for (auto const& [value, factor] : sum->terms) {
    bool const cast = value->type() != ir::Type::index();
    Value* const number = cast ? builder.value(ir::CastOp{}, {value}, ir::Type::index()) : value;
    greatest = builder.same(ir::AddOp{}, {greatest, builder.same(ir::MulOp{}, {number, builder.index(factor)})});
  }
  Value* const all = builder.value(ir::make_op<ir::CompareOp>(ir::Predicate::lt), {greatest, builder.index(0)},
                                   ir::Type::scalar(Element::boolean));
  Op& branch = builder.op(ir::IfOp{}, {all}, {select.result()->type()});
  ir::Builder(branch.add_block()).op(ir::YieldOp{}, {select.operand(1)}, {});
  ir::Builder otherwise(branch.add_block());
  otherwise.set_where(select.where());
  ir::ValueMap map;
  for (Op* maker : makers) otherwise.clone(*maker, map);
  otherwise.op(ir::YieldOp{}, {otherwise.clone(select, map).result()}, {});
  ir::replace(select, branch.result());
  return true;
}

}  // namespace

PassResult test_masks(ir::Function& function, AnalysisCache&, PassContext&) {
  std::vector<Op*> selects;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::SelectOp>()) selects.push_back(&op);
  });
  bool changed = false;
  for (Op* select : selects) changed = test_first(*select) || changed;
  return result_of(changed);
}

}  // namespace tegula::transform
