// Builds cache keys as text that people can read and compare: lines "field=value", in the order in which they were
// added.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::support {

/// Collects the fields of a key. A value of several lines gives one line per line, all with the field's name.
class KeyText {
 public:
  KeyText& add(std::string_view field, std::string_view value);
  KeyText& add(std::string_view field, std::int64_t value);
  [[nodiscard]] std::string const& str() const& { return text_; }
  [[nodiscard]] std::string str() && { return static_cast<std::string&&>(text_); }

 private:
  std::string text_;
};

/// Names a field in which two keys differ, with its values, "(absent)" where one key lacks it. Of a field of several
/// lines, it returns the first line that differs, with its number in the name ("ir:12").
struct KeyDifference {
  std::string field;
  std::string a;
  std::string b;
  friend bool operator==(KeyDifference const&, KeyDifference const&) = default;
};

std::vector<KeyDifference> key_differences(std::string_view a, std::string_view b);

/// Returns the first line of a field, or nothing if the key lacks it.
std::optional<std::string_view> key_field(std::string_view key, std::string_view field);

/// Prints one line per differing field, "architecture: sm_90a | sm_100a"; "the keys are equal" if none differs.
std::string explain_difference(std::string_view a, std::string_view b);

/// Returns 32 hexadecimal digits of the text's 128-bit hash.
std::string hash_hex(std::string_view text);

}  // namespace tegula::support
