// Answers questions about predicates of comparisons.
#pragma once

#include "tegula/ir/tile_ops.hpp"

namespace tegula::ir {

/// Gives the predicate of the same comparison with its sides exchanged: `a < b` is `b > a`.
constexpr Predicate swapped(Predicate predicate) {
  constexpr Predicate table[] = {Predicate::eq, Predicate::ne, Predicate::gt,
                                 Predicate::ge, Predicate::lt, Predicate::le};
  return table[static_cast<int>(predicate)];
}

}  // namespace tegula::ir
