// Checks products of all elements, shapes and kinds of operands on any executor against float64.
#pragma once

#include <cmath>

#include "support/indexed_kernels.hpp"

namespace tegula::test {

/// Says how the operands of a product come to be: loaded, transposed tiles of a stored transpose, or converted.
enum class Operands : std::uint8_t { loaded, transposed, converted };

template <class T>
using dot_result_t = std::conditional_t<std::is_same_v<T, double>, double,
                                        std::conditional_t<std::is_same_v<T, std::int8_t>, std::int32_t, float>>;
/// The element from which an operand is converted without loss.
template <class T>
using dot_source_t = std::conditional_t<std::is_same_v<T, std::int8_t>, std::int32_t, float>;

/// Multiplies matrices block by block in a loop with two stages.
template <class T, Operands operands, std::int64_t M, std::int64_t N, std::int64_t K>
inline constexpr auto product_of = [] {
  using Source = std::conditional_t<operands == Operands::converted, dot_source_t<T>, T>;
  return kernel("product_of", [](in<Source, 2> a, in<Source, 2> b, out<dot_result_t<T>, 2> y) {
    auto g = grid_over(y, shape<M, N>);
    constexpr bool turned = operands == Operands::transposed;
    auto const depth = ceil_div(a.extent(turned ? 0 : 1), K);
    tile sum = loop(
        depth, zeros<dot_result_t<T>>(shape<M, N>),
        [&](auto k, auto acc) {
          if constexpr (turned)
            return dot(trans(load(a, shape<K, M>, k, g[0])), trans(load(b, shape<N, K>, g[1], k)), acc);
          else if constexpr (operands == Operands::converted)
            return dot(cast<T>(load(a, shape<M, K>, g[0], k)), cast<T>(load(b, shape<K, N>, k, g[1])), acc);
          else
            return dot(load(a, shape<M, K>, g[0], k), load(b, shape<K, N>, k, g[1]), acc);
        },
        stages<2>);
    store(y, shape<M, N>, sum, g[0], g[1]);
  });
}();

/// Draws numbers that every element holds exactly, so that only sums are rounded; of f32 and f64 all bits count.
template <class T>
double draw_factor() {
  if constexpr (std::is_same_v<T, float>)
    return static_cast<float>(static_cast<double>(indexed_engine()()) * 0x1p-63 - 1);
  if constexpr (std::is_same_v<T, double>) return static_cast<double>(indexed_engine()()) * 0x1p-63 - 1;
  return static_cast<double>(draw_below(17) - 8);
}

template <class T, Operands operands, std::int64_t M, std::int64_t N, std::int64_t K>
void check_dot_of(Executor on) {
  using Source = std::conditional_t<operands == Operands::converted, dot_source_t<T>, T>;
  constexpr bool turned = operands == Operands::transposed;
  constexpr std::int64_t rows = 2 * M - 1, columns = N + 3, depth = 2 * K + 1;
  Array<Source, 2> a({turned ? depth : rows, turned ? rows : depth});
  Array<Source, 2> b({turned ? columns : depth, turned ? depth : columns});
  for (Source& x : a.values) x = Source(draw_factor<std::conditional_t<operands == Operands::converted, Source, T>>());
  for (Source& x : b.values) x = Source(draw_factor<std::conditional_t<operands == Operands::converted, Source, T>>());
  Array<dot_result_t<T>, 2> y({rows, columns});
  TEGULA_CHECK_RUN(on, (product_of<T, operands, M, N, K>), a, b, y);
  double const step = std::is_same_v<T, double> ? 0x1p-52 : std::is_same_v<T, std::int8_t> ? 0 : 0x1p-23;
  auto const factor = [](auto value) { return static_cast<double>(static_cast<T>(value)); };
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      double exact = 0, size = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        double const term =
            factor(a[turned ? k * rows + i : i * depth + k]) * factor(b[turned ? j * depth + k : k * columns + j]);
        exact += term;
        size += std::abs(term);
      }
      INFO("element " << i << ", " << j << " of blocks of " << M << "x" << N << "x" << K << " on " << name(on));
      REQUIRE(std::abs(static_cast<double>(y[i * columns + j]) - exact) <= static_cast<double>(depth) * step * size);
    }
}

/// Shapes of which some fill instructions of tensor cores and others do not.
template <class T, Operands operands>
void check_dots_of(Executor on) {
  check_dot_of<T, operands, 64, 64, 32>(on);
  check_dot_of<T, operands, 8, 24, 5>(on);
  check_dot_of<T, operands, 1, 64, 16>(on);
}

/// Products of elements for which tensor cores have no instruction, and of the others in shapes that fill none.
inline void check_dots(Executor on) {
  check_dots_of<float, Operands::loaded>(on);
  check_dots_of<float, Operands::transposed>(on);
  check_dots_of<double, Operands::loaded>(on);
  check_dots_of<double, Operands::converted>(on);
  check_dots_of<bf16, Operands::loaded>(on);
  check_dots_of<bf16, Operands::converted>(on);
  check_dots_of<std::int8_t, Operands::transposed>(on);
  check_dot_of<f16, Operands::transposed, 24, 1, 48>(on);
  check_dot_of<e4m3, Operands::loaded, 16, 8, 8>(on);
}

}  // namespace tegula::test
