// Answers questions about predicates of comparisons.
#pragma once

#include "tegula/ir/tile_ops.hpp"

namespace tegula::ir {

/// Returns the predicate of the same comparison with its sides exchanged: `a < b` is `b > a`.
constexpr Predicate swapped(Predicate predicate) {
  constexpr Predicate table[] = {Predicate::eq, Predicate::ne, Predicate::gt,
                                 Predicate::ge, Predicate::lt, Predicate::le};
  return table[static_cast<int>(predicate)];
}

/// Returns the predicate that holds where this one does not, of numbers that are ordered: `a < b` is not `a >= b`.
constexpr Predicate negated(Predicate predicate) {
  constexpr Predicate table[] = {Predicate::ne, Predicate::eq, Predicate::ge,
                                 Predicate::gt, Predicate::le, Predicate::lt};
  return table[static_cast<int>(predicate)];
}

}  // namespace tegula::ir
