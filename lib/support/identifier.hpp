// Names the text that may become an identifier in C++, in IR and in PTX.
#pragma once

#include <algorithm>
#include <string_view>

namespace tegula::support {

/// True for letters, digits and _ of ASCII, not starting with a digit; whatever the locale.
inline bool is_identifier(std::string_view text) {
  auto const is_digit = [](char c) { return c >= '0' && c <= '9'; };
  auto const is_allowed = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
  };
  return !text.empty() && !is_digit(text.front()) && std::all_of(text.begin(), text.end(), is_allowed);
}

}  // namespace tegula::support
