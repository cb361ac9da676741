// Holds the page's fixed text: style and script.
#pragma once

#include <string_view>

namespace tegula::page {

extern std::string_view const style;
extern std::string_view const script;

}  // namespace tegula::page
