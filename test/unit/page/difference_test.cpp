// Tests the comparison of two texts of IR.
#include "page/difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

using namespace tegula::page;

namespace {

/// Prints a comparison: each line behind ' ', '-' or '+'.
std::string compared(std::string const& before, std::string const& after) {
  std::string text;
  for (Line const& line : difference(before, after)) {
    text += line.change == Change::none ? ' ' : (line.change == Change::added ? '+' : '-');
    text += std::string(line.text) + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("difference: lines are split at newlines, the last one with or without its own", "[page]") {
  using Lines = std::vector<std::string_view>;
  CHECK(lines_of("").empty());
  CHECK(lines_of("\n") == Lines{""});
  CHECK(lines_of("a\n\nb") == Lines{"a", "", "b"});
  CHECK(lines_of("a\n\nb\n") == Lines{"a", "", "b"});
}

TEST_CASE("difference: the longest common lines stay", "[page]") {
  CHECK(compared("a\nb\nc\n", "a\nb\nc\n") == " a\n b\n c\n");
  CHECK(compared("", "a\nb\n") == "+a\n+b\n");
  CHECK(compared("a\nb\n", "") == "-a\n-b\n");
  CHECK(compared("", "") == "");
  CHECK(compared("a\nb\nc\nd\n", "a\nc\nx\nd\n") == " a\n-b\n c\n+x\n d\n");
  CHECK(compared("a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n").size() == 2 * 4 + 3 * (7 + 6 - 2 * 4) + 4);
  CHECK(compared("one\ntwo\n", "two\none\n").find(' ') != std::string::npos);
}

TEST_CASE("difference: a comparison of drawn texts rebuilds both, with the fewest changes", "[page]") {
  unsigned state = 7;
  auto const draw = [&](unsigned bound) { return (state = state * 1664525U + 1013904223U) / 65536U % bound; };
  for (int round = 0; round < 200; ++round) {
    std::string before, after, rebuilt_before, rebuilt_after;
    std::vector<char> a, b;
    for (unsigned i = draw(30); i > 0; --i) a.push_back(static_cast<char>('a' + draw(4)));
    for (unsigned i = draw(30); i > 0; --i) b.push_back(static_cast<char>('a' + draw(4)));
    for (char const c : a) before += std::string(1, c) + "\n";
    for (char const c : b) after += std::string(1, c) + "\n";
    std::size_t equal = 0;
    for (Line const& line : difference(before, after)) {
      if (line.change != Change::added) rebuilt_before += std::string(line.text) + "\n";
      if (line.change != Change::removed) rebuilt_after += std::string(line.text) + "\n";
      equal += line.change == Change::none ? 1U : 0U;
    }
    REQUIRE(rebuilt_before == before);
    REQUIRE(rebuilt_after == after);
    std::vector<std::vector<std::size_t>> longest(a.size() + 1, std::vector<std::size_t>(b.size() + 1, 0));
    for (std::size_t i = a.size(); i-- > 0;)
      for (std::size_t j = b.size(); j-- > 0;)
        longest[i][j] = a[i] == b[j] ? 1 + longest[i + 1][j + 1] : std::max(longest[i + 1][j], longest[i][j + 1]);
    REQUIRE(equal == longest[0][0]);
  }
}

TEST_CASE("difference: values that are only renumbered are equal", "[page]") {
  CHECK(compared("%0 = extent %x : i64\nuse %0\n", "%0 = constant : i64\n%1 = extent %x : i64\nuse %1\n") ==
        "+%0 = constant : i64\n %1 = extent %x : i64\n use %1\n");
}

TEST_CASE("difference: a loop around lines is two changes", "[page]") {
  CHECK(compared("a\nb\n", "for {\n  a\n  b\n}\n") == "+for {\n   a\n   b\n+}\n");
}

TEST_CASE("difference: an operand that is another value is a change", "[page]") {
  CHECK(compared("%0 = f\n%1 = g\nuse %0\n", "%0 = f\n%1 = g\nuse %1\n") == " %0 = f\n %1 = g\n-use %0\n+use %1\n");
  CHECK(compared("%0 = f\n%1 = g\nuse %0, %1\n", "%0 = f\n%1 = g\nuse %1, %1\n") ==
        " %0 = f\n %1 = g\n-use %0, %1\n+use %1, %1\n");
}

TEST_CASE("difference: names are compared as they are, and each function numbers its own values", "[page]") {
  CHECK(compared("use %a_1\n", "use %a_2\n") == "-use %a_1\n+use %a_2\n");
  CHECK(compared("use %7b\n", "use %8b\n") == "-use %7b\n+use %8b\n");
  CHECK(compared("function @f() {\n%0 = f\n}\nkernel @k() {\n%0 = g\nuse %0\n}\n",
                 "function @f() {\n%1 = f\n}\nkernel @k() {\n%0 = g\nuse %0\n}\n") ==
        " function @f() {\n %1 = f\n }\n kernel @k() {\n %0 = g\n use %0\n }\n");
}

TEST_CASE("difference: a text with too many changes is replaced between its equal ends", "[page]") {
  std::string before = "head\n", after = "head\n";
  for (int i = 0; i < max_changes; ++i) {
    before += fmt::format("old {}\n", i);
    after += fmt::format("new {}\n", i);
  }
  before += "tail\n", after += "tail\n";
  std::vector<Line> const lines = difference(before, after);
  REQUIRE(lines.size() == 2 + 2 * static_cast<std::size_t>(max_changes));
  CHECK(lines.front() == Line{Change::none, "head"});
  CHECK(lines[1].change == Change::removed);
  CHECK(lines[lines.size() - 2].change == Change::added);
  CHECK(lines.back() == Line{Change::none, "tail"});
}
