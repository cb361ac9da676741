#include "abi/launch_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tegula/math/functions.hpp"
#include "tegula/support/error.hpp"

namespace tegula::abi {
namespace {

/// States how a step is computed; a leaf is not.
struct Step {
  LaunchOp op;
  std::int64_t (*compute)(std::int64_t a, std::int64_t b, std::int64_t c);
};

constexpr std::array steps = std::to_array<Step>({
    {LaunchOp::constant, nullptr},
    {LaunchOp::extent, nullptr},
    {LaunchOp::scalar, nullptr},
    {LaunchOp::add, [](std::int64_t a, std::int64_t b, std::int64_t) { return math::wrapping_add(a, b); }},
    {LaunchOp::sub, [](std::int64_t a, std::int64_t b, std::int64_t) { return math::wrapping_sub(a, b); }},
    {LaunchOp::mul, [](std::int64_t a, std::int64_t b, std::int64_t) { return math::wrapping_mul(a, b); }},
    {LaunchOp::div, [](std::int64_t a, std::int64_t b, std::int64_t) { return math::div(a, b); }},
    {LaunchOp::rem, [](std::int64_t a, std::int64_t b, std::int64_t) { return math::rem(a, b); }},
    {LaunchOp::min, [](std::int64_t a, std::int64_t b, std::int64_t) { return std::min(a, b); }},
    {LaunchOp::max, [](std::int64_t a, std::int64_t b, std::int64_t) { return std::max(a, b); }},
    {LaunchOp::ceil_div, [](std::int64_t a, std::int64_t b, std::int64_t) { return math::ceil_div(a, b); }},
    {LaunchOp::bit_and, [](std::int64_t a, std::int64_t b, std::int64_t) { return a & b; }},
    {LaunchOp::bit_or, [](std::int64_t a, std::int64_t b, std::int64_t) { return a | b; }},
    {LaunchOp::bit_xor, [](std::int64_t a, std::int64_t b, std::int64_t) { return a ^ b; }},
    {LaunchOp::eq, [](std::int64_t a, std::int64_t b, std::int64_t) { return static_cast<std::int64_t>(a == b); }},
    {LaunchOp::ne, [](std::int64_t a, std::int64_t b, std::int64_t) { return static_cast<std::int64_t>(a != b); }},
    {LaunchOp::lt, [](std::int64_t a, std::int64_t b, std::int64_t) { return static_cast<std::int64_t>(a < b); }},
    {LaunchOp::le, [](std::int64_t a, std::int64_t b, std::int64_t) { return static_cast<std::int64_t>(a <= b); }},
    {LaunchOp::gt, [](std::int64_t a, std::int64_t b, std::int64_t) { return static_cast<std::int64_t>(a > b); }},
    {LaunchOp::ge, [](std::int64_t a, std::int64_t b, std::int64_t) { return static_cast<std::int64_t>(a >= b); }},
    {LaunchOp::select, [](std::int64_t a, std::int64_t b, std::int64_t c) { return a != 0 ? b : c; }},
    {LaunchOp::multiprocessors, nullptr},
});

/// Tells whether the table has a row for each step, in the order of the steps.
constexpr bool lists_all() {
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (static_cast<std::size_t>(steps[i].op) != i || is_leaf(steps[i].op) != (steps[i].compute == nullptr))
      return false;
  return steps.back().op == LaunchOp::multiprocessors;
}
static_assert(lists_all(), "each LaunchOp must have its row, in the order of the enumeration");

}  // namespace

std::int64_t apply(LaunchOp op, std::int64_t a, std::int64_t b, std::int64_t c) {
  if (is_leaf(op)) throw InternalError(fmt::format("launch program: step {} has no operands", static_cast<int>(op)));
  return steps.at(static_cast<std::size_t>(op)).compute(a, b, c);
}

}  // namespace tegula::abi
