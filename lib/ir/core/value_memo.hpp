// Remembers a result per value, for passes and analyses that derive it from the results of operands.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/core/op.hpp"

namespace tegula::ir {

/// Remembers a result for each value, so that shared operands are computed once. A chain of n ops `add %x, %x` has 2^n
/// paths. Works without recursion.
template <class Result>
class ValueMemo {
 public:
  /// Returns the result of a value. `needs(value, visit)` calls visit for each value whose result `compute(value)` asks
  /// for by `at`; a value must not need itself.
  template <class Needs, class Compute>
  Result const& of(Value const& value, Needs const& needs, Compute const& compute) {
    std::vector<Value const*> open;
    if (!known(value)) open.push_back(&value);
    while (!open.empty()) {
      Value const& next = *open.back();
      std::size_t const before = open.size();
      if (!known(next))
        needs(next, [&](Value const& other) {
          if (!known(other)) open.push_back(&other);
        });
      if (open.size() != before) continue;
      open.pop_back();
      if (!known(next)) results_.emplace(&next, compute(next));
    }
    return at(value);
  }
  /// Returns the result of a value that was computed.
  [[nodiscard]] Result const& at(Value const& value) const { return results_.at(&value); }
  [[nodiscard]] bool known(Value const& value) const { return results_.count(&value) != 0; }

 private:
  std::unordered_map<Value const*, Result> results_;
};

/// Visits the operands of the op that makes a value; none of an argument.
inline constexpr auto operands_of = [](Value const& value, auto const& visit) {
  if (value.defining_op() != nullptr)
    for (Value const* operand : value.defining_op()->operands()) visit(*operand);
};

}  // namespace tegula::ir
