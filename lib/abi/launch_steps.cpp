#include "abi/launch_steps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tegula/math/functions.hpp"
#include "tegula/support/error.hpp"

namespace tegula::abi {

std::int64_t apply(LaunchOp op, std::int64_t a, std::int64_t b, std::int64_t c) {
  switch (op) {
    case LaunchOp::add:
      return math::wrapping_add(a, b);
    case LaunchOp::sub:
      return math::wrapping_sub(a, b);
    case LaunchOp::mul:
      return math::wrapping_mul(a, b);
    case LaunchOp::div:
      return math::div(a, b);
    case LaunchOp::rem:
      return math::rem(a, b);
    case LaunchOp::min:
      return std::min(a, b);
    case LaunchOp::max:
      return std::max(a, b);
    case LaunchOp::ceil_div:
      return math::ceil_div(a, b);
    case LaunchOp::bit_and:
      return a & b;
    case LaunchOp::bit_or:
      return a | b;
    case LaunchOp::bit_xor:
      return a ^ b;
    case LaunchOp::eq:
      return a == b;
    case LaunchOp::ne:
      return a != b;
    case LaunchOp::lt:
      return a < b;
    case LaunchOp::le:
      return a <= b;
    case LaunchOp::gt:
      return a > b;
    case LaunchOp::ge:
      return a >= b;
    case LaunchOp::select:
      return a != 0 ? b : c;
    case LaunchOp::constant:
    case LaunchOp::extent:
    case LaunchOp::scalar:
    case LaunchOp::multiprocessors:
      break;
  }
  throw InternalError(fmt::format("launch program: step {} has no operands", static_cast<int>(op)));
}

}  // namespace tegula::abi
