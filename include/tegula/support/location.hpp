// Holds the place where a DSL value was written: the location class and nothing else.
#pragma once

#include <cstdint>

namespace tegula {

/// Names a place in the user's source: file, line and enclosing function of the call that made a value.
///
/// Every located DSL function takes `location where = location::current()` as its last parameter. It is a class, never
/// a bare int, so that no index argument can be swallowed by it. The strings have static storage duration.
class location {
 public:
  constexpr location() = default;
  constexpr location(char const* file, std::uint32_t line, char const* function = "")
      : file_(file), function_(function), line_(line) {}

  static constexpr location current(char const* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE(),
                                    char const* function = __builtin_FUNCTION()) {
    return {file, line, function};
  }

  [[nodiscard]] constexpr char const* file() const { return file_; }
  [[nodiscard]] constexpr std::uint32_t line() const { return line_; }
  [[nodiscard]] constexpr char const* function() const { return function_; }
  /// False for a value without a source line (made by a pass, or read from text without locations).
  [[nodiscard]] constexpr bool known() const { return line_ != 0; }

 private:
  char const* file_ = "";
  char const* function_ = "";
  std::uint32_t line_ = 0;
};

}  // namespace tegula
