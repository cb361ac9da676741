// Refuses arguments that types alone do not show to be wrong.
#include <fmt/format.h>

#include "tegula/call/pack.hpp"
#include "tegula/support/error.hpp"

namespace tegula::call {

std::int64_t multiply_blocks(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product))
    throw UserError(fmt::format("launch: a grid of {} times {} blocks is negative or exceeds 64 bits", a, b));
  return product;
}

}  // namespace tegula::call
