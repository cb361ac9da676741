// Checks sorted tiles and the largest elements, on any executor, against std::stable_sort.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

template <class T>
double as_number(T x) {
  return static_cast<double>(x);
}
/// Tells whether an element comes before another one: NaN last, -0 before 0.
template <class T>
bool comes_before(T a, T b, bool down) {
  double const x = as_number(a), y = as_number(b);
  if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
  if (x == y && x == 0) return down ? std::signbit(y) && !std::signbit(x) : std::signbit(x) && !std::signbit(y);
  return down ? y < x : x < y;
}
template <class T>
bool same_element(T a, T b) {
  double const x = as_number(a), y = as_number(b);
  return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
}

/// Draws elements with equal ones among them; of floats, NaN, infinities and both zeros too.
template <class T>
T draw_element() {
  std::int64_t const kind = draw_below(20);
  if constexpr (!std::is_integral_v<T>) {
    if (kind == 0) return T(std::nan(""));
    if (kind == 1) return T(draw_below(2) == 0 ? 0.0 : -0.0);
    if (kind == 2) return T(draw_below(2) == 0 ? HUGE_VAL : -HUGE_VAL);
    return T(static_cast<double>(draw_below(101) - 50) / 4);
  } else {
    if (kind == 0) return std::numeric_limits<T>::max();
    if (kind == 1) return std::numeric_limits<T>::min();
    return static_cast<T>(draw_below(61) - (std::is_signed_v<T> ? 30 : 0));
  }
}

template <class T, int along, std::int64_t rows, std::int64_t columns, bool down>
inline constexpr auto sorted_tiles = kernel("sorted_tiles", [](in<T, 2> x, out<T, 2> y, out<int, 2> places,
                                                               out<T, 2> keys, out<float, 2> values) {
  constexpr auto whole = shape<rows, columns>;
  grid(1);
  tile v = load(x, whole, 0, 0);
  tile numbers = cast<float>(iota<int>(whole, axis<0>) * static_cast<int>(columns) + iota<int>(whole, axis<1>));
  auto const run = [&](auto... way) {
    store(y, whole, sort(v, axis<along>, way...), 0, 0);
    store(places, whole, argsort(v, axis<along>, way...), 0, 0);
    auto [k, n] = sort(carry(v, numbers), axis<along>, way...);
    store(keys, whole, k, 0, 0);
    store(values, whole, n, 0, 0);
  };
  if constexpr (down)
    run(descending);
  else
    run();
});

template <class T, int along, std::int64_t rows, std::int64_t columns, bool down>
void check_sorted(Executor on) {
  INFO(rows << " x " << columns << " along " << along << (down ? ", descending" : ""));
  Array<T, 2> x({rows, columns}), y({rows, columns}), keys({rows, columns});
  Array<int, 2> places({rows, columns}, -1);
  Array<float, 2> values({rows, columns});
  for (T& v : x.values) v = draw_element<T>();
  TEGULA_CHECK_RUN(on, (sorted_tiles<T, along, rows, columns, down>), x, y, places, keys, values);
  constexpr std::int64_t lines = along == 0 ? columns : rows, length = along == 0 ? rows : columns;
  for (std::int64_t line = 0; line < lines; ++line) {
    auto const at = [&](std::int64_t k) { return along == 0 ? k * columns + line : line * columns + k; };
    std::vector<std::int64_t> order(static_cast<std::size_t>(length));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::int64_t a, std::int64_t b) { return comes_before(x[at(a)], x[at(b)], down); });
    for (std::int64_t k = 0; k < length; ++k) {
      std::int64_t const from = order[static_cast<std::size_t>(k)];
      REQUIRE(same_element(y[at(k)], x[at(from)]));
      REQUIRE(same_element(keys[at(k)], x[at(from)]));
      REQUIRE(places[at(k)] == from);
      REQUIRE(values[at(k)] == static_cast<float>(at(from)));
    }
  }
}

template <class T, std::int64_t rows, std::int64_t columns, int wanted>
inline constexpr auto largest = kernel("largest", [](in<T, 2> x, out<T, 2> y, out<int, 2> places) {
  auto g = grid_over(x, shape<rows, columns>);
  auto [values, at] = top_k<wanted>(load(x, shape<rows, columns>, g[0], 0), axis<-1>);
  store(y, shape<rows, wanted>, values, g[0], 0);
  store(places, shape<rows, wanted>, at, g[0], 0);
});

template <class T, std::int64_t rows, std::int64_t columns, int wanted>
void check_largest(Executor on) {
  INFO(rows << " x " << columns << ", " << wanted << " of them");
  Array<T, 2> x({2 * rows, columns}), y({2 * rows, wanted});
  Array<int, 2> places({2 * rows, wanted}, -1);
  for (T& v : x.values) v = draw_element<T>();
  TEGULA_CHECK_RUN(on, (largest<T, rows, columns, wanted>), x, y, places);
  for (std::int64_t i = 0; i < 2 * rows; ++i) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(columns));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return comes_before(x[i * columns + a], x[i * columns + b], true);
    });
    for (std::int64_t k = 0; k < wanted; ++k) {
      REQUIRE(places[i * wanted + k] == order[static_cast<std::size_t>(k)]);
      REQUIRE(same_element(y[i * wanted + k], x[i * columns + order[static_cast<std::size_t>(k)]]));
    }
  }
}

inline void check_sorts(Executor on) {
  check_sorted<float, 1, 4, 32, false>(on);
  check_sorted<float, 1, 3, 50, true>(on);
  check_sorted<bf16, 1, 2, 17, false>(on);
  check_sorted<double, 0, 20, 6, true>(on);
  check_sorted<int, 1, 5, 1, false>(on);
  check_sorted<std::int64_t, 1, 2, 40, false>(on);
  check_sorted<std::uint32_t, 0, 16, 16, true>(on);
  check_sorted<std::uint64_t, 1, 2, 33, false>(on);
  check_sorted<std::int8_t, 1, 2, 64, true>(on);
  check_sorted<float, 1, 1, 256, false>(on);
}
inline void check_largest_elements(Executor on) {
  check_largest<float, 4, 100, 8>(on);
  check_largest<f16, 2, 64, 1>(on);
  check_largest<int, 2, 5, 5>(on);
  check_largest<double, 1, 70, 20>(on);
  check_largest<float, 2, 300, 50>(on);  // by halves
  check_largest<float, 1, 512, 64>(on);
  check_largest<bf16, 1, 130, 65>(on);
  check_largest<int, 3, 33, 17>(on);
  check_largest<float, 1, 40, 40>(on);
  check_largest<std::int8_t, 2, 128, 32>(on);
  check_largest<std::uint64_t, 1, 100, 18>(on);
}

}  // namespace tegula::test
