#include "transform/planned/share_rings.hpp"

#include <algorithm>
#include <vector>

#include "ir/core/walk.hpp"
#include "transform/common/dot_chains.hpp"
#include "transform/common/fetches.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

/// Returns the fetch that only this operand reads, with the ops between the two, the last one first; null: there is
/// none.
struct OwnFetch {
  Op* fetch = nullptr;
  std::vector<Op*> between;
};
OwnFetch own_fetch(Op const& dot, Value const& operand) {
  OwnFetch found;
  for (Value const* at = &operand;;) {
    Op* const op = at->defining_op();
    if (op == nullptr || op->parent() != dot.parent() || at->uses().size() != 1) return {};
    if (op->is<ir::FetchOp>()) {
      found.fetch = op;
      return found;
    }
    if (!op->is<ir::BufferLoadOp>() && !op->is<ir::TransOp>()) return {};
    found.between.push_back(op);
    at = op->operand(0);
  }
}

/// Returns the fetches of one operand of a chain's products. Empty: not all are fetches of one type, by the TMA engine
/// or by threads, or they share already.
std::vector<OwnFetch> fetches_of(DotChain const& chain, char const* operand) {
  std::vector<OwnFetch> found;
  for (Op const* dot : chain.dots) {
    found.push_back(own_fetch(*dot, *dot->in(operand)));
    Op const* const fetch = found.back().fetch;
    if (fetch == nullptr || fetch->as<ir::FetchOp>().ring != 0 ||
        threads_copy(*fetch) != threads_copy(*found.front().fetch) ||
        fetch->result()->type() != found.front().fetch->result()->type())
      return {};
  }
  return found;
}

std::int64_t last_ring(ir::Function& function) {
  std::int64_t last = 0;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::FetchOp>()) last = std::max(last, op.as<ir::FetchOp>().ring);
  });
  return last;
}

}  // namespace

PassResult share_rings(ir::Function& function, PassContext&) {
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<Op*> dots;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::DotOp>()) dots.push_back(&op);
  });
  std::int64_t ring = last_ring(function);
  bool changed = false;
  for (Op* first : dots) {
    auto const chain = chain_from(*first);
    if (!chain) continue;
    for (char const* operand : {"lhs", "rhs"}) {
      std::vector<OwnFetch> const fetches = fetches_of(*chain, operand);
      if (fetches.empty()) continue;
      ++ring;
      for (std::size_t i = 0; i < fetches.size(); ++i) {
        fetches[i].fetch->as<ir::FetchOp>().ring = ring;
        fetches[i].fetch->move_before(*chain->dots[i]);
        for (auto op = fetches[i].between.rbegin(); op != fetches[i].between.rend(); ++op)
          (*op)->move_before(*chain->dots[i]);
      }
      changed = true;
    }
  }
  return result_of(changed);
}

}  // namespace tegula::transform
