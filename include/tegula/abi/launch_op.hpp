// Lists the steps of launch programs, which the host evaluates at every launch (compiled_kernel.hpp).
#pragma once

#include <cstdint>

namespace tegula {

/// Lists the kinds of steps of a launch program; operands name earlier steps. All values are 64-bit integers (a
/// condition is 0 or 1). Arithmetic wraps; division by zero gives 0, its remainder the dividend.
enum class LaunchOp : std::uint8_t {
  constant,  ///< value
  extent,    ///< extent of axis b of parameter a
  scalar,    ///< integer scalar parameter a
  add,
  sub,
  mul,
  div,
  rem,
  min,
  max,
  ceil_div,
  bit_and,
  bit_or,
  bit_xor,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  select,           ///< a ? b : c
  multiprocessors,  ///< of the device that runs the kernel; the host answers host_multiprocessors
};

/// True for steps whose a, b and c do not name earlier steps.
constexpr bool is_leaf(LaunchOp op) {
  return op == LaunchOp::constant || op == LaunchOp::extent || op == LaunchOp::scalar ||
         op == LaunchOp::multiprocessors;
}

}  // namespace tegula
