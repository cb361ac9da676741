#include "page/difference.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace tegula::page {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Returns the end of the number of a value that begins at `at`; `at` itself if there is none.
std::size_t end_of_number(std::string_view line, std::size_t at) {
  if (line[at] != '%') return at;
  std::size_t end = at + 1;
  while (end < line.size() && is_digit(line[end])) ++end;
  return end == at + 1 || (end < line.size() && is_word(line[end])) ? at : end;
}

/// Returns the line without its indentation, with # in place of each number of a value, and the numbers.
std::string without_numbers(std::string_view line, std::vector<std::string_view>* numbers = nullptr) {
  std::string result;
  for (std::size_t at = std::min(line.find_first_not_of(' '), line.size()); at < line.size();) {
    std::size_t const end = end_of_number(line, at);
    if (end == at) {
      result += line[at++];
      continue;
    }
    result += "%#";
    if (numbers != nullptr) numbers->push_back(line.substr(at, end - at));
    at = end;
  }
  return result;
}

/// Gives equal lines equal numbers.
class Keys {
 public:
  std::vector<int> of(std::vector<std::string_view> const& lines) {
    std::vector<int> result;
    for (std::string_view const line : lines)
      result.push_back(known_.emplace(without_numbers(line), static_cast<int>(known_.size())).first->second);
    return result;
  }

 private:
  std::unordered_map<std::string, int> known_;
};

/// Pairs of equal lines, by their places.
using Pairs = std::vector<std::pair<int, int>>;

/// Finds a longest common subsequence by Myers' greedy algorithm, which takes time in proportion to the changes. Empty
/// if there are more than max_changes of them.
Pairs common(std::vector<int> const& a, std::vector<int> const& b, int begin_a, int end_a, int begin_b, int end_b) {
  int const n = end_a - begin_a, m = end_b - begin_b, most = std::min(n + m, max_changes);
  auto const slot = [&](int diagonal) { return static_cast<std::size_t>(diagonal + most + 1); };
  auto const at = [](std::vector<int> const& keys, int place) { return keys[static_cast<std::size_t>(place)]; };
  std::vector<int> reach(static_cast<std::size_t>(2 * most + 3), 0);
  // For each number of changes, the places reached before it, of the diagonals that it can see.
  std::vector<std::vector<int>> history;
  auto const goes_down = [](std::vector<int> const& places, std::size_t here, int diagonal, int changes) {
    return diagonal == -changes || (diagonal != changes && places[here - 1] < places[here + 1]);
  };
  for (int changes = 0; changes <= most; ++changes) {
    history.emplace_back(reach.begin() + static_cast<std::ptrdiff_t>(slot(-changes) - 1),
                         reach.begin() + static_cast<std::ptrdiff_t>(slot(changes) + 2));
    for (int diagonal = -changes; diagonal <= changes; diagonal += 2) {
      std::size_t const here = slot(diagonal);
      int x = goes_down(reach, here, diagonal, changes) ? reach[here + 1] : reach[here - 1] + 1;
      int y = x - diagonal;
      while (x < n && y < m && at(a, begin_a + x) == at(b, begin_b + y)) ++x, ++y;
      reach[here] = x;
      if (x < n || y < m) continue;
      Pairs pairs;
      for (int step = changes; x > 0 || y > 0; --step) {
        std::vector<int> const& before = history[static_cast<std::size_t>(step)];
        int const line = x - y;
        auto const place = static_cast<std::size_t>(line + step + 1);
        bool const down = goes_down(before, place, line, step);
        int const from_x = step == 0 ? 0 : (down ? before[place + 1] : before[place - 1] + 1);
        int const from_y = from_x - line;
        while (x > from_x && y > from_y) pairs.emplace_back(begin_a + --x, begin_b + --y);
        if (step == 0) break;
        down ? --y : --x;
      }
      std::reverse(pairs.begin(), pairs.end());
      return pairs;
    }
  }
  return {};
}

/// Follows one renaming of the numbers of values through pairs of lines.
class Renaming {
 public:
  /// Tells whether the renaming makes the lines equal; then it holds for them from now on.
  bool takes(std::string_view before, std::string_view after) {
    std::vector<std::string_view> old_numbers, new_numbers;
    (void)without_numbers(before, &old_numbers);
    (void)without_numbers(after, &new_numbers);
    auto const agrees = [&](std::size_t i) {
      auto const to = to_.find(old_numbers[i]);
      auto const from = from_.find(new_numbers[i]);
      if (to == to_.end() && from == from_.end()) return true;
      return to != to_.end() && from != from_.end() && to->second == new_numbers[i] && from->second == old_numbers[i];
    };
    for (std::size_t i = 0; i < old_numbers.size(); ++i)
      if (!agrees(i)) return false;
    for (std::size_t i = 0; i < old_numbers.size(); ++i) {
      to_.emplace(old_numbers[i], new_numbers[i]);
      from_.emplace(new_numbers[i], old_numbers[i]);
    }
    return true;
  }
  /// Begins a function, which numbers its values by itself.
  void forget() {
    to_.clear();
    from_.clear();
  }

 private:
  std::unordered_map<std::string_view, std::string_view> to_, from_;
};

bool begins_function(std::string_view line) { return line.starts_with("kernel @") || line.starts_with("function @"); }

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    std::size_t const end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<Line> difference(std::string_view before, std::string_view after) {
  std::vector<std::string_view> const old_lines = lines_of(before), new_lines = lines_of(after);
  Keys keys;
  std::vector<int> const old_keys = keys.of(old_lines), new_keys = keys.of(new_lines);
  int begin = 0, end_a = static_cast<int>(old_keys.size()), end_b = static_cast<int>(new_keys.size());
  auto const equal = [&](int i, int j) {
    return old_keys[static_cast<std::size_t>(i)] == new_keys[static_cast<std::size_t>(j)];
  };
  while (begin < end_a && begin < end_b && equal(begin, begin)) ++begin;
  while (end_a > begin && end_b > begin && equal(end_a - 1, end_b - 1)) --end_a, --end_b;
  Pairs pairs;
  for (int i = 0; i < begin; ++i) pairs.emplace_back(i, i);
  Pairs const middle = common(old_keys, new_keys, begin, end_a, begin, end_b);
  pairs.insert(pairs.end(), middle.begin(), middle.end());
  for (int i = end_a, j = end_b; i < static_cast<int>(old_keys.size()); ++i, ++j) pairs.emplace_back(i, j);

  std::vector<Line> lines;
  Renaming renaming;
  std::size_t i = 0, j = 0;
  auto const take_up_to = [&](std::size_t to_i, std::size_t to_j) {
    while (i < to_i) lines.push_back({Change::removed, old_lines[i++]});
    while (j < to_j) lines.push_back({Change::added, new_lines[j++]});
  };
  for (auto const& [at_i, at_j] : pairs) {
    take_up_to(static_cast<std::size_t>(at_i), static_cast<std::size_t>(at_j));
    if (begins_function(new_lines[j])) renaming.forget();
    if (renaming.takes(old_lines[i], new_lines[j])) {
      lines.push_back({Change::none, new_lines[j]});
      ++i, ++j;
    } else {
      take_up_to(i + 1, j + 1);
    }
  }
  take_up_to(old_lines.size(), new_lines.size());
  return lines;
}

}  // namespace tegula::page
