// Reads the values of options by their types. Does not know the names of variables.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "support/options.hpp"

namespace tegula::support {

/// Reads a value, which is not empty, into the options; false: the value is not of the variable's grammar.
using ReadValue = bool (*)(std::string_view text, Options& options);

/// Names one value of an option that is one of several words.
template <class Value>
struct Word {
  std::string_view spelling;
  Value value;
};

inline constexpr Word<bool> on_or_off[] = {{"on", true}, {"off", false}};
inline constexpr Word<bool> one_or_zero[] = {{"1", true}, {"0", false}};
inline constexpr Word<bool> each_or_off[] = {{"each", true}, {"off", false}};
inline constexpr Word<bool> passes_or_off[] = {{"passes", true}, {"off", false}};
inline constexpr Word<CacheMode> cache_modes[] = {
    {"on", CacheMode::on}, {"off", CacheMode::off}, {"read-only", CacheMode::read_only}};
inline constexpr Word<Assembler> assemblers[] = {
    {"auto", Assembler::automatic}, {"driver", Assembler::driver}, {"ptxas", Assembler::ptxas}};
inline constexpr Word<NotePolicy> note_policies[] = {
    {"error", NotePolicy::error}, {"warn", NotePolicy::warn}, {"ignore", NotePolicy::ignore}};

/// Finds the value that a word names.
template <auto const& words>
constexpr auto find_word(std::string_view text) {
  std::optional<decltype(words[0].value)> found;
  for (auto const& word : words)
    if (word.spelling == text) found = word.value;
  return found;
}

/// Reads one of several words into a member.
template <auto member, auto const& words>
bool read_word(std::string_view text, Options& options) {
  auto const found = find_word<words>(text);
  if (found) options.*member = *found;
  return found.has_value();
}

/// Reads any text into a member.
template <auto member>
bool read_text(std::string_view text, Options& options) {
  options.*member = text;
  return true;
}

/// Reads a decimal number between two bounds.
std::optional<int> parse_integer(std::string_view text, int min, int max);

/// Reads such a number into a member.
template <auto member, int min, int max>
bool read_integer(std::string_view text, Options& options) {
  std::optional<int> const number = parse_integer(text, min, max);
  if (number) options.*member = *number;
  return number.has_value();
}

/// Reads a number of bytes, "4096", "64K", "512M" or "2G" (powers of 1024); "none" is the largest number. Nothing for
/// any other text.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

// Values with a form of their own.
bool read_dump(std::string_view text, Options& options);
bool read_arithmetic(std::string_view text, Options& options);
bool read_asserts(std::string_view text, Options& options);
bool read_checks(std::string_view text, Options& options);
bool read_simulate(std::string_view text, Options& options);
bool read_profile(std::string_view text, Options& options);
bool read_device(std::string_view text, Options& options);
bool read_cache_limit(std::string_view text, Options& options);
/// Checks the value alone: diagnostics.cpp reads it.
bool read_quiet(std::string_view text, Options& options);

}  // namespace tegula::support
