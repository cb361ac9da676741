// Describes the kernels of test/ir/target: their arguments, data for these, the expected results, and shapes for tests.
// The tests of the simulator, of code generation and of devices read this table.
//
// Plain data: the caller puts the bytes where its executor needs them. References are in double and computed row by
// row, so that a test can check a few rows of a large result.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "../../samples/support/compare.hpp"
#include "tegula/math/functions.hpp"
#include "tegula/support/element.hpp"
#include "tegula/support/extents.hpp"

namespace tegula::test {

/// Describes one argument: a row-major tensor without gaps, or a scalar.
struct TargetArgument {
  std::string_view name;
  bool output = false;
  Element element = Element::bf16;
  Extents extents;              ///< empty: a scalar
  std::vector<std::byte> data;  ///< of a tensor; of an output 0xFF, NaN in every float format
  double scalar = 0;
  bool updated = false;  ///< read and written: a launch begins with the data that the previous one left

  [[nodiscard]] bool is_tensor() const { return !extents.empty(); }
  /// Returns element i in row-major order: f32, a narrower float or an integer.
  [[nodiscard]] double number(std::int64_t i) const {
    int const unused = 64 - bits(element);
    std::uint64_t raw = 0;
    std::memcpy(&raw, data.data() + i * bytes(element), static_cast<std::size_t>(bytes(element)));
    if (is_integer(element)) return static_cast<double>(static_cast<std::int64_t>(raw << unused) >> unused);
    if (is_narrow_float(element)) return math::narrow_value(element, static_cast<std::uint16_t>(raw));
    return std::bit_cast<float>(static_cast<std::uint32_t>(raw));
  }
  /// Tells whether element i of an output holds its initial bytes, which in floats are a NaN.
  [[nodiscard]] bool unwritten(std::int64_t i) const {
    auto const first = data.begin() + i * bytes(element);
    return std::all_of(first, first + bytes(element), [](std::byte byte) { return byte == std::byte{0xFF}; });
  }
  void set_number(std::int64_t i, double number) {
    std::uint64_t const raw = is_integer(element)        ? static_cast<std::uint64_t>(static_cast<std::int64_t>(number))
                              : is_narrow_float(element) ? math::narrow_bits(element, number)
                                                         : std::bit_cast<std::uint32_t>(static_cast<float>(number));
    std::memcpy(data.data() + i * bytes(element), &raw, static_cast<std::size_t>(bytes(element)));
  }
};

/// Lists arguments in the order of the kernel's parameters.
using TargetArguments = std::vector<TargetArgument>;

/// Bounds the distance of an element from the reference.
struct TargetTolerance {
  double relative = 0;
  double absolute = 0;
  [[nodiscard]] double at(double reference) const { return absolute + relative * std::abs(reference); }
};

namespace target_detail {

/// Draws uniformly in [low, high), a pure function of seed and position.
inline void fill(TargetArgument& argument, std::uint64_t seed, double low, double high) {
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 0x7F4A7C15;
  for (std::int64_t i = 0, count = argument.extents.product(); i < count; ++i) {
    std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);  // splitmix64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z ^= z >> 31;
    argument.set_number(i, low + (high - low) * (static_cast<double>(z >> 11) * 0x1p-53));
  }
}
inline TargetArgument tensor(std::string_view name, Element element, Extents const& extents, bool output = false) {
  TargetArgument argument{name, output, element, extents, {}, 0};
  argument.data.resize(static_cast<std::size_t>(extents.product() * bytes(element)), std::byte{0xFF});
  return argument;
}
inline TargetArgument input(std::string_view name, Element element, Extents const& extents, std::uint64_t seed,
                            double low = -1, double high = 1) {
  TargetArgument argument = tensor(name, element, extents);
  fill(argument, seed, low, high);
  return argument;
}
inline TargetArgument number(std::string_view name, double value) { return {name, false, Element::f32, {}, {}, value}; }
/// Makes one i32 that is 0.
inline TargetArgument counter(std::string_view name) {
  TargetArgument argument = tensor(name, Element::i32, {1});
  std::fill(argument.data.begin(), argument.data.end(), std::byte{0});
  argument.updated = true;
  return argument;
}

// C (m, n) = A (m, k) * B (k, n); shape m, n, k.
inline TargetArguments gemm(Extents const& shape, std::uint64_t seed) {
  return {input("A", Element::bf16, {shape[0], shape[2]}, 2 * seed),
          input("B", Element::bf16, {shape[2], shape[1]}, 2 * seed + 1),
          tensor("C", Element::bf16, {shape[0], shape[1]}, true)};
}
inline std::vector<double> gemm_row(TargetArguments const& arguments, std::int64_t row) {
  TargetArgument const& a = arguments[0];
  TargetArgument const& b = arguments[1];
  std::int64_t const n = b.extents[1];
  std::vector<double> result(static_cast<std::size_t>(n), 0.0);
  for (std::int64_t k = 0; k < a.extents[1]; ++k) {
    double const factor = a.number(row * a.extents[1] + k);
    for (std::int64_t j = 0; j < n; ++j) result[static_cast<std::size_t>(j)] += factor * b.number(k * n + j);
  }
  return result;
}
/// Allows one rounding to bf16 (half an ulp is 2^-9 at worst), and the loss of sums of k products in the tensor cores'
/// f32.
inline TargetTolerance gemm_tolerance(Extents const& shape) {
  return {1.0 / 256, 1e-5 + 1e-6 * static_cast<double>(shape[2])};
}

// Y (rows, n) = softmax of the rows of X; shape rows, n.
inline TargetArguments softmax(Extents const& shape, std::uint64_t seed) {
  return {input("X", Element::f32, shape, seed, -6, 6), tensor("Y", Element::f32, shape, true)};
}
inline std::vector<double> softmax_row(TargetArguments const& arguments, std::int64_t row) {
  TargetArgument const& x = arguments[0];
  std::int64_t const n = x.extents[1];
  std::vector<double> result(static_cast<std::size_t>(n));
  for (std::int64_t j = 0; j < n; ++j) result[static_cast<std::size_t>(j)] = x.number(row * n + j);
  double const max = *std::max_element(result.begin(), result.end());
  double sum = 0;
  for (double& value : result) sum += value = std::exp(value - max);
  for (double& value : result) value /= sum;
  return result;
}
inline TargetTolerance softmax_tolerance(Extents const&) { return {1e-5, 1e-12}; }

// Y (rows, n) = layernorm of the rows of X; shape rows, n.
inline TargetArguments layernorm(Extents const& shape, std::uint64_t seed) {
  return {input("X", Element::bf16, shape, 3 * seed, -2, 3), input("Gamma", Element::bf16, {shape[1]}, 3 * seed + 1),
          input("Beta", Element::bf16, {shape[1]}, 3 * seed + 2), tensor("Y", Element::bf16, shape, true),
          number("eps", 1e-5)};
}
inline std::vector<double> layernorm_row(TargetArguments const& arguments, std::int64_t row) {
  TargetArgument const& x = arguments[0];
  std::int64_t const n = x.extents[1];
  std::vector<double> result(static_cast<std::size_t>(n));
  double mean = 0;
  for (std::int64_t j = 0; j < n; ++j) mean += result[static_cast<std::size_t>(j)] = x.number(row * n + j);
  mean /= static_cast<double>(n);
  double variance = 0;
  for (double const value : result) variance += (value - mean) * (value - mean);
  variance /= static_cast<double>(n);
  double const scale = 1 / std::sqrt(variance + arguments[4].scalar);
  for (std::int64_t j = 0; j < n; ++j) {
    double& value = result[static_cast<std::size_t>(j)];
    value = (value - mean) * scale * arguments[1].number(j) + arguments[2].number(j);
  }
  return result;
}
/// Allows one rounding to bf16, and f32 arithmetic on values up to 4 that may cancel.
inline TargetTolerance layernorm_tolerance(Extents const&) { return {1.0 / 256, 1e-5}; }

// O = softmax(Q * K^T / sqrt(width)) * V per head, all (heads, length, width); shape heads, length. The counter of
// tiles is 0 before each launch, and after it.
template <std::int64_t width>
TargetArguments attention(Extents const& shape, std::uint64_t seed) {
  Extents const whole = {shape[0], shape[1], width};
  return {input("Q", Element::bf16, whole, 3 * seed, -2, 2),
          input("K", Element::bf16, whole, 3 * seed + 1, -2, 2),
          input("V", Element::bf16, whole, 3 * seed + 2),
          tensor("O", Element::bf16, whole, true),
          number("scale", 1.4426950408889634 / std::sqrt(double{width})),
          counter("next")};
}
/// Computes row head * length + query. `causal`: keys after the query do not count.
inline std::vector<double> attention_row_of(TargetArguments const& arguments, std::int64_t row, bool causal) {
  std::int64_t const length = arguments[0].extents[1];
  std::int64_t const width = arguments[0].extents[2];
  std::int64_t const first = row / length * length;
  std::int64_t const keys = causal ? row - first + 1 : length;
  std::vector<double> weights(static_cast<std::size_t>(keys), 0.0);
  for (std::int64_t j = 0; j < keys; ++j) {
    double& score = weights[static_cast<std::size_t>(j)];
    for (std::int64_t d = 0; d < width; ++d)
      score += arguments[0].number(row * width + d) * arguments[1].number((first + j) * width + d);
    score *= arguments[4].scalar;
  }
  double const max = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (double& weight : weights) sum += weight = std::exp2(weight - max);
  std::vector<double> result(static_cast<std::size_t>(width), 0.0);
  for (std::int64_t j = 0; j < keys; ++j)
    for (std::int64_t d = 0; d < width; ++d)
      result[static_cast<std::size_t>(d)] +=
          weights[static_cast<std::size_t>(j)] / sum * arguments[2].number((first + j) * width + d);
  return result;
}
inline std::vector<double> attention_row(TargetArguments const& arguments, std::int64_t row) {
  return attention_row_of(arguments, row, false);
}
inline std::vector<double> attention_causal_row(TargetArguments const& arguments, std::int64_t row) {
  return attention_row_of(arguments, row, true);
}
/// Weights and results are rounded to bf16; values are below 1.
inline TargetTolerance attention_tolerance(Extents const&) { return {1.0 / 128, 4e-3}; }

}  // namespace target_detail

/// Describes one kernel of test/ir/target.
struct Target {
  std::string_view name;  ///< of the kernel, and of its file test/ir/target/<name>.tir
  std::string_view axes;  ///< the meaning of a shape
  TargetArguments (*arguments)(Extents const& shape, std::uint64_t seed) = nullptr;
  /// Computes one row along the last axis of the output, from the inputs.
  std::vector<double> (*row)(TargetArguments const& arguments, std::int64_t row) = nullptr;
  TargetTolerance (*tolerance)(Extents const& shape) = nullptr;
  std::vector<Extents> small;  ///< borders and trip counts of the rings (1, S-1, S, S+1, 2S+1) on one or two CTAs
  std::vector<Extents> large;  ///< for benches
};

inline std::vector<Target> const& targets() {
  using namespace target_detail;
  static std::vector<Target> const table = {
      {"gemm",
       "m n k",
       gemm,
       gemm_row,
       gemm_tolerance,
       {{128, 256, 64}, {40, 72, 8}, {128, 256, 192}, {136, 264, 256}, {200, 24, 312}, {256, 256, 576}},
       {{2048, 2048, 2048}, {4096, 4096, 4096}, {8192, 8192, 8192}}},
      {"softmax",
       "rows n",
       softmax,
       softmax_row,
       softmax_tolerance,
       {{0, 64}, {1, 4}, {4, 4096}, {5, 1000}, {8, 264}, {12, 256}, {16, 252}, {29, 100}},
       {{16384, 4096}, {65536, 4096}, {65536, 4000}}},
      {"layernorm",
       "rows n",
       layernorm,
       layernorm_row,
       layernorm_tolerance,
       {{0, 64}, {1, 8}, {8, 4096}, {9, 1000}, {16, 264}, {24, 256}, {32, 248}, {57, 104}},
       {{32768, 4096}, {131072, 4096}, {131072, 4000}}},
      {"gemm_m16",
       "m n k",
       gemm,
       gemm_row,
       gemm_tolerance,
       {{16, 32, 512}, {1, 8, 8}, {16, 96, 512}, {7, 40, 1032}, {16, 32, 2048}, {16, 24, 2560}, {5, 72, 1032}},
       {{16, 4096, 4096}, {16, 8192, 8192}, {16, 16384, 8192}, {16, 4096, 14336}}},
      {"attention",
       "heads length",
       attention<128>,
       attention_row,
       attention_tolerance,
       {{1, 1}, {1, 130}, {2, 256}, {1, 384}},
       {{256, 1024}, {64, 4096}, {16, 16384}}},
      {"attention_causal",
       "heads length",
       attention<128>,
       attention_causal_row,
       attention_tolerance,
       {{1, 1}, {1, 130}, {2, 256}, {1, 384}},
       {{256, 1024}, {64, 4096}, {16, 16384}}},
      {"attention_d64",
       "heads length",
       attention<64>,
       attention_row,
       attention_tolerance,
       {{1, 1}, {1, 130}, {2, 256}, {1, 384}},
       {{512, 1024}, {128, 4096}, {32, 16384}}},
      {"attention_causal_d64",
       "heads length",
       attention<64>,
       attention_causal_row,
       attention_tolerance,
       {{1, 1}, {1, 130}, {2, 256}, {1, 384}},
       {{512, 1024}, {128, 4096}, {32, 16384}}},
  };
  return table;
}

/// Returns the one output of a target's arguments.
inline std::size_t target_output(TargetArguments const& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].output) return i;
  return arguments.size();
}

/// Compares one row with the reference, in units of the tolerance.
inline void compare_row(samples::Comparison& all, TargetArgument const& output, std::int64_t row,
                        std::vector<double> const& reference, TargetTolerance const& tolerance) {
  std::int64_t at = row * static_cast<std::int64_t>(reference.size());
  for (double const wanted : reference) {
    all.add(at, output.number(at), wanted, tolerance.at(wanted), output.unwritten(at));
    ++at;
  }
}

/// Compares rows of the output with the reference: every step-th one from `first` on. Empty: all agree.
inline std::string target_error(Target const& target, Extents const& shape, TargetArguments const& arguments,
                                std::int64_t first = 0, std::int64_t step = 1) {
  TargetArgument const& output = arguments[target_output(arguments)];
  std::int64_t const width = output.extents.back();
  if (output.extents.product() == 0) return {};
  samples::Comparison all(1);
  for (std::int64_t row = first; row * width < output.extents.product(); row += step)
    compare_row(all, output, row, target.row(arguments, row), target.tolerance(shape));
  if (all.right()) return {};
  return fmt::format("{}: rows of {}: {}", target.name, width, all.str());
}

}  // namespace tegula::test
