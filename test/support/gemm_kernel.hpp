// The product of the design's first page as tile IR of any shape, with what a launch gives it, for tests of the passes.
#pragma once

#include <algorithm>
#include <string>

#include "support/host_tensor.hpp"
#include "support/module.hpp"
#include "tegula/support/compile_options.hpp"

namespace tegula::test {

/// Tiles of m x n, K in blocks of k, so many stages (0: none asked for).
struct GemmShape {
  int m = 128, n = 32, k = 16, stages = 0;
  bool trans_b = false;  ///< B is stored N x K
};

inline std::string gemm_text(GemmShape const& shape) {
  auto const put = [&](std::string text) {
    auto const all = [&](std::string const& name, std::string const& value) {
      for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size())
        text.replace(at, name.size(), value);
    };
    all("$M", std::to_string(shape.m)), all("$N", std::to_string(shape.n)), all("$K", std::to_string(shape.k));
    all("$S", std::to_string(shape.stages));
    return text;
  };
  std::string const straight = "    %b = load %B, %at, %column : tile<$Kx$Nxbf16>\n";
  std::string const swapped =
      "    %bt = load %B, %column, %at : tile<$Nx$Kxbf16>\n"
      "    %b = trans %bt {permutation = [1, 0]} : tile<$Kx$Nxbf16>\n";
  return put(
      "tegula-ir 1\n\n"
      "kernel @gemm(%A: in tensor<?x?xbf16>, %B: in tensor<?x?xbf16>, %bias: in tensor<?xf32>, "
      "%C: out tensor<?x?xbf16>) {\n"
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
      "  %none = constant {value = 0 : f32} : tile<$Mx$Nxf32>\n"
      "  %acc = for %i = %zero to %trips step %one carry (%sum = %none) {stages = $S} : tile<$Mx$Nxf32> {\n"
      "    %at = mul %i, %k : i64\n"
      "    %a = load %A, %row, %at : tile<$Mx$Kxbf16>\n" +
      (shape.trans_b ? swapped : straight) +
      "    %next = dot %a, %b, %sum : tile<$Mx$Nxf32>\n"
      "    yield %next\n"
      "  }\n"
      "  %d = load %bias, %column : tile<$Nxf32>\n"
      "  %d1 = expand_dims %d {axes = [0]} : tile<1x$Nxf32>\n"
      "  %d2 = broadcast %d1 : tile<$Mx$Nxf32>\n"
      "  %sum1 = add %acc, %d2 : tile<$Mx$Nxf32>\n"
      "  %relu = max %sum1, %none : tile<$Mx$Nxf32>\n"
      "  %out = cast %relu : tile<$Mx$Nxbf16>\n"
      "  store %C, %out, %row, %column\n"
      "  return\n"
      "}\n");
}

inline ir::Module gemm_module(GemmShape const& shape) { return module_of(gemm_text(shape)); }

/// What the launcher finds of dense, aligned tensors.
inline CompileOptions gemm_options() {
  CompileOptions options;
  options.target = tegula::Target::cuda;
  options.architecture = "sm_90a";
  options.facts.assign(4, {true, true});
  return options;
}

/// Numbers whose sums of products are exact in f32.
struct GemmData {
  HostTensor a, b, bias, c;
  bool trans_b;
  GemmData(std::int64_t m, std::int64_t n, std::int64_t k, bool transposed = false)
      : a(Element::bf16, {m, k}),
        b(Element::bf16, transposed ? Extents{n, k} : Extents{k, n}),
        bias(Element::f32, {n}),
        c(Element::bf16, {m, n}),
        trans_b(transposed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(m * 31 + n * 7 + k));
    for (HostTensor* tensor : {&a, &b, &bias})
      for (std::int64_t i = 0; i < tensor->count(); ++i)
        tensor->set_number(i, static_cast<double>(static_cast<std::int64_t>(random() % 9) - 4) / 2);
  }
  sim::Arguments arguments() { return {a.view(), b.view(), bias.view(), c.view()}; }
  /// The first element that is not the rounded float64 result; empty: none.
  [[nodiscard]] std::string wrong() const {
    std::int64_t const m = c.extents()[0], n = c.extents()[1], k = a.extents()[1];
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = bias(j);
        for (std::int64_t x = 0; x < k; ++x) sum += a(i, x) * (trans_b ? b(j, x) : b(x, j));
        double const expected = ir::to_double(ir::make_constant(Element::bf16, std::max(sum, 0.0)));
        if (c(i, j) != expected)
          return std::to_string(i) + ", " + std::to_string(j) + ": " + std::to_string(c(i, j)) + " but should be " +
                 std::to_string(expected);
      }
    return {};
  }
};

}  // namespace tegula::test
