#pragma once
// Compares results with a reference, place by place, for samples, tests and benches; needs the standard library alone.
//
// A place is wrong if its error is above the bound, one side alone is a NaN or an infinity, or nothing was written
// there. A comparison of nothing, or with a reference of NaNs alone, is not right either: it would hold for any kernel.

#include "text.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace samples {

/// Fills outputs before a kernel runs: in floats a NaN that no arithmetic makes, in integers a number as good as any.
template <class T>
inline constexpr unsigned char poison_byte = std::is_integral_v<T> ? 0xA5 : 0xFF;

template <class T>
T poison() {
  std::array<unsigned char, sizeof(T)> bytes;
  bytes.fill(poison_byte<T>);
  return std::bit_cast<T>(bytes);
}

template <class T>
bool is_poison(T const& value) {
  for (unsigned char const byte : std::bit_cast<std::array<unsigned char, sizeof(T)>>(value))
    if (byte != poison_byte<T>) return false;
  return true;
}

class Comparison {
 public:
  /// Errors up to `bound` are right; 0: equal values, where zeros of both signs are equal, and NaNs.
  explicit Comparison(double bound = 0) : bound_(bound) {}

  /// Compares one place. Its error is |found - expected| / unit.
  template <class T>
  void add(std::int64_t place, T const& found, double expected, double unit = 1) {
    add(place, static_cast<double>(found), expected, unit, is_poison(found));
  }
  void add(std::int64_t place, double found, double expected, double unit, bool unwritten) {
    ++places_;
    if (!std::isnan(expected)) ++numbers_;
    if (found == expected) return;
    if (!unwritten && std::isnan(found) && std::isnan(expected)) return;
    double error = std::numeric_limits<double>::infinity();
    if (unwritten)
      ++unwritten_;
    else if (std::isnan(found) || std::isnan(expected))
      ++nan_;
    else if (std::isinf(found) || std::isinf(expected))
      ++infinite_;
    else if (double const measured = std::abs(found - expected) / unit; measured >= 0)  // false for a NaN
      error = measured;
    if (error > error_) error_ = error, worst_place_ = place;
    if (error <= bound_) return;
    if (wrong_++ == 0 || place < first_) first_ = place, found_ = found, expected_ = expected;
  }

  /// Adds the comparison of another part of the same result, with the same bound.
  void join(Comparison const& part) {
    if (part.wrong_ != 0 && (wrong_ == 0 || part.first_ < first_))
      first_ = part.first_, found_ = part.found_, expected_ = part.expected_;
    if (part.error_ > error_) error_ = part.error_, worst_place_ = part.worst_place_;
    places_ += part.places_, numbers_ += part.numbers_, wrong_ += part.wrong_;
    nan_ += part.nan_, infinite_ += part.infinite_, unwritten_ += part.unwritten_;
  }

  [[nodiscard]] bool right() const { return wrong_ == 0 && numbers_ != 0; }
  [[nodiscard]] double error() const { return error_; }  ///< greatest; infinite where there is none to measure
  [[nodiscard]] double bound() const { return bound_; }
  [[nodiscard]] std::int64_t places() const { return places_; }        ///< compared
  [[nodiscard]] std::int64_t wrong() const { return wrong_; }          ///< of them; each of the three below is
  [[nodiscard]] std::int64_t nan() const { return nan_; }              ///< NaN on one side alone
  [[nodiscard]] std::int64_t infinite() const { return infinite_; }    ///< an infinity on one side, or of another sign
  [[nodiscard]] std::int64_t unwritten() const { return unwritten_; }  ///< still poisoned
  [[nodiscard]] std::int64_t first_wrong() const { return wrong_ == 0 ? -1 : first_; }
  [[nodiscard]] std::int64_t worst_place() const { return worst_place_; }

  /// Prints the result: "3 of 96 places are wrong (1 NaN, 0 infinite, 2 unwritten), the first at 7: found nan, expected
  /// 0.25; ..."
  [[nodiscard]] std::string str() const {
    if (places_ == 0) return "nothing was compared";
    std::string found = text(places_, " places");
    if (wrong_ != 0)
      found = text(wrong_, " of ", found, " are wrong (", nan_, " NaN, ", infinite_, " infinite, ", unwritten_,
                   " unwritten), the first at ", first_, ": found ", number("%.9g", found_), ", expected ",
                   number("%.9g", expected_));
    else if (numbers_ == 0)
      return text(found, ", but the reference is NaN at each of them");
    return text(found, "; error ", number("%.1e", error_), " (at most ", number("%.1e", bound_), ")");
  }
  /// Returns nothing if right, else `str()`.
  [[nodiscard]] std::string failure() const { return right() ? std::string() : str(); }

 private:
  static std::string number(char const* format, double value) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
  }

  double bound_, error_ = 0, found_ = 0, expected_ = 0;
  std::int64_t places_ = 0, numbers_ = 0, wrong_ = 0, nan_ = 0, infinite_ = 0, unwritten_ = 0, first_ = -1,
               worst_place_ = -1;
};

/// Compares all of a result with errors |found - expected| / (floor + |expected|): floor 0 is relative, floor 1 about
/// absolute.
template <class T>
Comparison compare(std::vector<T> const& found, std::vector<double> const& expected, double floor, double bound) {
  if (found.size() != expected.size())
    throw std::invalid_argument(
        text("compare: ", found.size(), " results, but ", expected.size(), " references; pass one for each"));
  Comparison all(bound);
  for (std::size_t i = 0; i < found.size(); ++i)
    all.add(static_cast<std::int64_t>(i), found[i], expected[i], floor + std::abs(expected[i]));
  return all;
}

}  // namespace samples
