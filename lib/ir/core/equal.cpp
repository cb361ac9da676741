#include "ir/core/equal.hpp"

#include <unordered_map>

namespace tegula::ir {
namespace {

/// Maps values of the second function to those of the first.
using Pairs = std::unordered_map<Value const*, Value const*>;

bool equal_blocks(Block const& a, Block const& b, Pairs& pairs);

bool equal_ops(Op const& a, Op const& b, Pairs& pairs) {
  if (a.kind() != b.kind() || a.operand_count() != b.operand_count() || a.result_count() != b.result_count() ||
      a.block_count() != b.block_count())
    return false;
  auto const left = fields_of(a.kind(), a.attributes());
  auto const right = fields_of(b.kind(), b.attributes());
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!field_equal(left[i], right[i])) return false;
  for (int i = 0; i < a.operand_count(); ++i) {
    auto const found = pairs.find(a.operand(i));
    if (found == pairs.end() || found->second != b.operand(i)) return false;
  }
  for (int i = 0; i < a.block_count(); ++i)
    if (!equal_blocks(a.block(i), b.block(i), pairs)) return false;
  for (int i = 0; i < a.result_count(); ++i) {
    if (a.result(i)->type() != b.result(i)->type()) return false;
    pairs[a.result(i)] = b.result(i);
  }
  return true;
}

bool equal_blocks(Block const& a, Block const& b, Pairs& pairs) {
  if (a.argument_count() != b.argument_count() || a.size() != b.size()) return false;
  for (int i = 0; i < a.argument_count(); ++i) {
    if (a.argument(i)->type() != b.argument(i)->type()) return false;
    pairs[a.argument(i)] = b.argument(i);
  }
  auto right = b.begin();
  for (Op const& op : a) {
    if (!equal_ops(op, *right, pairs)) return false;
    ++right;
  }
  return true;
}

}  // namespace

bool equal(Function const& a, Function const& b) { return a.name() == b.name() && equal_but_name(a, b); }

bool equal_but_name(Function const& a, Function const& b) {
  Pairs pairs;
  return a.kind() == b.kind() && a.results == b.results && a.inlining == b.inlining && a.warps == b.warps &&
         a.cluster == b.cluster && a.ctas == b.ctas && a.plan == b.plan && a.shared == b.shared &&
         a.parameter_attributes() == b.parameter_attributes() && equal_blocks(a.body(), b.body(), pairs);
}

bool equal(Module const& a, Module const& b) {
  if (a.functions().size() != b.functions().size()) return false;
  for (std::size_t i = 0; i < a.functions().size(); ++i)
    if (!equal(*a.functions()[i], *b.functions()[i])) return false;
  return true;
}

}  // namespace tegula::ir
