// Checks text against FileCheck's syntax: CHECK, -NEXT, -SAME, -EMPTY, -NOT, -DAG, -LABEL and -COUNT-n, with
// {{regex}}, [[NAME:regex]] and [[NAME]]. Runs of blanks match runs of blanks. Regular expressions are ECMAScript's.
#pragma once

#include <string>
#include <string_view>

namespace tegula::test {

/// Holds the outcome of file_check: if not ok, the message names the directive, its line and where the search began.
struct FileCheckResult {
  bool ok = false;
  std::string message;
  explicit operator bool() const { return ok; }
};

/// Runs the directives found in checks (lines that hold "<prefix>:" or "<prefix>-NEXT:" and so on) over input.
/// A text without any directive fails, and so does a malformed one.
[[nodiscard]] FileCheckResult file_check(std::string_view input, std::string_view checks,
                                         std::string_view prefix = "CHECK");

}  // namespace tegula::test
