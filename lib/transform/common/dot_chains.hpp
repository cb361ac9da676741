// Finds products that add to one carried sum, one after the other.
#pragma once

#include <optional>
#include <vector>

#include "ir/core/op.hpp"
#include "transform/common/carried.hpp"

namespace tegula::transform {

/// Lists products of one block: the first adds to a value that the loop carries, each other one to the one before it,
/// and the last gives the next iteration's value. Nothing else reads the sums.
struct DotChain {
  Carry carry;
  std::vector<ir::Op*> dots;
};

/// Returns the chain that begins with this product; nothing: it begins none. Two products or more.
inline std::optional<DotChain> chain_from(ir::Op& first) {
  ir::Value const& start = *first.in<ir::DotOp>("accumulator");
  auto const carry = carry_of(start);
  if (!carry || start.owner_block() != first.parent() || start.uses().size() != 1) return std::nullopt;
  DotChain chain{*carry, {&first}};
  for (;;) {
    auto const& uses = chain.dots.back()->result()->uses();
    if (uses.size() != 1) return std::nullopt;
    ir::Use const& use = uses.front();
    if (use == carry->loop.yield_use(carry->number)) break;
    if (!use.is<ir::DotOp>("accumulator") || use.user->parent() != first.parent()) return std::nullopt;
    chain.dots.push_back(use.user);
  }
  return chain.dots.size() > 1 ? std::optional(std::move(chain)) : std::nullopt;
}

}  // namespace tegula::transform
