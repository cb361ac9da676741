// Multiplies rows that index tiles name, on any executor: of a left operand, of a right one, of both, and along the
// axis that the product sums over.
#pragma once

#include <cmath>
#include <random>
#include <string>

#include "support/catch.hpp"
#include "support/executors.hpp"

namespace tegula::test {

/// Computes c[i, j] = sum over k of a[left[i], k] * b[right[j], k]. Rows outside of the tensors are zeros.
template <class T, bool of_left, bool of_right, int M = 64, int N = 64, int K = 64, int Stages = 3>
inline constexpr auto rows_of_operands = kernel("rows_of_operands", [](in<T, 2> a, in<T, 2> b, in<int, 1> left,
                                                                       in<int, 1> right, out<float, 2> c) {
  auto g = grid_over(c, shape<M, N>);
  tile rows = expand_dims(load(left, shape<M>, g[0]), axis<1>);
  tile columns = expand_dims(load(right, shape<N>, g[1]), axis<1>);
  tile sums = loop(
      ceil_div(a.extent(1), K), zeros<float>(shape<M, N>),
      [&](auto k, auto sum) {
        tile along = iota<int>(shape<1, K>, axis<1>) + cast<int>(k * K);
        auto x = [&] {
          if constexpr (of_left) return tile(gather(a, rows, along));
          if constexpr (!of_left) return tile(load(a, shape<M, K>, g[0], k));
        };
        auto y = [&] {
          if constexpr (of_right) return tile(gather(b, columns, along));
          if constexpr (!of_right) return tile(load(b, shape<N, K>, g[1], k));
        };
        return dot(x(), trans(y()), sum);
      },
      stages<Stages>);
  store(c, shape<M, N>, sums, g[0], g[1]);
});

/// Computes c[i, j] = sum over k of a[3 i - 5, k] * b[j, k]: the rows are computed.
inline constexpr auto computed_rows = kernel("computed_rows", [](in<bf16, 2> a, in<bf16, 2> b, out<float, 2> c) {
  auto g = grid_over(c, shape<64, 64>);
  tile place = iota<int>(shape<64, 1>, axis<0>) + cast<int>(g[0] * 64);
  tile sums = loop(
      ceil_div(a.extent(1), 64), zeros<float>(shape<64, 64>),
      [&](auto k, auto sum) {
        tile along = iota<int>(shape<1, 64>, axis<1>) + cast<int>(k * 64);
        return dot(gather(a, place * 3 - 5, along), trans(load(b, shape<64, 64>, g[1], k)), sum);
      },
      stages<3>);
  store(c, shape<64, 64>, sums, g[0], g[1]);
});

/// Computes c = a[left] * b^T + a * b[right]^T, or with `alike` c = a[left] * b^T + a[right] * b^T: two products that
/// add to one sum, with rows that are gathered and rows that are not.
template <bool alike>
inline constexpr auto added_products = kernel("added_products", [](in<bf16, 2> a, in<bf16, 2> b, in<int, 1> left,
                                                                   in<int, 1> right, out<float, 2> c) {
  auto g = grid_over(c, shape<64, 64>);
  tile first = expand_dims(load(left, shape<64>, g[0]), axis<1>);
  tile second = expand_dims(load(right, shape<64>, alike ? g[0] : g[1]), axis<1>);
  tile sums = loop(
      ceil_div(a.extent(1), 64), zeros<float>(shape<64, 64>),
      [&](auto k, auto sum) {
        tile along = iota<int>(shape<1, 64>, axis<1>) + cast<int>(k * 64);
        tile once = dot(gather(a, first, along), trans(load(b, shape<64, 64>, g[1], k)), sum);
        if constexpr (alike) return dot(gather(a, second, along), trans(load(b, shape<64, 64>, g[1], k)), once);
        if constexpr (!alike) return dot(load(a, shape<64, 64>, g[0], k), trans(gather(b, second, along)), once);
      },
      stages<3>);
  store(c, shape<64, 64>, sums, g[0], g[1]);
});

/// Computes c = bf16(a[left]) * b: rows that are converted in registers.
inline constexpr auto converted_rows =
    kernel("converted_rows", [](in<e4m3, 2> a, in<bf16, 2> b, in<int, 1> left, out<float, 2> c) {
      auto g = grid_over(c, shape<64, 64>);
      tile rows = expand_dims(load(left, shape<64>, g[0]), axis<1>);
      tile sums = loop(
          ceil_div(a.extent(1), 64), zeros<float>(shape<64, 64>),
          [&](auto k, auto sum) {
            tile along = iota<int>(shape<1, 64>, axis<1>) + cast<int>(k * 64);
            return dot(cast<bf16>(gather(a, rows, along)), load(b, shape<64, 64>, k, g[1]), sum);
          },
          stages<3>);
      store(c, shape<64, 64>, sums, g[0], g[1]);
    });

/// Computes o = p * v[list]: the rows change in every iteration. `pages`: rows are named by their page and place.
template <class T, bool pages>
inline constexpr auto summed_rows = kernel("summed_rows", [](in<T, 2> p, in<T, 2> v, in<int, 1> list, out<float, 2> o) {
  auto g = grid_over(o, shape<64, 64>);
  tile sums = loop(
      ceil_div(p.extent(1), 64), zeros<float>(shape<64, 64>),
      [&](auto j, auto sum) {
        auto rows = [&] {
          if constexpr (!pages) return tile(load(list, shape<64>, j));
          if constexpr (pages) {
            tile place = iota<int>(shape<64>, axis<0>) + cast<int>(j * 64);
            return tile(gather(list, place / 16) * 16 + place % 16);
          }
        };
        tile along = iota<int>(shape<1, 64>, axis<1>) + cast<int>(g[1] * 64);
        tile taken = gather(v, expand_dims(rows(), axis<1>), along);
        return dot(load(p, shape<64, 64>, g[0], j), taken, sum);
      },
      stages<3>);
  store(o, shape<64, 64>, sums, g[0], g[1]);
});

/// Computes o = exp(q * k[list]^T) * v[list], over all of the list: two products of gathered rows, of which the second
/// runs late. An index below 0 is masked.
inline constexpr auto chosen_keys =
    kernel("chosen_keys", [](in<bf16, 2> q, in<bf16, 2> k, in<bf16, 2> v, in<int, 1> list, out<float, 2> o) {
      auto g = grid_over(o, shape<64, 64>);
      tile queries = load(q, shape<64, 64>, g[0], 0);
      tile sums = loop(
          ceil_div(list.extent(0), 64), zeros<float>(shape<64, 64>),
          [&](auto j, auto sum) {
            tile rows = expand_dims(load(list, shape<64>, j, pad(-1)), axis<1>);
            tile along = iota<int>(shape<1, 64>, axis<1>);
            tile weights = exp(dot(queries, trans(gather(k, rows, along))));
            return dot(cast<bf16>(weights), gather(v, rows, along), sum);
          },
          stages<3>);
      store(o, shape<64, 64>, sums, g[0], 0);
    });

/// Draws whole numbers, whose products and sums are exact.
template <class T>
void draw_whole(std::vector<T>& values, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> whole(-4, 4);
  for (T& value : values) value = T(static_cast<float>(whole(random)));
}

/// Draws rows of `count`: some twice, some below 0, some behind the end.
inline std::vector<int> drawn_rows(std::int64_t size, std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> rows(-2, static_cast<int>(count) + 1);
  std::vector<int> result(static_cast<std::size_t>(size));
  for (int& row : result) row = rows(random);
  if (size > 2) result[1] = result[0];
  return result;
}

template <class T>
double row_element(Array<T, 2> const& of, std::int64_t row, std::int64_t column) {
  bool const inside = row >= 0 && row < of.extents[0] && column < of.extents[1];
  return inside ? static_cast<double>(static_cast<float>(of[row * of.extents[1] + column])) : 0.0;
}

template <class T, bool of_left, bool of_right, int M = 64, int N = 64, int K = 64, int Stages = 3>
void check_rows_of_operands(Executor executor, std::int64_t m, std::int64_t n, std::int64_t depth,
                            CompileOptions const& options = {}) {
  std::int64_t const left_rows = of_left ? 37 : m, right_rows = of_right ? 50 : n;
  Array<T, 2> a({left_rows, depth}), b({right_rows, depth});
  draw_whole(a.values, 1);
  draw_whole(b.values, 2);
  Array<int, 1> left = array_of(drawn_rows(m, left_rows, 3)), right = array_of(drawn_rows(n, right_rows, 4));
  Array<float, 2> c({m, n}, -12345);
  INFO(name(executor) << ": " << m << " x " << n << " x " << depth << (of_left ? ", left" : "")
                      << (of_right ? ", right" : ""));
  auto const kernel = variants("rows", variant(with(options), rows_of_operands<T, of_left, of_right, M, N, K, Stages>));
  TEGULA_CHECK_RUN(executor, kernel, a, b, left, right, c);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum += row_element(a, of_left ? left[i] : i, k) * row_element(b, of_right ? right[j] : j, k);
      wrong += static_cast<double>(c[i * n + j]) == sum ? 0 : 1;
    }
  CHECK(wrong == 0);
}

template <bool alike>
void check_added_products(Executor executor, std::int64_t m, std::int64_t n, std::int64_t depth) {
  Array<bf16, 2> a({m, depth}), b({n, depth});
  draw_whole(a.values, 1);
  draw_whole(b.values, 2);
  Array<int, 1> left = array_of(drawn_rows(m, m, 3)), right = array_of(drawn_rows(alike ? m : n, alike ? m : n, 4));
  Array<float, 2> c({m, n}, -12345);
  INFO(name(executor) << ": " << m << " x " << n << " x " << depth << (alike ? ", alike" : ""));
  TEGULA_CHECK_RUN(executor, added_products<alike>, a, b, left, right, c);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum += row_element(a, left[i], k) * row_element(b, j, k) +
               row_element(a, alike ? right[i] : i, k) * row_element(b, alike ? j : right[j], k);
      wrong += static_cast<double>(c[i * n + j]) == sum ? 0 : 1;
    }
  CHECK(wrong == 0);
}

inline void check_computed_rows(Executor executor, std::int64_t m, std::int64_t n, std::int64_t depth,
                                CompileOptions const& options = {}) {
  Array<bf16, 2> a({150, depth}), b({n, depth});
  draw_whole(a.values, 1);
  draw_whole(b.values, 2);
  Array<float, 2> c({m, n}, -12345);
  INFO(name(executor) << ": " << m << " x " << n << " x " << depth << ", computed");
  auto const kernel = variants("rows", variant(with(options), computed_rows));
  TEGULA_CHECK_RUN(executor, kernel, a, b, c);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) sum += row_element(a, 3 * i - 5, k) * row_element(b, j, k);
      wrong += static_cast<double>(c[i * n + j]) == sum ? 0 : 1;
    }
  CHECK(wrong == 0);
}

inline void check_converted_rows(Executor executor, std::int64_t m, std::int64_t n, std::int64_t depth) {
  Array<e4m3, 2> a({50, depth});
  Array<bf16, 2> b({depth, n});
  draw_whole(a.values, 1);
  draw_whole(b.values, 2);
  Array<int, 1> left = array_of(drawn_rows(m, 50, 3));
  Array<float, 2> c({m, n}, -12345);
  INFO(name(executor) << ": " << m << " x " << n << " x " << depth << ", converted");
  TEGULA_CHECK_RUN(executor, converted_rows, a, b, left, c);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) sum += row_element(a, left[i], k) * row_element(b, k, j);
      wrong += static_cast<double>(c[i * n + j]) == sum ? 0 : 1;
    }
  CHECK(wrong == 0);
}

template <class T, bool pages>
void check_summed_rows(Executor executor, std::int64_t m, std::int64_t n, std::int64_t length) {
  Array<T, 2> p({m, length}), v({90, n});
  draw_whole(p.values, 1);
  draw_whole(v.values, 2);
  Array<int, 1> list = array_of(pages ? drawn_rows((length + 15) / 16, 5, 3) : drawn_rows(length, 90, 3));
  Array<float, 2> o({m, n}, -12345);
  INFO(name(executor) << ": " << m << " x " << n << ", " << length << " rows" << (pages ? " of pages" : ""));
  TEGULA_CHECK_RUN(executor, (summed_rows<T, pages>), p, v, list, o);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < length; ++k)
        sum += row_element(p, i, k) * row_element(v, pages ? list[k / 16] * 16 + k % 16 : list[k], j);
      wrong += static_cast<double>(o[i * n + j]) == sum ? 0 : 1;
    }
  CHECK(wrong == 0);
}

inline void check_chosen_keys(Executor executor, std::int64_t queries, std::int64_t length) {
  Array<bf16, 2> q({queries, 64}), k({80, 64}), v({80, 64});
  std::mt19937 random(7);
  std::uniform_real_distribution<float> numbers(-0.25F, 0.25F);
  for (auto* values : {&q.values, &k.values, &v.values})
    for (bf16& x : *values) x = bf16(numbers(random));
  Array<int, 1> list = array_of(drawn_rows(length, 80, 5));
  Array<float, 2> o({queries, 64}, -12345);
  INFO(name(executor) << ": " << queries << " queries, " << length << " keys");
  TEGULA_CHECK_RUN(executor, chosen_keys, q, k, v, list, o);
  double worst = 0;
  for (std::int64_t i = 0; i < queries; ++i) {
    std::vector<double> sums(64);
    for (std::int64_t j = 0; j < length; ++j) {
      double score = 0;
      for (std::int64_t d = 0; d < 64; ++d) score += row_element(q, i, d) * row_element(k, list[j], d);
      for (std::int64_t d = 0; d < 64; ++d)
        sums[static_cast<std::size_t>(d)] += std::exp(score) * row_element(v, list[j], d);
    }
    for (std::int64_t d = 0; d < 64; ++d)
      worst = std::max(worst, std::fabs(sums[static_cast<std::size_t>(d)] - static_cast<double>(o[i * 64 + d])));
  }
  CHECK(worst <= 0.02 * std::sqrt(static_cast<double>(length + 1)));
}

}  // namespace tegula::test
