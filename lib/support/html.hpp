// Escapes text for HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace tegula::support {

/// Replaces the characters that HTML and SVG reserve, in text and in quoted attributes. Control characters become
/// blanks, except newlines and tabs.
std::string escaped_html(std::string_view text);

}  // namespace tegula::support
