#include "transform/insert_proxy_fences.hpp"

#include <algorithm>

#include "analysis/hazards.hpp"
#include "ir/builder.hpp"
#include "ir/walk.hpp"
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

struct Inserted {
  Op* fence = nullptr;
  bool widened = false;  ///< one that was there, for another space alone
};

Inserted insert(Op const& handed_over_at, ir::Space space) {
  auto& at = const_cast<Op&>(handed_over_at);
  FenceSpace const wanted = space == ir::Space::shared ? FenceSpace::shared : FenceSpace::global;
  Op* const last = before(at);
  if (last != nullptr && last->is<FenceProxyAsyncOp>()) {
    last->as<FenceProxyAsyncOp>().space = FenceSpace::all;
    return {last, true};
  }
  ir::Builder builder = ir::Builder::before(at);
  builder.set_where(at.where());
  FenceProxyAsyncOp fence;
  fence.space = wanted;
  return {&builder.op(fence, {}, {}), false};
}

}  // namespace

PassResult insert_proxy_fences(ir::Function& function, AnalysisCache&, PassContext&) {
  analysis::Uniformity const uniformity(*function.parent()), replicas(*function.parent(), true);
  analysis::Hazards hazards(function, uniformity, replicas);
  std::vector<Op*> fences;
  bool changed = false;
  constexpr int most_rounds = 10000;
  for (int round = 0;; ++round) {
    auto const missing = hazards.first_without_fence();
    if (!missing) break;
    if (round == most_rounds) throw InternalError("insert-proxy-fences: a fence is without effect");
    std::vector<Op const*> places;  // in the order of the text
    ir::walk_pre_order(function, [&](Op& op) {
      if (std::find(missing->before.begin(), missing->before.end(), &op) != missing->before.end())
        places.push_back(&op);
      return ir::Walk::advance;
    });
    for (Op const* at : places) {
      Inserted const made = insert(*at, missing->earlier->space);
      if (!made.widened) fences.push_back(made.fence);
      changed = true;
    }
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
