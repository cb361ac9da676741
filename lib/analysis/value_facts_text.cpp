#include "analysis/value_facts_text.hpp"

#include <fmt/format.h>

#include <charconv>

namespace tegula::analysis {
namespace {

using Limits = std::numeric_limits<std::int64_t>;

struct ListName {
  std::string_view name;
  std::int64_t AxisFact::*member;
};
constexpr ListName list_names[] = {{"contiguity", &AxisFact::contiguity},
                                   {"divisibility", &AxisFact::divisibility},
                                   {"constancy", &AxisFact::constancy}};

/// Takes words and numbers off the front of a text.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  bool take(std::int64_t& number) {
    auto const [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error != std::errc()) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return true;
  }
  bool take_list(std::vector<std::int64_t>& numbers) {
    if (!take("[")) return false;
    if (take("]")) return true;
    do
      if (!take(numbers.emplace_back())) return false;
    while (take(", "));
    return take("]");
  }
  [[nodiscard]] bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

std::string to_string(ValueFacts const& facts) {
  std::string text;
  for (ListName const& list : list_names) {
    text += (text.empty() ? "" : ", ") + std::string(list.name) + " [";
    for (std::size_t axis = 0; axis < facts.axes.size(); ++axis)
      text += fmt::format("{}{}", axis == 0 ? "" : ", ", facts.axes[axis].*list.member);
    text += "]";
  }
  if (facts.min != Limits::min() || facts.max != Limits::max())
    text += fmt::format(", from {} to {}", facts.min, facts.max);
  return text;
}

std::optional<ValueFacts> parse_value_facts(std::string_view text) {
  Reader reader(text);
  ValueFacts facts;
  for (ListName const& list : list_names) {
    bool const first = &list == list_names;
    std::vector<std::int64_t> numbers;
    if ((!first && !reader.take(", ")) || !reader.take(list.name) || !reader.take(" ") || !reader.take_list(numbers))
      return std::nullopt;
    if (first) facts.axes.resize(numbers.size());
    if (numbers.size() != facts.axes.size()) return std::nullopt;
    for (std::size_t axis = 0; axis < numbers.size(); ++axis) facts.axes[axis].*list.member = numbers[axis];
  }
  if (reader.take(", from ") && !(reader.take(facts.min) && reader.take(" to ") && reader.take(facts.max)))
    return std::nullopt;
  return reader.done() ? std::optional(std::move(facts)) : std::nullopt;
}

}  // namespace tegula::analysis
