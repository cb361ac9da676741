// Checks reductions and scans by a combiner, on any executor, against exact integers and float64.
#pragma once

#include <cmath>

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// Finds the largest element along an axis with its place, the first of several.
template <class T, int along, std::int64_t rows, std::int64_t columns>
inline constexpr auto place_of_largest = kernel("place_of_largest", [](in<T, 2> x, out<T, 2> y, out<int, 2> at) {
  constexpr bool down = along == 0 || along == -2;
  constexpr auto whole = shape<rows, columns>;
  constexpr auto result = shape < down ? 1 : rows, down ? columns : 1 > ;
  grid(1);
  auto [largest, place] = reduce(carry(load(x, whole, 0, 0), iota<int>(whole, axis<along>)), axis<along>,
                                 carry(-1000000, -1), [](auto a, auto i, auto b, auto j) {
                                   tile second = (a < b) | ((a == b) & (j < i));
                                   return carry(select(second, b, a), select(second, j, i));
                                 });
  store(y, result, largest, 0, 0);
  store(at, result, place, 0, 0);
});

template <class T, int along, std::int64_t rows, std::int64_t columns>
void check_place_of_largest(Executor on) {
  INFO(rows << " x " << columns << " along " << along);
  constexpr bool down = along == 0 || along == -2;
  constexpr std::int64_t lines = down ? columns : rows, length = down ? rows : columns;
  Array<T, 2> x({rows, columns}), y({down ? 1 : rows, down ? columns : 1});
  Array<int, 2> at({down ? 1 : rows, down ? columns : 1}, -5);
  for (T& v : x.values) v = static_cast<T>(static_cast<int>(draw_below(41)) - 20);
  TEGULA_CHECK_RUN(on, (place_of_largest<T, along, rows, columns>), x, y, at);
  for (std::int64_t line = 0; line < lines; ++line) {
    auto const element = [&](std::int64_t k) { return x[down ? k * columns + line : line * columns + k]; };
    std::int64_t best = 0;
    for (std::int64_t k = 1; k < length; ++k)
      if (element(k) > element(best)) best = k;
    REQUIRE(y[line] == element(best));
    REQUIRE(at[line] == best);
  }
}

/// Computes log(sum(exp(x))) of rows, by maxima and sums scaled to them.
template <std::int64_t rows, std::int64_t columns>
inline constexpr auto log_sum_exp = kernel("log_sum_exp", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(x, shape<rows, columns>);
  tile v = load(x, shape<rows, columns>, g[0], 0);
  auto [m, s] = reduce(carry(v, full(shape<rows, columns>, 1.0F)), axis<-1>, carry(-1e30F, 0),
                       [](auto m1, auto s1, auto m2, auto s2) {
                         tile both = max(m1, m2);
                         return carry(both, s1 * exp(m1 - both) + s2 * exp(m2 - both));
                       });
  store(y, shape<rows, 1>, m + log(s), g[0], 0);
});

template <std::int64_t rows, std::int64_t columns>
void check_log_sum_exp(Executor on) {
  Array<float, 2> x({2 * rows + 1, columns}), y({2 * rows + 1, 1});
  for (float& v : x.values) v = draw_number<float>() * 0.03F;
  TEGULA_CHECK_RUN(on, (log_sum_exp<rows, columns>), x, y);
  for (std::int64_t i = 0; i < 2 * rows + 1; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < columns; ++j) sum += std::exp(static_cast<double>(x[i * columns + j]) - 30);
    REQUIRE(std::abs(static_cast<double>(y[i]) - (std::log(sum) + 30)) <= 2e-5);
  }
}

/// Multiplies 2 x 2 matrices along an axis: the order of the arguments counts.
template <std::int64_t rows, std::int64_t columns>
inline constexpr auto matrix_products = kernel("matrix_products", [](in<int, 3> x, out<int, 3> y) {
  grid(1);
  auto const part = [&](int i) { return squeeze(load(x, shape<1, rows, columns>, i, 0, 0), axis<0>); };
  auto [p, q, r, s] = reduce(carry(part(0), part(1), part(2), part(3)), axis<1>, carry(1, 0, 0, 1),
                             [](auto a, auto b, auto c, auto d, auto e, auto f, auto g, auto h) {
                               return carry(a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h);
                             });
  store(y, shape<1, rows, 1>, expand_dims(p, axis<0>), 0, 0, 0);
  store(y, shape<1, rows, 1>, expand_dims(q, axis<0>), 1, 0, 0);
  store(y, shape<1, rows, 1>, expand_dims(r, axis<0>), 2, 0, 0);
  store(y, shape<1, rows, 1>, expand_dims(s, axis<0>), 3, 0, 0);
});

template <std::int64_t rows, std::int64_t columns>
void check_matrix_products(Executor on) {
  INFO(rows << " x " << columns);
  Array<int, 3> x({4, rows, columns}), y({4, rows, 1});
  for (int& v : x.values) v = static_cast<int>(draw_below(100000));
  TEGULA_CHECK_RUN(on, (matrix_products<rows, columns>), x, y);
  for (std::int64_t i = 0; i < rows; ++i) {
    std::uint32_t product[4] = {1, 0, 0, 1};
    for (std::int64_t j = 0; j < columns; ++j) {
      std::uint32_t m[4], next[4];
      for (int k = 0; k < 4; ++k) m[k] = static_cast<std::uint32_t>(x[(k * rows + i) * columns + j]);
      for (int k = 0; k < 4; ++k) next[k] = product[k / 2 * 2] * m[k % 2] + product[k / 2 * 2 + 1] * m[2 + k % 2];
      std::copy_n(next, 4, product);
    }
    for (int k = 0; k < 4; ++k) REQUIRE(static_cast<std::uint32_t>(y[k * rows + i]) == product[k]);
  }
}

/// Sums in the order that the builtin sum states as a contract.
template <class T, std::int64_t rows, std::int64_t columns>
inline constexpr auto ordered_sums = kernel("ordered_sums", [](in<T, 2> x, out<T, 2> y, out<T, 2> z, out<T, 2> all) {
  grid(1);
  tile v = load(x, shape<rows, columns>, 0, 0);
  auto const add = [](auto a, auto b) { return a + b; };
  store(y, shape<rows, 1>, reduce(v, axis<1>, 0, add), 0, 0);
  store(z, shape<rows, 1>, sum(v, axis<1>, order::pairwise), 0, 0);
  store(all, shape<1, 1>, reduce(v, axis<0, -1>, T(5), add), 0, 0);
});

template <class T, std::int64_t rows, std::int64_t columns>
void check_ordered_sums(Executor on) {
  INFO(rows << " x " << columns);
  Array<T, 2> x({rows, columns}), y({rows, 1}), z({rows, 1}), all({1, 1});
  for (T& v : x.values) v = draw_number<T>() / T(7);
  TEGULA_CHECK_RUN(on, (ordered_sums<T, rows, columns>), x, y, z, all);
  double sum = 5, size = 0;
  for (T v : x.values) sum += static_cast<double>(v), size += std::abs(static_cast<double>(v));
  for (std::int64_t i = 0; i < rows; ++i) REQUIRE(y[i] == z[i]);
  REQUIRE(std::abs(static_cast<double>(all[0]) - sum) <= 1e-6 * size);
}

/// Runs h = a * h + b along an axis, from a state.
template <class T, int along, std::int64_t rows, std::int64_t columns, bool exclusively, bool backwards>
inline constexpr auto recurrence = kernel("recurrence", [](in<T, 2> a, in<T, 2> b, in<T, 2> start, out<T, 2> y) {
  constexpr auto whole = shape<rows, columns>;
  constexpr auto state = shape < along == 0 ? 1 : rows, along == 0 ? columns : 1 > ;
  grid(1);
  auto const step = [](auto a1, auto b1, auto a2, auto b2) { return carry(a1 * a2, b1 * a2 + b2); };
  auto const run = [&](auto... options) {
    auto [factor, h] = scan(carry(load(a, whole, 0, 0), load(b, whole, 0, 0)), axis<along>,
                            carry(1, load(start, state, 0, 0)), step, options...);
    return tile(h);
  };
  if constexpr (exclusively && backwards)
    store(y, whole, run(exclusive, reverse), 0, 0);
  else if constexpr (exclusively)
    store(y, whole, run(exclusive), 0, 0);
  else if constexpr (backwards)
    store(y, whole, run(reverse), 0, 0);
  else
    store(y, whole, run(), 0, 0);
});

template <class T, int along, std::int64_t rows, std::int64_t columns, bool exclusively, bool backwards>
void check_recurrence(Executor on) {
  INFO(rows << " x " << columns << " along " << along << (exclusively ? ", exclusive" : "")
            << (backwards ? ", reverse" : ""));
  Array<T, 2> a({rows, columns}), b({rows, columns}), y({rows, columns});
  Array<T, 2> start({along == 0 ? 1 : rows, along == 0 ? columns : 1});
  constexpr bool exact = std::is_integral_v<T>;
  for (T& v : a.values) v = exact ? static_cast<T>(draw_below(3) - 1) : draw_number<T>() / T(1001);
  for (T& v : b.values) v = exact ? static_cast<T>(draw_below(3) - 1) : draw_number<T>() / T(100);
  for (T& v : start.values) v = exact ? static_cast<T>(draw_below(3) - 1) : draw_number<T>() / T(100);
  TEGULA_CHECK_RUN(on, (recurrence<T, along, rows, columns, exclusively, backwards>), a, b, start, y);
  constexpr std::int64_t lines = along == 0 ? columns : rows, length = along == 0 ? rows : columns;
  for (std::int64_t line = 0; line < lines; ++line) {
    auto h = static_cast<double>(start[line]);
    for (std::int64_t k = 0; k < length; ++k) {
      std::int64_t const place = backwards ? length - 1 - k : k;
      std::int64_t const at = along == 0 ? place * columns + line : line * columns + place;
      double const before = h;
      h = static_cast<double>(a[at]) * h + static_cast<double>(b[at]);
      REQUIRE(std::abs(static_cast<double>(y[at]) - (exclusively ? before : h)) <= (exact ? 0 : 1e-4));
    }
  }
}

template <class T, int along, std::int64_t rows, std::int64_t columns>
void check_recurrences(Executor on) {
  check_recurrence<T, along, rows, columns, false, false>(on);
  check_recurrence<T, along, rows, columns, true, false>(on);
  check_recurrence<T, along, rows, columns, false, true>(on);
  check_recurrence<T, along, rows, columns, true, true>(on);
}

/// Carries the state of a recurrence from chunk to chunk of long rows.
inline constexpr auto long_recurrence = kernel("long_recurrence", [](in<float, 2> a, in<float, 2> b, out<float, 2> y) {
  auto g = grid(ceil_div(y.extent(0), 4));
  loop(ceil_div(y.extent(1), 64), zeros<float>(shape<4, 1>), [&](auto k, auto state) {
    auto [factor, h] =
        scan(carry(load(a, shape<4, 64>, g[0], k, pad(1)), load(b, shape<4, 64>, g[0], k)), axis<1>, carry(1, state),
             [](auto a1, auto b1, auto a2, auto b2) { return carry(a1 * a2, b1 * a2 + b2); });
    store(y, shape<4, 64>, h, g[0], k);
    return slice(h, shape<4, 1>, offset<0, 63>);
  });
});

inline void check_long_recurrence(Executor on) {
  std::int64_t const rows = 7, columns = 333;
  Array<float, 2> a({rows, columns}), b({rows, columns}), y({rows, columns});
  for (float& v : a.values) v = draw_number<float>() / 1001;
  for (float& v : b.values) v = draw_number<float>() / 100;
  TEGULA_CHECK_RUN(on, long_recurrence, a, b, y);
  for (std::int64_t i = 0; i < rows; ++i) {
    double h = 0;
    for (std::int64_t j = 0; j < columns; ++j) {
      std::int64_t const at = i * columns + j;
      h = static_cast<double>(a[at]) * h + static_cast<double>(b[at]);
      REQUIRE(std::abs(static_cast<double>(y[at]) - h) <= 1e-4);
    }
  }
}

inline void check_combined_reductions(Executor on) {
  check_place_of_largest<float, 1, 5, 1>(on);
  check_place_of_largest<float, -1, 4, 7>(on);
  check_place_of_largest<int, 1, 16, 128>(on);
  check_place_of_largest<double, 1, 3, 100>(on);
  check_place_of_largest<std::int64_t, -2, 33, 20>(on);
  check_place_of_largest<float, 0, 64, 32>(on);
  check_place_of_largest<float, 1, 1, 1024>(on);
  check_log_sum_exp<8, 200>(on);
  check_matrix_products<3, 5>(on);
  check_matrix_products<16, 64>(on);
  check_matrix_products<2, 130>(on);
  check_ordered_sums<float, 4, 64>(on);
  check_ordered_sums<float, 3, 37>(on);
  check_ordered_sums<double, 2, 300>(on);
}
inline void check_combined_scans(Executor on) {
  check_recurrences<float, 1, 4, 64>(on);
  check_recurrences<float, 1, 3, 50>(on);
  check_recurrences<double, 0, 20, 8>(on);
  check_recurrences<int, 1, 2, 1>(on);
  check_recurrences<int, 1, 2, 3>(on);
  check_recurrences<std::int64_t, 1, 1, 513>(on);
  check_long_recurrence(on);
}

}  // namespace tegula::test
