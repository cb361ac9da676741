// Reads tokens of the IR's text, one at a time. The parser owns the meaning. The few places that are not made of tokens
// (shapes, layouts) are read with the scan functions right after the token before them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "support/diagnostics.hpp"

namespace tegula::ir {

enum class TokenKind : std::uint8_t {
  end,
  identifier,
  value,        ///< %name; text without %
  symbol,       ///< @name or @"name"; text without @
  number,       ///< -1, 1.5e-3, 0x7fc0, -inf; inf and nan are identifiers
  string,       ///< decoded
  punctuation,  ///< one character, or ->
  error,        ///< text says what is wrong
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;
  std::size_t begin = 0;     ///< offset in the source
  bool starts_line = false;  ///< only blanks precede it on its line
};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  /// Skips blanks and comments and reads one token.
  Token next();
  /// Returns the offset at which the search for the next token begins; `rewind` goes back there.
  [[nodiscard]] std::size_t offset() const { return at_; }
  void rewind(std::size_t offset) { at_ = offset; }

  /// Scans one extent and its x: "128x" or "?x" (returns -1); nothing (and no move) when there is none. A number that
  /// is too large is the maximum int64.
  std::optional<std::int64_t> scan_extent();
  /// Scans text up to the '>' that closes the current bracket, which is not consumed; nothing when the source ends
  /// before.
  std::optional<std::string_view> scan_balanced();

  /// Returns the byte at an offset, 0 past the end.
  [[nodiscard]] char character(std::size_t offset) const { return offset < source_.size() ? source_[offset] : '\0'; }
  /// Returns the position; cheap when asked in ascending order.
  [[nodiscard]] support::TextPosition position(std::size_t offset) const;

 private:
  Token read();
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  void skip_blanks();
  std::string take_name();
  Token string_token(std::size_t begin);
  Token number_token(std::size_t begin);

  std::string_view source_;
  std::size_t at_ = 0;
  struct Line {
    std::size_t begin = 0;
    std::uint32_t number = 1;
  };
  mutable Line last_line_;
};

}  // namespace tegula::ir
