#include "analysis/carried_sums.hpp"

#include <algorithm>
#include <vector>

#include "ir/core/families.hpp"

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

/// Returns the position of what an op adds to the value that this use passes to it; -1: it does not add to it.
int added_by(ir::Use const& use) {
  if (use.user->is<ir::AddOp>()) return 1 - use.index;
  return use.is<ir::FmaOp>("addend") ? 0 : -1;
}

}  // namespace

bool adds_products(ir::Loop const& loop, int k) {
  if (!loop.carried(k)->type().is_tile() || !is_float(loop.carried(k)->type().element())) return false;
  bool adds = false;
  for (Value const* sum = loop.carried(k);;) {
    if (sum->uses().size() != 1) return false;
    ir::Use const& use = sum->uses().front();
    if (use.user == &loop.yield()) return adds && loop.carry_of(use) == k;
    int const term = added_by(use);
    if (term < 0 || use.user->parent() != &loop.body()) return false;
    adds = adds || follows_from_product(*use.user->operand(term), loop.body());
    sum = use.user->result();
  }
}

}  // namespace tegula::analysis
