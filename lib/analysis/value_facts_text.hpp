// Prints and reads the text of facts about one integer value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/axis_facts.hpp"

namespace tegula::analysis {

/// Prints "contiguity [1, 64], divisibility [16, 8], constancy [4, 1], from 0 to 255"; without the range if it is that
/// of i64.
std::string to_string(ValueFacts const& facts);
/// Reads that text; nothing for text of another form.
std::optional<ValueFacts> parse_value_facts(std::string_view text);

}  // namespace tegula::analysis
