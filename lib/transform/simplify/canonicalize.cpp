#include "transform/simplify/canonicalize.hpp"

#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "transform/simplify/canonicalize_rules.hpp"

namespace tegula::transform {
namespace {

/// Rules make ops simpler or fewer, so this is never reached; it bounds the time if two rules ever undo each other.
constexpr int max_rounds = 64;

bool unused(ir::Op const& op) {
  for (int i = 0; i < op.result_count(); ++i)
    if (!op.result(i)->unused()) return false;
  return true;
}

bool visit(ir::Op& op) {
  if (op.block_count() != 0 || op.is(ir::Family::launch)) return rules::control(op);
  if (op.result_count() != 1 || unused(op)) return false;
  rules::RewriteSite site(op);
  ir::Value* value = rules::arithmetic(site);
  if (value == nullptr && !site.edited) value = rules::shape(site);
  if (value == nullptr) return site.edited;
  ir::replace(op, value);
  return true;
}

}  // namespace

PassResult canonicalize(ir::Function& function, PassContext&) {
  bool any = false;
  for (int round = 0; round < max_rounds; ++round) {
    bool changed = false;
    ir::walk(function, [&](ir::Op& op) { changed = visit(op) || changed; });
    any = any || changed;
    if (!changed) break;
  }
  return result_of(any);
}

}  // namespace tegula::transform
