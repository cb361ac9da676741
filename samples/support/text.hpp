#pragma once
// Joins words and numbers to one text; needs the standard library alone.

#include <sstream>
#include <string>

namespace samples {

/// Returns the parts one after another: text(rows, " x ", columns).
template <class... Part>
std::string text(Part const&... parts) {
  std::ostringstream joined;
  (joined << ... << parts);
  return joined.str();
}

}  // namespace samples
