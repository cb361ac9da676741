// Joins words and numbers to one text. A part of the package, which includes nothing outside of its folder.
#pragma once

#include <sstream>
#include <string>

namespace operators {

/// Returns the parts one after another: text(name, " has ", count, " axes").
template <class... Part>
std::string text(Part const&... parts) {
  std::ostringstream joined;
  (joined << ... << parts);
  return joined.str();
}

}  // namespace operators
