#include "transform/laid_out/ring_uses.hpp"

#include <bit>
#include <utility>
#include <vector>

#include "ir/core/loop.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;
using ir::Type;
using ir::Value;

/// Finds the op of `outer` that holds the block; null: none does.
Op* holder_in(Block const& block, Block const& outer) {
  Op* at = block.parent_op();
  while (at != nullptr && at->parent() != &outer) at = at->parent_op();
  return at;
}

Value* count(RingGroup& group, Block& block, Value* use, std::size_t& next);

Value* count_through(RingGroup& group, Op& holder, Value* use, std::size_t& next) {
  std::size_t const first = next;
  if (holder.is<ir::ForOp>())
    use = ir::Loop(holder).add_carry(use, "use");
  else
    holder.add_result(Type::index());
  Value* const result = holder.result(holder.result_count() - 1);
  for (int b = 0; b < holder.block_count(); ++b)
    holder.block(b).back().add_operand(count(group, holder.block(b), use, next));
  if (holder.is<ir::ForOp>())
    for (Ring& ring : group.rings)
      for (std::size_t i = first; i < next; ++i)
        if (&ring.sites[i].block() == &holder.block()) ring.sites[i].use_end = result;
  return result;
}

/// Hands the counter through a block that holds the sites from `next` on; returns it as it is at the block's end.
Value* count(RingGroup& group, Block& block, Value* use, std::size_t& next) {
  auto const& blocks = std::as_const(group).blocks();
  std::int64_t passed = 0;  // sites of this block since `use`
  auto const now = [&](Op& at) {
    if (passed == 0) return use;
    ir::Builder builder = ir::Builder::before(at);
    return builder.same(ir::AddOp{}, {use, builder.index(passed)});
  };
  while (next < blocks.size()) {
    Op* const holder = holder_in(*blocks[next], block);
    if (blocks[next] == &block) {
      Op* first = group.rings.front().sites[next].fetches.front();
      for (Ring const& ring : group.rings)
        for (Op* fetch : ring.sites[next].fetches)
          if (stands_before(*fetch, *first)) first = fetch;
      Value* const here = now(*first);
      for (Ring& ring : group.rings) ring.sites[next].use = here;
      ++passed, ++next;
    } else if (holder != nullptr) {
      use = count_through(group, *holder, now(*holder), next);
      passed = 0;
    } else {
      break;
    }
  }
  return block.parent_op() == nullptr ? use : now(block.back());
}

}  // namespace

void count_uses(RingGroup& group) {
  if (!group.rings.front().repeats()) {
    for (Ring& ring : group.rings)
      ring.sites.front().use = ir::Builder::before(*ring.sites.front().fetches.front()).index(0);
    return;
  }
  Op* first = group.rings.front().sites.front().fetches.front();
  while (first->parent_op() != nullptr) first = first->parent_op();
  std::size_t next = 0;
  (void)count(group, *first->parent(), ir::Builder::before(*first).index(0), next);
}

RingSlot slot_of(ir::Builder& builder, Value* use, std::int64_t stages) {
  if (stages == 1) return {builder.index(0), use};
  if (!std::has_single_bit(static_cast<std::uint64_t>(stages))) {
    Value* const count = builder.index(stages);
    return {builder.same(ir::RemOp{}, {use, count}), builder.same(ir::DivOp{}, {use, count})};
  }
  return {builder.same(ir::AndOp{}, {use, builder.index(stages - 1)}),
          builder.same(ir::ShrOp{}, {use, builder.index(std::countr_zero(static_cast<std::uint64_t>(stages)))})};
}

}  // namespace tegula::transform
