#include "support/html.hpp"

namespace tegula::support {

std::string escaped_html(std::string_view text) {
  std::string result;
  result.reserve(text.size() + text.size() / 16);
  for (char const c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      case '\n':
      case '\t':
        result += c;
        break;
      default:
        result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
    }
  }
  return result;
}

}  // namespace tegula::support
