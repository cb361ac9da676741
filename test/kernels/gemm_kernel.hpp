// Writes the product of the design's first page as tile IR of any shape, with its launch data, for tests of the passes.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "support/host_tensor.hpp"
#include "support/module.hpp"
#include "tegula/abi/compile_options.hpp"

namespace tegula::test {

struct GemmElements {
  Element a = Element::bf16, b = Element::bf16, c = Element::bf16;
  [[nodiscard]] Element sum() const { return dot_accumulator(a); }
};

/// Describes tiles of m x n, K in blocks of k, so many stages (0: none asked for).
struct GemmShape {
  int m = 128, n = 32, k = 16, stages = 0;
  bool trans_b = false;           ///< B is stored N x K
  GemmElements elements{};        ///< a product of f32 is taken as tf32
  Element stored_a = elements.a;  ///< of the tensor; the kernel casts
};

inline std::string gemm_text(GemmShape const& shape) {
  auto const put = [&](std::string text) {
    auto const all = [&](std::string const& name, std::string const& value) {
      for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size())
        text.replace(at, name.size(), value);
    };
    all("$M", fmt::to_string(shape.m)), all("$N", fmt::to_string(shape.n)), all("$K", fmt::to_string(shape.k));
    all("$S", fmt::to_string(shape.stages));
    GemmElements const& of = shape.elements;
    all("$stored", std::string(name(shape.stored_a)));
    all("$a", std::string(name(of.a))), all("$b", std::string(name(of.b))), all("$c", std::string(name(of.c)));
    all("$sum", std::string(name(of.sum())));
    all("$precision", of.a == Element::f32 ? " {precision = tf32}" : "");
    return text;
  };
  std::string const straight = "    %b = load %B, %at, %column : tile<$Kx$Nx$b>\n";
  std::string const swapped =
      "    %bt = load %B, %column, %at : tile<$Nx$Kx$b>\n"
      "    %b = trans %bt {permutation = [1, 0]} : tile<$Kx$Nx$b>\n";
  std::string const as_stored = "    %a = load %A, %row, %at : tile<$Mx$Kx$a>\n";
  std::string const converted =
      "    %stored = load %A, %row, %at : tile<$Mx$Kx$stored>\n"
      "    %a = cast %stored : tile<$Mx$Kx$a>\n";
  return put(
      "tegula-ir 1\n\n"
      "kernel @gemm(%A: in tensor<?x?x$stored>, %B: in tensor<?x?x$b>, %bias: in tensor<?x$sum>, "
      "%C: out tensor<?x?x$c>) {\n"
      "  %depth = extent %A {axis = 1} : i64\n"
      "  %rows = extent %C : i64\n"
      "  %columns = extent %C {axis = 1} : i64\n"
      "  %zero = constant {value = 0 : i64} : i64\n"
      "  %one = constant {value = 1 : i64} : i64\n"
      "  %m = constant {value = $M : i64} : i64\n"
      "  %n = constant {value = $N : i64} : i64\n"
      "  %k = constant {value = $K : i64} : i64\n"
      "  %g0 = ceil_div %columns, %n : i64\n"
      "  %g1 = ceil_div %rows, %m : i64\n"
      "  grid %g0, %g1\n"
      "  %b0 = block_index : i64\n"
      "  %b1 = block_index {axis = 1} : i64\n"
      "  %row = mul %b1, %m : i64\n"
      "  %column = mul %b0, %n : i64\n"
      "  %trips = ceil_div %depth, %k : i64\n"
      "  %none = constant {value = 0 : $sum} : tile<$Mx$Nx$sum>\n"
      "  %acc = for %i = %zero to %trips step %one carry (%sum = %none) {stages = $S} : tile<$Mx$Nx$sum> {\n"
      "    %at = mul %i, %k : i64\n" +
      (shape.stored_a == shape.elements.a ? as_stored : converted) + (shape.trans_b ? swapped : straight) +
      "    %next = dot %a, %b, %sum$precision : tile<$Mx$Nx$sum>\n"
      "    yield %next\n"
      "  }\n"
      "  %d = load %bias, %column : tile<$Nx$sum>\n"
      "  %d1 = expand_dims %d {axes = [0]} : tile<1x$Nx$sum>\n"
      "  %d2 = broadcast %d1 : tile<$Mx$Nx$sum>\n"
      "  %sum1 = add %acc, %d2 : tile<$Mx$Nx$sum>\n"
      "  %relu = max %sum1, %none : tile<$Mx$Nx$sum>\n"
      "  %out = cast %relu : tile<$Mx$Nx$c>\n"
      "  store %C, %out, %row, %column\n"
      "  return\n"
      "}\n");
}

inline ir::Module gemm_module(GemmShape const& shape) { return module_of(gemm_text(shape)); }

/// Returns the facts that the launcher finds of dense, aligned tensors.
inline CompileOptions gemm_options() {
  CompileOptions options;
  options.target = tegula::Target::cuda;
  options.architecture = "sm_90a";
  options.facts.assign(4, {true, true});
  return options;
}

/// Numbers whose sums of products are exact.
struct GemmData {
  HostTensor a, b, bias, c;
  bool trans_b;
  GemmData(std::int64_t m, std::int64_t n, std::int64_t k, bool transposed = false, GemmElements const& elements = {})
      : a(elements.a, {m, k}),
        b(elements.b, transposed ? Extents{n, k} : Extents{k, n}),
        bias(elements.sum(), {n}),
        c(elements.c, {m, n}),
        trans_b(transposed) {
    double const unit = is_integer(elements.a) ? 1 : 0.5;
    std::mt19937_64 random(static_cast<std::uint64_t>(m * 31 + n * 7 + k));
    for (HostTensor* tensor : {&a, &b, &bias})
      for (std::int64_t i = 0; i < tensor->count(); ++i)
        tensor->set_number(i, static_cast<double>(static_cast<std::int64_t>(random() % 9) - 4) * unit);
  }
  sim::Arguments arguments() { return {a.view(), b.view(), bias.view(), c.view()}; }
  /// Names the first element that is not the rounded float64 result; empty: none.
  [[nodiscard]] std::string wrong() const {
    std::int64_t const m = c.extents()[0], n = c.extents()[1], k = a.extents()[1];
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = bias(j);
        for (std::int64_t x = 0; x < k; ++x) sum += a(i, x) * (trans_b ? b(j, x) : b(x, j));
        double const expected = ir::to_double(ir::make_constant(c.element(), std::max(sum, 0.0)));
        if (c(i, j) != expected) return fmt::format("{}, {}: {} but should be {}", i, j, c(i, j), expected);
      }
    return {};
  }
};

}  // namespace tegula::test
