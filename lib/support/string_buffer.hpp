// Builds text: printers, dumps and messages append to one of these. It handles indentation but does not format values
// (callers use fmt or the overloads below).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tegula::support {

/// Appends text to a string it owns; the indent is put in front of each line that is not empty.
class StringBuffer {
 public:
  StringBuffer() = default;
  explicit StringBuffer(int indent_width) : indent_width_(indent_width) {}

  StringBuffer& operator<<(std::string_view text);
  StringBuffer& operator<<(char character) { return *this << std::string_view(&character, 1); }
  StringBuffer& operator<<(std::int64_t value);
  StringBuffer& operator<<(std::uint64_t value);
  StringBuffer& operator<<(int value) { return *this << static_cast<std::int64_t>(value); }
  StringBuffer& operator<<(unsigned value) { return *this << static_cast<std::uint64_t>(value); }
  StringBuffer& operator<<(bool value) { return *this << std::string_view(value ? "true" : "false"); }
  StringBuffer& operator<<(char const* text) { return *this << std::string_view(text); }
  StringBuffer& operator<<(std::string const& text) { return *this << std::string_view(text); }
  template <class T>
  StringBuffer& operator<<(T*) = delete;  // a pointer in a text makes two runs differ

  void indent() { ++depth_; }
  void dedent() { --depth_; }

  [[nodiscard]] std::string const& str() const& { return text_; }
  [[nodiscard]] std::string str() && { return static_cast<std::string&&>(text_); }
  [[nodiscard]] bool empty() const { return text_.empty(); }

 private:
  std::string text_;
  int indent_width_ = 2;
  int depth_ = 0;
};

/// Quotes text: double quotes around it; quote, backslash, newline and tab escaped, other control bytes as \xHH.
std::string quoted(std::string_view text);

/// Joins values: "a, b, c".
template <class Range>
std::string joined(Range const& parts, std::string_view separator) {
  std::string text;
  bool first = true;
  for (auto const& part : parts) {
    if (!first) text += separator;
    first = false;
    text += part;
  }
  return text;
}

}  // namespace tegula::support
