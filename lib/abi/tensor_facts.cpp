#include "abi/tensor_facts.hpp"

namespace tegula {

std::string to_string(TensorFacts const& facts) {
  std::string text;
  for (TensorFactName const& fact : tensor_fact_names)
    if (facts.*fact.flag) text += (text.empty() ? "" : ", ") + std::string(fact.name);
  return text;
}

std::optional<TensorFacts> parse_tensor_facts(std::string_view text) {
  constexpr std::string_view separator = ", ";
  TensorFacts facts;
  while (!text.empty()) {
    std::size_t const end = text.find(separator);
    bool known = false;
    for (TensorFactName const& fact : tensor_fact_names)
      if (fact.name == text.substr(0, end)) known = facts.*fact.flag = true;
    if (!known) return std::nullopt;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + separator.size());
    if (text.empty()) return std::nullopt;
  }
  return facts;
}

}  // namespace tegula
