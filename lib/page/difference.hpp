// Compares two texts of IR line by line.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tegula::page {

enum class Change : std::uint8_t { none, removed, added };

/// Holds one line of a comparison, without its newline.
struct Line {
  Change change = Change::none;
  std::string_view text;
  friend bool operator==(Line const&, Line const&) = default;
};

/// Splits a text at newlines; a newline at its end begins no line.
std::vector<std::string_view> lines_of(std::string_view text);

/// Compares two texts by their longest common subsequence of lines. Indentation is not compared: a pass may put a loop
/// around ops. Numbers of values (%7) are not compared one by one, since a new op changes the numbers of all later
/// values. Lines that differ by numbers alone are equal if one renaming of numbers makes all of them equal; the first
/// line that breaks it is a change. Of equal lines, the later text is given.
///
///   before           after             lines
///   %0 = extent %x   %0 = constant 1     + %0 = constant 1
///   use %0           %1 = extent %x        %1 = extent %x
///                    use %1                use %1
///
/// The views point into the two texts. Texts with more than max_changes changed lines are compared coarsely: the lines
/// between equal beginnings and equal ends are all removed and added.
std::vector<Line> difference(std::string_view before, std::string_view after);

inline constexpr int max_changes = 3000;

}  // namespace tegula::page
