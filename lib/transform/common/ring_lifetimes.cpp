#include "transform/common/ring_lifetimes.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "ir/memory/exchange.hpp"
#include "ir/text/text.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/walk.hpp"
#include "layout/shared_layouts.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;
using ir::Type;
using ir::Value;

/// Collects the ops that read bytes of a fetched tile.
void collect_readers(Value const& view, std::vector<Op*>& readers) {
  for (ir::Use const& use : view.uses()) {
    Op& user = *use.user;
    if (user.is<ir::ViewOp>() || user.is<ir::TransViewOp>())
      collect_readers(*user.result(), readers);
    else
      readers.push_back(&user);
  }
}

/// Groups of wgmma committed after a product's own, while walking forward from it.
class Groups {
 public:
  /// Finds the first wait among the ops from `at` up to `end` of one block that covers the product; null: none. Commits
  /// and waits of nested blocks are not counted: they may not run.
  Op* covering(Block::iterator at, Block::iterator end) {
    for (; at != end; ++at) {
      if (at->is<ir::WgmmaCommitOp>()) ++younger_;
      if (at->is<ir::WgmmaWaitOp>() && younger_ >= 0 && younger_ >= at->as<ir::WgmmaWaitOp>().pending) return &*at;
    }
    return nullptr;
  }
  Op* covering_after(Op const& op) {
    Block const& block = *op.parent();
    auto at = block.begin();
    while (&*at != &op) ++at;
    return covering(++at, block.end());
  }

 private:
  int younger_ = -1;  ///< its own group is not closed yet
};

/// Extends the lifetime of the tile that a product reads.
void join_product(Op& product, Block& home, StageLifetime& into, auto const& later) {
  Groups groups;
  Op* at = &product;
  while (true) {
    if (Op* const wait = groups.covering_after(*at)) return later(*ancestor_in(*wait, home), nullptr);
    if (at->parent() == &home) break;
    at = at->parent_op();
  }
  Op* const loop = home.parent_op();
  if (loop == nullptr || !loop->is<ir::ForOp>()) {
    into.error = "no wgmma_wait covers the product " + ir::print(product);
    return;
  }
  Groups after_last = groups;
  Op* const wait = groups.covering(home.begin(), home.end());
  Op* const after = after_last.covering_after(*loop);
  if (wait == nullptr || after == nullptr)
    into.error = "the product " + ir::print(product) + " stays in flight for more than one iteration";
  else
    later(*wait, after);
}

}  // namespace

std::int64_t requested_stages(Op const& loop) {
  auto const& attributes = loop.as<ir::ForOp>();
  return std::max(attributes.stages, attributes.distance == 0 ? 0 : attributes.distance + 1);
}

std::int64_t places_of_stage(Type const& tile) {
  int const size = bytes(tile.element());
  auto const form = layout::shared_form(*tile.layout(), size);
  std::int64_t const alignment = layout::swizzle_alignment(form ? form->swizzle_bytes : 0);
  return alignment / std::gcd(alignment, tile.elements() * size);
}

std::int64_t stage_bytes(Type const& tile) { return places_of_stage(tile) * tile.elements() * bytes(tile.element()); }

std::int64_t bytes_beside_rings(ir::Function& function, TargetInfo const& target) {
  std::int64_t total = target.tuning.shared_reserve;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::BufferAllocOp>() && !op.result()->type().is_global()) total += ir::buffer_bytes(op.result()->type());
  });
  return total;
}

namespace {

/// Sums the bytes of all rings, with so many stages as `stages` returns for a fetch.
template <class Stages>
std::int64_t bytes_of_rings(ir::Function& function, Stages const& stages) {
  std::set<std::int64_t> counted;
  std::int64_t total = 0;
  ir::walk(function, [&](Op& op) {
    if (!op.is<ir::FetchOp>()) return;
    std::int64_t const ring = op.as<ir::FetchOp>().ring;
    if (ring != 0 && !counted.insert(ring).second) return;
    total += stages(op) * stage_bytes(op.result()->type());
  });
  return total;
}

/// Returns the stages that a fetch asks for or needs.
std::int64_t stages_of(Op& fetch) {
  Op const* const loop = ir::loop_around(*fetch.parent());
  std::int64_t const asked = loop == nullptr ? 1 : requested_stages(*loop);
  return std::max(asked, min_stages(stage_lifetime(fetch)));
}

}  // namespace

std::int64_t min_bytes_of_rings(ir::Function& function) { return bytes_of_rings(function, stages_of); }

std::int64_t bytes_of_two_stages(ir::Function& function) {
  return bytes_of_rings(function, [](Op& fetch) { return std::min<std::int64_t>(stages_of(fetch), 2); });
}

std::int64_t bytes_of_single_stages(ir::Function& function) {
  return bytes_of_rings(function, [](Op&) { return std::int64_t{1}; });
}

Op* ancestor_in(Op& op, Block const& block) {
  Op* at = &op;
  while (at != nullptr && at->parent() != &block) at = at->parent_op();
  return at;
}

bool stands_before(Op const& a, Op const& b) {
  for (Op const& op : *a.parent()) {
    if (&op == &b) return false;
    if (&op == &a) return true;
  }
  return false;
}

StageLifetime stage_lifetime(Op& fetch) {
  StageLifetime result;
  Block& home = *fetch.parent();
  std::vector<Op*> readers;
  collect_readers(*fetch.result(), readers);
  auto const later = [&](Op& last, Op* after) {
    bool const next_turn = after != nullptr;
    bool const is_later = result.last == nullptr || (next_turn && !result.next_turn) ||
                          (next_turn == result.next_turn && stands_before(*result.last, last));
    if (is_later) result.last = &last;
    if (next_turn && (result.after == nullptr || stands_before(*result.after, *after))) result.after = after;
    result.next_turn = result.next_turn || next_turn;
  };
  for (Op* reader : readers) {
    Op* const place = ancestor_in(*reader, home);
    if (result.first_reader == nullptr || stands_before(*place, *result.first_reader)) result.first_reader = place;
    if (reader->is<ir::WgmmaOp>()) {
      join_product(*reader, home, result, later);
    } else if (reader->is<ir::BufferLoadOp>() || reader->is<ir::ShiftedLoadOp>()) {
      result.generic = true;
      later(*place, nullptr);
    } else {
      result.error = "a fetched tile is read by " + std::string(reader->info().mnemonic);
    }
  }
  return result;
}

}  // namespace tegula::transform
