// Converts the facts about one tensor argument to text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tegula/abi/compiled_kernel.hpp"

namespace tegula {

/// Names a fact in text.
struct TensorFactName {
  std::string_view name;
  bool TensorFacts::*flag;
};
inline constexpr TensorFactName tensor_fact_names[] = {{"unit_inner", &TensorFacts::unit_inner_stride},
                                                       {"aligned_16", &TensorFacts::aligned_16},
                                                       {"whole_16", &TensorFacts::whole_16}};

/// Prints "unit_inner, aligned_16, whole_16", empty when nothing is known; and parses it, nothing for any other text.
std::string to_string(TensorFacts const& facts);
/// Spells the direction of a tensor parameter: in, out or inout.
constexpr std::string_view name(Direction direction) {
  return direction == Direction::in ? "in" : direction == Direction::out ? "out" : "inout";
}
std::optional<TensorFacts> parse_tensor_facts(std::string_view text);

}  // namespace tegula
