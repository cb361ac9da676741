// Knows what BERT's basic tokeniser makes of each code point; unicode_table.inc is its table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace minilm {

/// Replaces characters one by one: accents go, letters become small, characters are taken apart (NFD).
class Unicode {
 public:
  Unicode();
  /// Says how a character of a cleaned text separates words.
  enum class Kind : std::uint8_t { part, space, dropped, alone };
  [[nodiscard]] Kind kind(char32_t character) const;
  /// Appends the characters that stand in place of one.
  void replace(char32_t character, std::u32string& to) const;
  /// Tells whether a character that was appended is a word of its own.
  [[nodiscard]] bool punctuation(char32_t character) const;

 private:
  struct Range {
    char32_t first, last;
  };
  static bool contains(std::vector<Range> const& ranges, char32_t character);
  std::vector<Range> dropped_, spaces_, alone_, punctuation_;
  std::unordered_map<char32_t, std::u32string> others_;
};

/// Decodes UTF-8. Throws std::runtime_error with the place of the first byte that is not.
std::u32string decoded(std::string_view text);
/// Appends a character as UTF-8.
void encode(char32_t character, std::string& to);

}  // namespace minilm
