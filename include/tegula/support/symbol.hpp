// Interns strings: names, messages and callees inside op structs.
#pragma once

#include <string_view>

namespace tegula {

/// Holds an interned, immutable, NUL-terminated string. Copying is copying a pointer; equal text is the same pointer
/// for the life of the process. Thread-safe.
class Symbol {
 public:
  constexpr Symbol() = default;
  explicit Symbol(std::string_view text);

  [[nodiscard]] constexpr std::string_view view() const { return text_; }
  [[nodiscard]] constexpr char const* c_str() const { return text_; }
  [[nodiscard]] constexpr bool empty() const { return *text_ == '\0'; }
  friend bool operator==(Symbol a, Symbol b) { return a.view() == b.view(); }
  friend bool operator<(Symbol a, Symbol b) { return a.view() < b.view(); }

 private:
  char const* text_ = "";
};

}  // namespace tegula
