// Names the enumerators of enumerations that no IR text spells.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace tegula::support {

/// Holds a name for each enumerator up to `last`. A row that is missing or out of order does not compile.
template <auto last>
class EnumNames {
 public:
  using Enum = decltype(last);
  static constexpr std::size_t count = static_cast<std::size_t>(last) + 1;
  struct Row {
    Enum value;
    std::string_view name;
  };

  consteval EnumNames(Row const (&rows)[count]) {
    for (std::size_t i = 0; i < count; ++i) {
      if (static_cast<std::size_t>(rows[i].value) != i) throw "rows must stand in the order of the enumeration";
      names_[i] = rows[i].name;
    }
  }
  /// Returns the name; "?" for a number that is not an enumerator.
  [[nodiscard]] constexpr std::string_view operator[](Enum value) const {
    auto const i = static_cast<std::size_t>(value);
    return i < count ? names_[i] : "?";
  }

 private:
  std::array<std::string_view, count> names_{};
};

}  // namespace tegula::support
