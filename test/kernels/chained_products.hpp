// Defines a loop whose two products read one copied tile, once as trans(k) and once as k: S = Q K^T, O += S K.
// Attention backward and latent attention do so.
#pragma once

#include <fmt/format.h>

#include <string>

#include "support/host_tensor.hpp"
#include "support/module.hpp"

namespace tegula::test {

struct ChainShape {
  int rows = 64, keys = 32, width = 64, stages = 2;  ///< Q is rows x width a CTA, K keys x width an iteration
  Element element = Element::bf16;                   ///< a product of f32 is taken as tf32
};

inline std::string chain_text(ChainShape const& shape) {
  std::string const e(name(shape.element)), m = fmt::to_string(shape.rows), n = fmt::to_string(shape.keys),
                                            d = fmt::to_string(shape.width);
  std::string const precision = shape.element == Element::f32 ? " {precision = tf32}" : "";
  std::string const weights = shape.element == Element::f32
                                  ? "    %p = add %s, %nothing : tile<" + m + "x" + n + "xf32>\n"
                                  : "    %p = cast %s : tile<" + m + "x" + n + "x" + e + ">\n";
  return fmt::format(
      "tegula-ir 1\n"
      "\n"
      "kernel @chain(%Q: in tensor<?x?x{e}>, %K: in tensor<?x?x{e}>, %O: out tensor<?x?xf32>) {{\n"
      "  %zero = constant {{value = 0 : i64}} : i64\n"
      "  %one = constant {{value = 1 : i64}} : i64\n"
      "  %m = constant {{value = {m} : i64}} : i64\n"
      "  %n = constant {{value = {n} : i64}} : i64\n"
      "  %queries = extent %O : i64\n"
      "  %g0 = ceil_div %queries, %m : i64\n"
      "  grid %g0\n"
      "  %b0 = block_index : i64\n"
      "  %row = mul %b0, %m : i64\n"
      "  %q = load %Q, %row, %zero : tile<{m}x{d}x{e}>\n"
      "  %keys = extent %K : i64\n"
      "  %trips = ceil_div %keys, %n : i64\n"
      "  %nothing = constant {{value = 0 : f32}} : tile<{m}x{n}xf32>\n"
      "  %none = constant {{value = 0 : f32}} : tile<{m}x{d}xf32>\n"
      "  %o = for %i = %zero to %trips step %one carry (%o0 = %none) {{stages = {stages}}} : tile<{m}x{d}xf32> {{\n"
      "    %at = mul %i, %n : i64\n"
      "    %k = load %K, %at, %zero : tile<{n}x{d}x{e}>\n"
      "    %kt = trans %k {{permutation = [1, 0]}} : tile<{d}x{n}x{e}>\n"
      "    %s = dot %q, %kt, %nothing{precision} : tile<{m}x{n}xf32>\n"
      "{weights}    %o1 = dot %p, %k, %o0{precision} : tile<{m}x{d}xf32>\n"
      "    yield %o1\n"
      "  }}\n"
      "  store %O, %o, %row, %zero\n"
      "  return\n"
      "}}\n",
      fmt::arg("e", e), fmt::arg("m", m), fmt::arg("n", n), fmt::arg("d", d), fmt::arg("stages", shape.stages),
      fmt::arg("precision", precision), fmt::arg("weights", weights));
}

/// Draws small integers, all of whose sums are exact in every element.
struct ChainData {
  HostTensor q, k, o;
  ChainData(std::int64_t queries, std::int64_t keys, ChainShape const& shape)
      : q(shape.element, {queries, shape.width}),
        k(shape.element, {keys, shape.width}),
        o(Element::f32, {queries, shape.width}) {
    for (std::int64_t i = 0; i < q.count(); ++i) q.set_number(i, i * 7 % 11 == 0 ? 1 - i % 3 : 0);
    for (std::int64_t i = 0; i < k.count(); ++i) k.set_number(i, i * 5 % 13 < 2 ? i % 2 * 2 - 1 : 0);
  }
  sim::Arguments arguments() { return {q.view(), k.view(), o.view()}; }
  /// Names the first element that is not exact; empty: none.
  [[nodiscard]] std::string wrong() const {
    std::int64_t const width = q.extents()[1];
    for (std::int64_t i = 0; i < q.extents()[0]; ++i) {
      std::vector<double> expected(static_cast<std::size_t>(width), 0);
      for (std::int64_t j = 0; j < k.extents()[0]; ++j) {
        double score = 0;
        for (std::int64_t d = 0; d < width; ++d) score += q(i, d) * k(j, d);
        for (std::int64_t d = 0; d < width; ++d) expected[static_cast<std::size_t>(d)] += score * k(j, d);
      }
      for (std::int64_t d = 0; d < width; ++d)
        if (!(o(i, d) == expected[static_cast<std::size_t>(d)]))
          return fmt::format("{}, {}: {} but should be {}", i, d, o(i, d), expected[static_cast<std::size_t>(d)]);
    }
    return {};
  }
};

}  // namespace tegula::test
