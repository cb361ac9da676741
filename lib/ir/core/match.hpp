// Applies a rule to an op of a few structs: for knowledge that most ops do not need, as ranges of integers or rewrites.
//
//   Range const found = match<Range>(op, on<AddOp>([&] { return lhs() + rhs(); }),
//                                        on<DivOp, ShrOp>([&](Op const& op) { return quotient(op); }));
//
// For an op without a rule it returns R{}, which must be a sound answer for every op: unknown, unchanged, none.
// Knowledge that each op must have is a statement of its struct, or an overload that a static_assert asks for.
#pragma once

#include <type_traits>
#include <utility>

#include "ir/core/op.hpp"

namespace tegula::ir {

/// Holds the rule of some op structs: a function without arguments, or one of the op.
template <class F, class... OpStruct>
struct MatchRule {
  F function;

  static bool fits(Op const& op) { return (op.is<OpStruct>() || ...); }
  template <class AnyOp>
  decltype(auto) operator()(AnyOp& op) const {
    if constexpr (std::is_invocable_v<F const&>)
      return function();
    else
      return function(op);
  }
};

template <class... OpStruct, class F>
MatchRule<F, OpStruct...> on(F function) {
  return {std::move(function)};
}

/// Applies the rule that names the op's struct, else returns R{}. R may be void.
template <class R, class AnyOp, class... Rule>
R match(AnyOp& op, Rule const&... rules) {
  if constexpr (std::is_void_v<R>) {
    (void)((rules.fits(op) && (static_cast<void>(rules(op)), true)) || ...);
  } else {
    R result{};
    (void)((rules.fits(op) && (result = rules(op), true)) || ...);
    return result;
  }
}

}  // namespace tegula::ir
