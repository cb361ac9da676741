#include "analysis/carried_sums.hpp"

#include <algorithm>
#include <vector>

#include "ir/core/families.hpp"
#include "ir/values/constant_of.hpp"

namespace tegula::analysis {
namespace {

using ir::Op;
using ir::Value;

/// Tells whether a value follows from the result of a product of that block.
bool follows_from_product(Value const& value, ir::Block const& block) {
  constexpr std::size_t bound = 64;  // of ops that are looked at
  std::vector<Op const*> ops;
  auto const follow = [&](Value const& from) {
    Op const* const op = from.defining_op();
    if (op == nullptr || op->parent() != &block || ops.size() == bound) return;
    if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
  };
  follow(value);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i]->is<ir::DotOp>() || ir::is_tensor_core_product(*ops[i])) return true;
    for (Value const* operand : ops[i]->operands()) follow(*operand);
  }
  return false;
}

}  // namespace

bool adds_products(ir::Loop const& loop, int k) {
  if (!loop.carried(k)->type().is_tile() || !is_float(loop.carried(k)->type().element())) return false;
  if (!ir::is_zero(*loop.init(k))) return false;
  bool adds = false;
  for (Value const* sum = loop.carried(k);;) {
    if (sum->uses().size() != 1) return false;
    ir::Use const& use = sum->uses().front();
    if (use.user == &loop.yield()) return adds && loop.carry_of(use) == k;
    bool const is_sum = use.user->is<ir::AddOp>() || use.is<ir::FmaOp>("addend");
    if (!is_sum || use.user->parent() != &loop.body()) return false;
    auto const& terms = use.user->operands();
    adds = adds || std::any_of(terms.begin(), terms.end(), [&](Value const* term) {
             return term != sum && follows_from_product(*term, loop.body());
           });
    sum = use.user->result();
  }
}

}  // namespace tegula::analysis
