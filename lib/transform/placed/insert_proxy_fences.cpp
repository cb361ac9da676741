#include "transform/placed/insert_proxy_fences.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/hazards.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "tegula/support/error.hpp"

namespace tegula::transform {
namespace {

using ir::FenceProxyAsyncOp;
using ir::FenceSpace;
using ir::Op;

Op* before(Op const& op) {
  Op* last = nullptr;
  for (Op& other : *op.parent()) {
    if (&other == &op) return last;
    last = &other;
  }
  return nullptr;
}

/// Puts a fence for the space before an op, or lets the one that stands there fence all spaces. False: it does already.
bool insert(Op const& handed_over_at, ir::Space space, std::vector<Op*>& fences) {
  auto& at = const_cast<Op&>(handed_over_at);
  FenceSpace const wanted = space == ir::Space::shared ? FenceSpace::shared : FenceSpace::global;
  if (Op* const last = before(at); last != nullptr && last->is<FenceProxyAsyncOp>()) {
    FenceSpace& fenced = last->as<FenceProxyAsyncOp>().space;
    if (fenced == wanted || fenced == FenceSpace::all) return false;
    fenced = FenceSpace::all;
    return true;
  }
  ir::Builder builder = ir::Builder::before(at);
  builder.set_where(at.where());
  FenceProxyAsyncOp fence;
  fence.space = wanted;
  fences.push_back(&builder.op(fence, {}, {}));
  return true;
}

}  // namespace

PassResult insert_proxy_fences(ir::Function& function, PassContext& context) {
  bool any = false;
  ir::walk(function, [&](Op const& op) { any = any || ir::is_asynchronous(op) || op.is<ir::CallOp>(); });
  if (!any) return PassResult::unchanged;
  analysis::Hazards hazards(function, context.analyses.uniformity(), context.analyses.replica_uniformity());
  std::vector<Op*> fences;
  bool changed = false;
  while (auto const missing = hazards.first_without_fence()) {
    std::vector<Op const*> places;  // in the order of the text
    ir::walk_pre_order(function, [&](Op& op) {
      if (std::find(missing->before.begin(), missing->before.end(), &op) != missing->before.end())
        places.push_back(&op);
      return ir::Walk::advance;
    });
    bool more = false;
    for (Op const* at : places) more = insert(*at, missing->earlier->space, fences) || more;
    if (!more)
      throw InternalError(fmt::format("insert-proxy-fences: a fence between {} and {}, before {}, has no effect",
                                      missing->earlier->op->info().mnemonic, missing->later->op->info().mnemonic,
                                      places.empty() ? "nothing" : places.front()->info().mnemonic));
    changed = true;
  }
  // A later one may have made an earlier one unneeded.
  for (std::size_t i = fences.size(); i-- > 0;) {
    Op& fence = *fences[i];
    auto at = fence.parent()->begin();
    while (&*at != &fence) ++at;
    Op& next = *++at;
    std::unique_ptr<Op> taken = fence.parent()->remove(fence);
    if (hazards.first_without_fence()) next.parent()->insert_before(next, std::move(taken));
  }
  return result_of(changed);
}

}  // namespace tegula::transform
