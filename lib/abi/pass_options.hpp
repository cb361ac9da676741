// Lists the compile options that passes read, once: code that writes, reads or compares all of them goes through here.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "tegula/abi/compile_options.hpp"

namespace tegula::abi {

inline constexpr std::array<std::string_view, 3> choice_names{"automatic", "off", "on"};

constexpr std::string_view name(Choice choice) { return choice_names[static_cast<std::size_t>(choice)]; }
constexpr std::optional<Choice> choice_of(std::string_view text) {
  for (std::size_t i = 0; i < choice_names.size(); ++i)
    if (choice_names[i] == text) return static_cast<Choice>(i);
  return std::nullopt;
}

inline std::string to_text(int value) { return std::to_string(value); }
inline std::string to_text(bool value) { return value ? "1" : "0"; }
inline std::string to_text(Choice choice) { return std::string(name(choice)); }

/// Calls visit(name, meaning, field) for each, a number, a bool or a Choice; 0 and automatic mean "as written" and "the
/// compiler's".
template <class Options, class Visit>
constexpr void for_each_pass_option(Options& options, Visit visit) {
  visit("warps", "warps per CTA", options.warps);
  visit("stages", "depth of every loop's buffers", options.stages);
  visit("distance", "iterations that every loop's copies run ahead", options.distance);
  visit("unroll", "iterations of every loop that become one", options.unroll);
  visit("split", "CTAs of a cluster that share a product's loop", options.split);
  visit("exactly", "warps and stages as given, or the kernel is refused", options.exactly);
  visit("exact", "every rounding as written", options.exact);
  visit("ranges", "a GPU checks stated ranges of loaded scalars", options.ranges);
  visit("epilogue", "separate code for the last iterations of loops whose copies run ahead", options.epilogue);
  visit("persistence", "CTAs are persistent", options.persistence);
  visit("specialization", "copies run in separate warps", options.specialization);
  visit("lines", "code names the user's functions and lines", options.lines);
  visit("check_bounds", "asserts that indices and boxes are inside of their tensors", options.checks.bounds);
  visit("check_overflow", "asserts that arithmetic on indices does not wrap", options.checks.overflow);
  visit("check_nan", "asserts that finite floats give finite results", options.checks.nan);
}

}  // namespace tegula::abi
