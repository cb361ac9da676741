// Checks products of all elements, shapes and kinds of operands on any executor against float64.
#pragma once

#include <cmath>

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// Says how the operands of a product come to be: loaded, transposed tiles of a stored transpose, or converted.
enum class Operands : std::uint8_t { loaded, transposed, converted };

template <class T>
using dot_result_t = std::conditional_t<std::is_same_v<T, double>, double,
                                        std::conditional_t<std::is_integral_v<T>, std::int32_t, float>>;
/// The element from which an operand is converted without loss.
template <class T>
using dot_source_t = std::conditional_t<std::is_integral_v<T>, std::int32_t, float>;

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
  if constexpr (std::is_unsigned_v<T>) return static_cast<double>(draw_below(256));
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
  double const step = std::is_same_v<T, double> ? 0x1p-52 : std::is_integral_v<T> ? 0 : 0x1p-23;
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

/// Multiplies operands of two elements, in blocks of 32 rows, 48 columns and 64 of K.
template <class A, class B>
inline constexpr auto mixed_product = [] {
  return kernel("mixed_product", [](in<A, 2> a, in<B, 2> b, out<dot_result_t<A>, 2> y) {
    auto g = grid_over(y, shape<64, 48>);
    tile sum = loop(ceil_div(a.extent(1), 64), zeros<dot_result_t<A>>(shape<64, 48>), [&](auto k, auto acc) {
      return dot(load(a, shape<64, 64>, g[0], k), trans(load(b, shape<48, 64>, g[1], k)), acc);
    });
    store(y, shape<64, 48>, sum, g[0], g[1]);
  });
}();

template <class A, class B>
void check_mixed_product(Executor on) {
  constexpr std::int64_t rows = 100, columns = 70, depth = 130;
  Array<A, 2> a({rows, depth});
  Array<B, 2> b({columns, depth});
  for (A& x : a.values) x = A(draw_factor<A>());
  for (B& x : b.values) x = B(draw_factor<B>());
  Array<dot_result_t<A>, 2> y({rows, columns});
  TEGULA_CHECK_RUN(on, (mixed_product<A, B>), a, b, y);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      double exact = 0;  // of whole numbers
      for (std::int64_t k = 0; k < depth; ++k)
        exact += static_cast<double>(a[i * depth + k]) * static_cast<double>(b[j * depth + k]);
      INFO("element " << i << ", " << j << " on " << name(on));
      REQUIRE(static_cast<double>(y[i * columns + j]) == exact);
    }
}

/// Multiplies floats of which tensor cores drop bits, in a named precision.
template <class P>
inline constexpr auto product_in = [] {
  return kernel("product_in", [](in<float, 2> a, in<float, 2> b, out<float, 2> y) {
    auto g = grid_over(y, shape<64, 32>);
    tile sum = loop(ceil_div(a.extent(1), 32), zeros<float>(shape<64, 32>), [&](auto k, auto acc) {
      return dot(load(a, shape<64, 32>, g[0], k), load(b, shape<32, 32>, k, g[1]), acc, P());
    });
    store(y, shape<64, 32>, sum, g[0], g[1]);
  });
}();

/// Checks the error bound of a precision: each product is off by at most 2^-bits of its size.
template <class P>
void check_product_in(Executor on, int bits) {
  constexpr std::int64_t rows = 70, columns = 50, depth = 90;
  Array<float, 2> a({rows, depth}), b({depth, columns}), y({rows, columns});
  for (float& x : a.values) x = static_cast<float>(draw_factor<float>());
  for (float& x : b.values) x = static_cast<float>(draw_factor<float>());
  a[3 * depth + 5] = std::numeric_limits<float>::infinity();  // row 3 is infinite or NaN, no other
  TEGULA_CHECK_RUN(on, (product_in<P>), a, b, y);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      double exact = 0, size = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        double const term = static_cast<double>(a[i * depth + k]) * static_cast<double>(b[k * columns + j]);
        exact += term;
        size += std::abs(term);
      }
      INFO("element " << i << ", " << j << " on " << name(on));
      if (i == 3)
        REQUIRE_FALSE(std::isfinite(y[i * columns + j]));
      else
        REQUIRE(std::abs(static_cast<double>(y[i * columns + j]) - exact) <=
                (static_cast<double>(depth) * 0x1p-23 + std::ldexp(1.0, -bits)) * size);
    }
}

/// Multiplies batches of matrices, three at a time, and adds the products of the blocks of K.
template <class T, std::int64_t M, std::int64_t N, std::int64_t K>
inline constexpr auto batched_product = [] {
  return kernel("batched_product", [](in<T, 3> a, in<T, 3> b, out<dot_result_t<T>, 3> y) {
    auto g = grid_over(y, shape<3, M, N>);
    tile sum = loop(ceil_div(a.extent(2), K), zeros<dot_result_t<T>>(shape<3, M, N>), [&](auto k, auto acc) {
      return dot(load(a, shape<3, M, K>, g[0], g[1], k), load(b, shape<3, K, N>, g[0], k, g[2]), acc);
    });
    store(y, shape<3, M, N>, sum, g[0], g[1], g[2]);
  });
}();

template <class T, std::int64_t M, std::int64_t N, std::int64_t K>
void check_batched_product(Executor on) {
  constexpr std::int64_t batch = 5, rows = M + 3, columns = N - 2, depth = 2 * K + 1;
  Array<T, 3> a({batch, rows, depth}), b({batch, depth, columns});
  for (T& x : a.values) x = T(draw_factor<T>());
  for (T& x : b.values) x = T(draw_factor<T>());
  Array<dot_result_t<T>, 3> y({batch, rows, columns});
  TEGULA_CHECK_RUN(on, (batched_product<T, M, N, K>), a, b, y);
  for (std::int64_t n = 0; n < batch; ++n)
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        double exact = 0, size = 0;
        for (std::int64_t k = 0; k < depth; ++k) {
          double const term = static_cast<double>(a[(n * rows + i) * depth + k]) *
                              static_cast<double>(b[(n * depth + k) * columns + j]);
          exact += term;
          size += std::abs(term);
        }
        INFO("matrix " << n << ", element " << i << ", " << j << " on " << name(on));
        REQUIRE(std::abs(static_cast<double>(y[(n * rows + i) * columns + j]) - exact) <=
                static_cast<double>(depth) * 0x1p-23 * size);
      }
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
  check_dots_of<std::uint8_t, Operands::loaded>(on);
  check_dots_of<std::uint8_t, Operands::converted>(on);
  check_mixed_product<std::uint8_t, std::int8_t>(on);
  check_mixed_product<std::int8_t, std::uint8_t>(on);
}

/// Products of named precisions, and of batches.
inline void check_named_and_batched_dots(Executor on) {
  check_product_in<Tf32>(on, 9);
  check_product_in<Tf32x3>(on, 19);
  check_batched_product<bf16, 64, 32, 32>(on);
  check_batched_product<float, 8, 24, 5>(on);
}

}  // namespace tegula::test
