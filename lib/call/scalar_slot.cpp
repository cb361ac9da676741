// Converts the numbers of a call to the elements of a kernel's parameters, and refuses those that do not fit.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "support/float_range.hpp"
#include "tegula/call/typed_argument.hpp"
#include "tegula/support/error.hpp"

namespace tegula::call {
namespace {

/// Rounds to odd as a double: when inexact, to the neighbour with the last bit set. Rounding that to a narrow float is
/// rounding the number once.
double to_odd(long double x) {
  auto const nearest = static_cast<double>(x);
  if (std::isnan(x) || std::isinf(nearest) || nearest == x) return nearest;
  auto bits = std::bit_cast<std::uint64_t>(nearest);
  if (std::fabs(static_cast<long double>(nearest)) > std::fabs(x)) --bits;
  return std::bit_cast<double>(bits | 1);
}

template <class T>
std::int64_t slot_of(T value) {
  std::int64_t slot = 0;
  std::memcpy(&slot, &value, sizeof value);  // the low bytes: little-endian, as everywhere in argument slots
  return slot;
}

}  // namespace

std::int64_t float_slot(char const* kernel, int number, long double x, Element wanted) {
  support::FloatRange const range = support::float_range(wanted);
  if (std::isfinite(x) && std::fabs(x) >= range.beyond && !is_f8(wanted))
    throw UserError(
        fmt::format("{}: argument {}: {:g} does not fit {}, which ends at {:.6g}; pass an infinity if one is wanted",
                    kernel, number, x, name(wanted), range.max));
  switch (wanted) {
    case Element::f64:
      return slot_of(static_cast<double>(x));
    case Element::f32:
      return slot_of(static_cast<float>(x));
    case Element::f16:
      return slot_of(f16_bits(to_odd(x)));
    case Element::bf16:
      return slot_of(bf16_bits(to_odd(x)));
    case Element::e4m3:
      return slot_of(e4m3_bits(to_odd(x)));
    case Element::e5m2:
      return slot_of(e5m2_bits(to_odd(x)));
    default:
      throw InternalError(fmt::format("a number becomes a float, but {} is none", name(wanted)));
  }
}

void refuse_integer(char const* kernel, int number, bool negative, std::uint64_t magnitude, Element wanted) {
  auto const max = static_cast<std::uint64_t>(max_integer(wanted));
  throw UserError(fmt::format("{}: argument {}: {}{} does not fit {}, which holds {} to {}", kernel, number,
                              negative ? "-" : "", magnitude, name(wanted), min_integer(wanted), max));
}

}  // namespace tegula::call
