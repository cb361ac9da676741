// Lists the compile options that passes read, once: code that writes, reads or compares all of them goes through here.
#pragma once

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "tegula/abi/compile_options.hpp"

namespace tegula::abi {

inline constexpr std::array<std::string_view, 3> choice_names{"automatic", "off", "on"};

inline constexpr std::array<std::string_view, 2> strategy_names{"shared", "device"};
inline constexpr std::array<std::string_view, 3> granularity_names{"warp", "warpgroup", "cta"};

/// Lists the spellings of an enumeration that is an option.
constexpr auto const& names_of(Choice) { return choice_names; }
constexpr auto const& names_of(ProfileStrategy) { return strategy_names; }
constexpr auto const& names_of(ProfileGranularity) { return granularity_names; }

/// Finds the value of that spelling.
template <class Enumeration>
constexpr std::optional<Enumeration> value_named(std::string_view text) {
  auto const& names = names_of(Enumeration{});
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == text) return static_cast<Enumeration>(i);
  return std::nullopt;
}

inline std::string to_text(std::string const& value) { return value; }
inline std::string to_text(int value) { return fmt::to_string(value); }
inline std::string to_text(bool value) { return value ? "1" : "0"; }
inline std::string to_text(std::int64_t value) { return fmt::to_string(value); }
inline std::string to_text(std::uint64_t value) { return fmt::to_string(value); }
template <class Enumeration>
requires(std::is_enum_v<Enumeration>) std::string to_text(Enumeration value) {
  return std::string(names_of(value)[static_cast<std::size_t>(value)]);
}

/// Calls visit(name, meaning, fields...) for each, with the field of each of the options: a number, a bool, an
/// enumeration with names_of or a text; 0, automatic and empty mean "as written" and "the compiler's".
template <class Visit, class... Options>
constexpr void for_each_pass_option_of(Visit visit, Options&... options) {
  visit("warps", "warps per CTA", options.warps...);
  visit("plan", "the kernel's plan, as explain prints it", options.plan...);
  visit("stages", "depth of every loop's buffers", options.stages...);
  visit("distance", "iterations that every loop's copies run ahead", options.distance...);
  visit("unroll", "iterations of every loop that become one", options.unroll...);
  visit("split", "CTAs of a cluster that share a product's loop", options.split...);
  visit("share", "CTAs of a cluster that share what they fetch", options.share...);
  visit("exactly", "warps and stages as given, or the kernel is refused", options.exactly...);
  visit("exact", "every rounding as written", options.exact...);
  visit("contraction", "products that only meet sums are not rounded", options.contraction...);
  visit("ranges", "a GPU checks stated ranges of loaded scalars", options.ranges...);
  visit("epilogue", "separate code for the last iterations of loops whose copies run ahead", options.epilogue...);
  visit("persistence", "CTAs are persistent", options.persistence...);
  visit("specialization", "copies run in separate warps", options.specialization...);
  visit("serpentine", "loops of products run backwards in every second tile", options.serpentine...);
  visit("lines", "code names the user's functions and lines", options.lines...);
  visit("check_bounds", "asserts that indices and boxes are inside of their tensors", options.checks.bounds...);
  visit("check_overflow", "asserts that arithmetic on indices does not wrap", options.checks.overflow...);
  visit("check_nan", "asserts that finite floats give finite results", options.checks.nan...);
  visit("profile_user", "records of the kernel's author are kept", options.profile.user...);
  visit("profile_compiler", "records of every role and phase that the passes make", options.profile.compiler...);
  visit("profile_strategy", "where a warp keeps its records while it runs", options.profile.strategy...);
  visit("profile_granularity", "the warps that record", options.profile.granularity...);
  visit("profile_circular", "the last records of a warp are kept, not the first", options.profile.circular...);
  visit("profile_slots", "slots of each warp", options.profile.slots...);
  visit("profile_rows", "rows of the buffer of records", options.profile.rows...);
  visit("profile_first_cta", "the first CTA that records", options.profile.first_cta...);
  visit("profile_cta_step", "distance of the CTAs that record", options.profile.cta_step...);
  visit("profile_cta_count", "CTAs that record", options.profile.cta_count...);
  visit("profile_warps", "mask of the warps that record", options.profile.warps...);
}

/// Does the same for one set of options.
template <class Options, class Visit>
constexpr void for_each_pass_option(Options& options, Visit visit) {
  for_each_pass_option_of(visit, options);
}

/// Lists the options of a call that differ from the compiler's own choices: "warps = 4, split = 2". Equal options have
/// equal texts. Target, architecture and facts, which follow from the call, are left out.
std::string changed_options(CompileOptions const& options);

}  // namespace tegula::abi
