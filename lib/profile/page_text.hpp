// Holds the page's fixed text: style and script. The data stand between head and tail.
#pragma once

#include <string_view>

namespace tegula::profiling {

extern std::string_view const page_style;
extern std::string_view const page_script;

}  // namespace tegula::profiling
