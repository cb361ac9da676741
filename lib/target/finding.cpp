#include "target/finding.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "layout/fragment_layouts.hpp"
#include "layout/shared_layouts.hpp"

namespace tegula::target {
namespace {

/// Parts a list at its commas outside parentheses.
std::vector<std::string> values_of(std::string_view list) {
  std::vector<std::string> values;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    char const c = i < list.size() ? list[i] : ',';
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c != ',' || depth != 0) continue;
    values.emplace_back(list.substr(begin, i - begin));
    begin = std::min(i + 2, list.size());  // behind the blank
  }
  return values;
}

/// Tells whether a text opens more parentheses in each other than any finding has.
bool nested_too_deep(std::string_view data) {
  constexpr int max_depth = 8;
  int depth = 0;
  return std::any_of(data.begin(), data.end(), [&](char c) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    return depth > max_depth;
  });
}

std::size_t values_in(std::string_view sentence) {
  return static_cast<std::size_t>(std::count(sentence.begin(), sentence.end(), '{'));
}

/// Reads "64x32", or one number.
std::optional<Extents> extents_of(std::string_view text) {
  Extents result;
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t const end = std::min(text.find('x', begin), text.size());
    std::int64_t extent = 0;
    auto const [rest, error] = std::from_chars(text.data() + begin, text.data() + end, extent);
    if (error != std::errc() || rest != text.data() + end || result.size() == max_rank) return std::nullopt;
    result.push_back(extent);
    begin = end + 1;
  }
  return result;
}

/// Reads a shape and the numbers behind it; nothing unless all values are such.
std::optional<std::pair<Extents, std::vector<int>>> shape_and_numbers(std::vector<std::string> const& values) {
  std::pair<Extents, std::vector<int>> result;
  for (std::string const& value : values) {
    auto const extents = extents_of(value);
    if (!extents) return std::nullopt;
    if (&value == &values.front())
      result.first = *extents;
    else
      result.second.push_back(static_cast<int>(extents->back()));
  }
  return result;
}

constexpr int smallest_swizzle = 16;  ///< asks the least of a tile

}  // namespace

namespace layout_says {

std::string swizzled(std::vector<std::string> const& shape_bytes) {
  std::string error;
  if (auto const read = shape_and_numbers(shape_bytes))
    (void)layout::swizzled_layout(read->first, read->second[0], smallest_swizzle, error);
  return error;
}

std::string accumulator(std::vector<std::string> const& shape_warps) {
  std::string error;
  if (auto const read = shape_and_numbers(shape_warps)) (void)layout::wgmma_layout(read->first, read->second[0], error);
  return error;
}

std::string left(std::vector<std::string> const& shape_bytes_warps) {
  std::string error;
  if (auto const read = shape_and_numbers(shape_bytes_warps))
    (void)layout::wgmma_a_layout(read->first, read->second[0], read->second[1], error);
  return error;
}

}  // namespace layout_says

Finding Finding::from_data(std::string_view data) {
  if (data.empty()) return {};
  std::string_view const name = data.substr(0, data.find('('));
  auto const kind = std::find_if(std::begin(finding::all), std::end(finding::all),
                                 [&](FindingKind const* known) { return known->name == name; });
  Finding result(finding::stated, data);
  if (kind == std::end(finding::all) || nested_too_deep(data)) return result;
  std::vector<std::string> values;
  if (name.size() < data.size()) {
    if (data.back() != ')') return result;
    values = values_of(data.substr(name.size() + 1, data.size() - name.size() - 2));
  }
  if (values.size() != values_in((*kind)->sentence)) return result;
  result.kind_ = *kind;
  result.values_ = std::move(values);
  return result;
}

std::string Finding::data() const {
  if (kind_ == nullptr) return {};
  if (kind_ == &finding::stated) return values_.front();
  std::string list;
  for (std::string const& value : values_) list += (list.empty() ? "" : ", ") + value;
  return std::string(kind_->name) + (values_.empty() ? "" : "(" + list + ")");
}

std::string Finding::sentence() const {
  if (kind_ == nullptr) return {};
  std::string result;
  if (kind_->asked != nullptr) result = kind_->asked(values_);
  if (!result.empty()) return result;
  std::string_view rest = kind_->sentence;
  for (std::string const& value : values_) {
    std::size_t const at = rest.find('{');
    bool const nested = rest[at + 1] == '*';
    result += rest.substr(0, at);
    result += nested ? from_data(value).text() : value;
    rest.remove_prefix(at + (nested ? 3 : 2));
  }
  return result + std::string(rest);
}

std::string Finding::text() const {
  std::string prefix;
  if (rule() != nullptr) prefix = "tma: " + std::string(rule()->name) + ": ";
  return prefix + sentence();
}

}  // namespace tegula::target
