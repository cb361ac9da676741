// Converts the numbers of a call to the elements of a kernel's parameters, and refuses those that do not fit.
#include <fmt/format.h>

#include <bit>
#include <cmath>

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

}  // namespace

std::int64_t float_slot(char const* kernel, int number, long double x, Element wanted) {
  if (!is_float(wanted))
    throw InternalError(fmt::format("a number becomes a float, but {} is not a float", name(wanted)));
  support::FloatRange const range = support::float_range(wanted);
  if (std::isfinite(x) && std::fabs(x) >= range.beyond && info(wanted).overflow == Overflow::infinity)
    throw UserError(
        fmt::format("{}: argument {}: {:g} does not fit {}, which ends at {:.6g}; pass an infinity if one is wanted",
                    kernel, number, x, name(wanted), range.max));
  double const rounded = wanted == Element::f64 ? static_cast<double>(x) : to_odd(x);
  return static_cast<std::int64_t>(float_bits(wanted, rounded));
}

void refuse_integer(char const* kernel, int number, bool negative, std::uint64_t magnitude, Element wanted) {
  auto const max = static_cast<std::uint64_t>(max_integer(wanted));
  throw UserError(fmt::format("{}: argument {}: {}{} does not fit {}, which holds {} to {}", kernel, number,
                              negative ? "-" : "", magnitude, name(wanted), min_integer(wanted), max));
}

}  // namespace tegula::call
