#include "transform/simplify/contract_products.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

bool is_wide_float(Value const& value) {
  Element const element = value.type().element();
  return element == Element::f32 || element == Element::f64;
}

bool is_sum(Op const& op) {
  return (op.is<ir::AddOp>() || op.is<ir::SubOp>()) && is_wide_float(*op.result()) && op.lhs() != op.rhs();
}

/// Finds the products that meet sums of their own block alone.
std::set<Value const*> only_added(ir::Function& function) {
  std::set<Value const*> products;
  ir::walk(function, [&](Op& op) {
    if (!op.is<ir::MulOp>() || !is_wide_float(*op.result())) return;
    auto const& uses = op.result()->uses();
    bool const added = !uses.empty() && std::all_of(uses.begin(), uses.end(), [&](ir::Use const& use) {
      return is_sum(*use.user) && use.user->parent() == op.parent();
    });
    if (added) products.insert(op.result());
  });
  return products;
}

/// Lets products that a reduction alone adds up, in any order, stay unrounded.
bool license_reduced(ir::Function& function) {
  bool changed = false;
  ir::walk(function, [&](Op& op) {
    auto const* const reduction = op.dyn<ir::ReduceOp>();
    if (reduction == nullptr || reduction->combine != ir::Combine::sum || reduction->order != ir::Order::any) return;
    Value& product = *op.in<ir::ReduceOp>("tile");
    if (product.defined_by<ir::MulOp>() == nullptr || !is_wide_float(product) || product.uses().size() != 1) return;
    product.defining_op()->as<ir::MulOp>().licence = ir::Licence::contraction;
    changed = true;
  });
  return changed;
}

/// Replaces a sum by the fma of one of its sides.
void contract(Op& sum, bool on_left) {
  Op const& product = *(on_left ? sum.lhs() : sum.rhs())->defining_op();
  Value *x = product.lhs(), *other = on_left ? sum.rhs() : sum.lhs();
  ir::Builder builder = ir::Builder::before(sum);
  builder.set_where(sum.where());
  if (sum.is<ir::SubOp>()) {
    Value*& negated = on_left ? other : x;
    negated = builder.same(ir::NegOp{}, {negated});
  }
  ir::replace(sum, builder.same(ir::make_op<ir::FmaOp>(ir::Licence::contraction), {x, product.rhs(), other}));
}

}  // namespace

bool contracts(CompileOptions const& options) { return !options.exact && options.contraction != Choice::off; }

PassResult contract_products(ir::Function& function, PassContext& context) {
  if (!contracts(context.options)) return PassResult::unchanged;
  std::set<Value const*> products = only_added(function);
  std::vector<Op*> sums;
  ir::walk(function, [&](Op& op) {
    if (!is_sum(op)) return;
    sums.push_back(&op);
    if (products.contains(op.lhs())) products.erase(op.rhs());  // stays, as a summand
  });
  bool changed = license_reduced(function);
  for (Op* const sum : sums) {
    bool const on_left = products.contains(sum->lhs());
    if (!on_left && !products.contains(sum->rhs())) continue;
    contract(*sum, on_left);
    changed = true;
  }
  for (Value const* const product : products)
    if (product->unused()) product->defining_op()->erase();
  return result_of(changed);
}

}  // namespace tegula::transform
