#include "support/string_buffer.hpp"

#include <charconv>

namespace tegula::support {
namespace {

template <class Integer>
std::string_view decimal(Integer value, char (&digits)[24]) {
  auto const result = std::to_chars(digits, digits + sizeof digits, value);
  return {digits, static_cast<std::size_t>(result.ptr - digits)};
}

}  // namespace

StringBuffer& StringBuffer::operator<<(std::string_view text) {
  while (!text.empty()) {
    std::size_t const end = text.find('\n');
    std::string_view const line = text.substr(0, end == std::string_view::npos ? text.size() : end + 1);
    bool const at_line_start = text_.empty() || text_.back() == '\n';
    if (at_line_start && line.front() != '\n' && depth_ > 0)
      text_.append(static_cast<std::size_t>(depth_) * static_cast<std::size_t>(indent_width_), ' ');
    text_ += line;
    text.remove_prefix(line.size());
  }
  return *this;
}

StringBuffer& StringBuffer::operator<<(std::int64_t value) {
  char digits[24];
  return *this << decimal(value, digits);
}

StringBuffer& StringBuffer::operator<<(std::uint64_t value) {
  char digits[24];
  return *this << decimal(value, digits);
}

std::string quoted(std::string_view text) {
  static constexpr char hex[] = "0123456789abcdef";
  std::string result = "\"";
  for (char const character : text) {
    auto const byte = static_cast<unsigned char>(character);
    switch (character) {
      case '"':
        result += "\\\"";
        break;
      case '\\':
        result += "\\\\";
        break;
      case '\n':
        result += "\\n";
        break;
      case '\t':
        result += "\\t";
        break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          result += "\\x";
          result += hex[byte >> 4];
          result += hex[byte & 15];
        } else {
          result += character;
        }
    }
  }
  return result += '"';
}

}  // namespace tegula::support
