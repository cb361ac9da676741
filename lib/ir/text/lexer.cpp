#include "ir/text/lexer.hpp"

#include <algorithm>
#include <limits>

namespace tegula::ir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string shown(char c) {
  static constexpr char hex[] = "0123456789abcdef";
  auto const byte = static_cast<unsigned char>(c);
  if (byte >= 0x20 && byte < 0x7f) return std::string("'") + c + "'";
  return std::string("byte 0x") + hex[byte >> 4] + hex[byte & 15];
}

}  // namespace

void Lexer::skip_blanks() {
  while (at_ < source_.size()) {
    char const c = source_[at_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at_;
    } else if (c == '/' && peek(1) == '/') {
      at_ = std::min(source_.find('\n', at_), source_.size());
    } else {
      return;
    }
  }
}

std::string Lexer::take_name() {
  std::size_t const begin = at_;
  while (at_ < source_.size() && is_name(source_[at_])) ++at_;
  return std::string(source_.substr(begin, at_ - begin));
}

Token Lexer::next() {
  std::size_t const from = at_;
  skip_blanks();
  bool const starts_line = from == 0 || source_.substr(from, at_ - from).find('\n') != std::string_view::npos;
  Token token = read();
  token.starts_line = starts_line;
  return token;
}

Token Lexer::read() {
  std::size_t const begin = at_;
  if (at_ >= source_.size()) return {TokenKind::end, {}, begin};
  char const c = source_[at_];
  if (is_letter(c)) return {TokenKind::identifier, take_name(), begin};
  if (is_digit(c) || (c == '-' && (is_digit(peek(1)) || source_.substr(at_, 4) == "-inf"))) return number_token(begin);
  if (c == '"') return string_token(begin);
  if (c == '%' || c == '@') {
    ++at_;
    if (c == '@' && peek() == '"') {
      Token token = string_token(begin);
      if (token.kind == TokenKind::string) token.kind = TokenKind::symbol;
      return token;
    }
    std::string name = take_name();
    if (name.empty()) return {TokenKind::error, std::string("no name after ") + c, begin};
    return {c == '%' ? TokenKind::value : TokenKind::symbol, std::move(name), begin};
  }
  if (c == '-' && peek(1) == '>') {
    at_ += 2;
    return {TokenKind::punctuation, "->", begin};
  }
  ++at_;
  if (std::string_view("(){}[]<>,:=").find(c) != std::string_view::npos)
    return {TokenKind::punctuation, std::string(1, c), begin};
  return {TokenKind::error, "unexpected " + shown(c), begin};
}

Token Lexer::number_token(std::size_t begin) {
  if (peek() == '-') ++at_;
  if (is_letter(peek())) return {TokenKind::number, "-" + take_name(), begin};
  while (at_ < source_.size()) {
    char const c = source_[at_];
    bool const sign = (c == '+' || c == '-') && (source_[at_ - 1] == 'e' || source_[at_ - 1] == 'E');
    if (!is_name(c) && !sign) break;
    ++at_;
  }
  return {TokenKind::number, std::string(source_.substr(begin, at_ - begin)), begin};
}

Token Lexer::string_token(std::size_t begin) {
  ++at_;
  std::string text;
  while (at_ < source_.size() && source_[at_] != '\n') {
    char const c = source_[at_++];
    if (c == '"') return {TokenKind::string, std::move(text), begin};
    if (c == '\0') return {TokenKind::error, "a zero byte in a string", at_ - 1};
    if (c != '\\') {
      text += c;
      continue;
    }
    std::size_t const escape = at_ - 1;
    char const kind = peek();
    ++at_;
    if (kind == 'n')
      text += '\n';
    else if (kind == 't')
      text += '\t';
    else if (kind == '"' || kind == '\\')
      text += kind;
    else if (kind == 'x' && hex_digit(peek()) >= 0 && hex_digit(peek(1)) >= 0 && (peek() != '0' || peek(1) != '0')) {
      text += static_cast<char>(hex_digit(peek()) * 16 + hex_digit(peek(1)));
      at_ += 2;
    } else {
      at_ = std::min(at_, source_.size());
      return {TokenKind::error, "unknown escape in a string", escape};
    }
  }
  return {TokenKind::error, "a string without its closing quote", begin};
}

std::optional<std::int64_t> Lexer::scan_extent() {
  std::size_t end = at_;
  if (peek() == '?') {
    if (peek(1) != 'x') return std::nullopt;
    at_ += 2;
    return -1;
  }
  std::int64_t value = 0;
  while (end < source_.size() && is_digit(source_[end])) {
    int const digit = source_[end++] - '0';
    constexpr auto max = std::numeric_limits<std::int64_t>::max();
    value = value > (max - digit) / 10 ? max : value * 10 + digit;
  }
  if (end == at_ || end >= source_.size() || source_[end] != 'x') return std::nullopt;
  at_ = end + 1;
  return value;
}

std::optional<std::string_view> Lexer::scan_balanced() {
  int depth = 0;
  for (std::size_t end = at_; end < source_.size() && source_[end] != '\n'; ++end) {
    char const c = source_[end];
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == ']' || c == '}') {
      if (depth == 0) {
        if (c != '>') return std::nullopt;
        std::string_view const text = source_.substr(at_, end - at_);
        at_ = end;
        return text;
      }
      --depth;
    }
  }
  return std::nullopt;
}

support::TextPosition Lexer::position(std::size_t offset) const {
  offset = std::min(offset, source_.size());
  if (offset < last_line_.begin) last_line_ = {};
  for (std::size_t end = source_.find('\n', last_line_.begin); end < offset; end = source_.find('\n', last_line_.begin))
    last_line_ = {end + 1, last_line_.number + 1};
  return {last_line_.number, static_cast<std::uint32_t>(offset - last_line_.begin) + 1};
}

}  // namespace tegula::ir
