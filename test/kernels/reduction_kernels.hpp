// Checks reductions and scans on any executor, all elements against sequential float64 and wrapping integers.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// Names the type in which references are computed.
template <class T>
using exact_t = std::conditional_t<std::is_integral_v<T>,
                                   std::make_unsigned_t<std::conditional_t<std::is_integral_v<T>, T, int>>, double>;

template <class T>
exact_t<T> exact(T value) {
  return static_cast<exact_t<T>>(value);
}

/// Draws elements whose products stay in range; integers of all bits.
template <class T>
T draw_element() {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(indexed_engine()());
  else
    return T((draw_below(2) == 0 ? -1 : 1) * (0.98 + 1e-5 * static_cast<double>(draw_below(4000))));
}

template <class T>
double roundoff() {
  if constexpr (std::is_same_v<T, f16>) return 0x1p-11;
  if constexpr (std::is_same_v<T, bf16>) return 0x1p-8;
  if constexpr (std::is_same_v<T, double>) return 0x1p-53;
  return 0x1p-24;
}

/// Requires the result of `count` sums or products whose partial results are at most `size`.
template <class T>
void require_near(T found, exact_t<T> expected, double size, std::int64_t count) {
  if constexpr (std::is_integral_v<T>) {
    REQUIRE(static_cast<exact_t<T>>(found) == expected);
  } else {
    auto const value = static_cast<double>(found);
    if (std::isnan(expected)) {
      REQUIRE(std::isnan(value));
    } else if (std::isinf(expected)) {
      REQUIRE(value == expected);
    } else {
      double const step = std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24;
      REQUIRE(std::abs(value - expected) <=
              2 * static_cast<double>(count) * step * size + roundoff<T>() * std::abs(expected));
    }
  }
}

/// Says how a box of `extents` is parted in lines along an axis.
struct Lines {
  std::int64_t extent = 1, inner = 1, count = 1;
  Lines(std::vector<std::int64_t> const& extents, int axis) {
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (static_cast<int>(i) == axis)
        extent = extents[i];
      else
        count *= extents[i];
      if (static_cast<int>(i) > axis) inner *= extents[i];
    }
  }
  [[nodiscard]] std::int64_t at(std::int64_t line, std::int64_t i) const {
    return (line / inner * extent + i) * inner + line % inner;
  }
};

enum class Join : std::uint8_t { sum, product, max, min };

template <class X>
X joined(Join join, X a, X b) {
  switch (join) {
    case Join::sum:
      return a + b;
    case Join::product:
      return a * b;
    case Join::max:
    case Join::min:
      break;
  }
  if constexpr (std::is_unsigned_v<X>) {  // the bits of a signed integer
    using signed_t = std::make_signed_t<X>;
    bool const less = static_cast<signed_t>(a) < static_cast<signed_t>(b);
    return less == (join == Join::max) ? b : a;
  } else {
    return join == Join::max ? std::fmax(a, b) : std::fmin(a, b);
  }
}
template <class T>
exact_t<T> start_of(Join join) {
  if (join == Join::sum || join == Join::product) return static_cast<exact_t<T>>(join == Join::product);
  if constexpr (std::is_integral_v<T>)
    return exact(join == Join::max ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max());
  else
    return join == Join::max ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

/// Compares all elements of a scan.
template <class T>
void require_scan(std::vector<T> const& x, std::vector<T> const& found, Lines const& lines, Join join, bool exclusive,
                  bool reverse) {
  for (std::int64_t line = 0; line < lines.count; ++line) {
    exact_t<T> before = start_of<T>(join);
    double size = join == Join::product ? 1 : 0;
    for (std::int64_t i = 0; i < lines.extent; ++i) {
      auto const at = static_cast<std::size_t>(lines.at(line, reverse ? lines.extent - 1 - i : i));
      exact_t<T> const value = exact(x[at]);
      bool const first = i == 0 && !exclusive;  // the start of max would hide a NaN
      exact_t<T> const all = first ? value : joined(join, before, value);
      exact_t<T> const expected = exclusive ? before : all;
      INFO("line " << line << ", element " << i << " of " << lines.extent << ", join " << static_cast<int>(join));
      double const size_before = size;
      if (join == Join::product) size = std::max(size, std::abs(static_cast<double>(all)));
      if (join == Join::sum) size += std::abs(static_cast<double>(value));
      require_near(found[at], expected, exclusive ? size_before : size, i + 1);
      before = all;
    }
  }
}

/// Scans tiles in all ways along one axis.
template <class T, int along, std::int64_t... extents>
inline constexpr auto scans = kernel("scans", [](in<T, sizeof...(extents)> x, out<T, sizeof...(extents)> sums,
                                                 out<T, sizeof...(extents)> products, out<T, sizeof...(extents)> maxima,
                                                 out<T, sizeof...(extents)> minima, out<T, sizeof...(extents)> more) {
  auto g = grid_over(x, shape<extents...>);
  auto put = [&](auto& to, auto&& value) {
    if constexpr (sizeof...(extents) == 1)
      store(to, shape<extents...>, std::forward<decltype(value)>(value), g[0]);
    else if constexpr (sizeof...(extents) == 2)
      store(to, shape<extents...>, std::forward<decltype(value)>(value), g[0], g[1]);
    else
      store(to, shape<extents...>, std::forward<decltype(value)>(value), g[0], g[1], g[2]);
  };
  tile v = [&] {
    if constexpr (sizeof...(extents) == 1)
      return let(load(x, shape<extents...>, g[0]));
    else if constexpr (sizeof...(extents) == 2)
      return let(load(x, shape<extents...>, g[0], g[1]));
    else
      return let(load(x, shape<extents...>, g[0], g[1], g[2]));
  }();
  put(sums, cumsum(v, axis<along>));
  put(products, cumprod(v, axis<along>, reverse));
  put(maxima, cummax(v, axis<along>, reverse));
  put(minima, cummin(v, axis<along>, reverse, exclusive));
  put(more, cumsum(v, axis<along>, exclusive));
});

template <class T, int along, std::int64_t... extents>
void check_scan(Executor on, std::vector<double> const& special = {}) {
  constexpr int rank = sizeof...(extents);
  std::array<std::int64_t, rank> all = {extents...};
  all[0] *= 2;  // two blocks, so that the lines along axis 0 are parted
  Array<T, rank> x(all), sums(all), products(all), maxima(all), minima(all), more(all);
  for (T& value : x.values) value = draw_element<T>();
  for (double value : special)
    if constexpr (!std::is_integral_v<T>) x[draw_below(static_cast<std::int64_t>(x.values.size()))] = T(value);
  TEGULA_CHECK_RUN(on, (scans<T, along, extents...>), x, sums, products, maxima, minima, more);
  INFO("axis " << along << " on " << name(on));
  std::vector<std::int64_t> const box = {extents...};
  auto const elements = static_cast<std::size_t>(Lines(box, along).extent * Lines(box, along).count);
  for (std::size_t block = 0; block < 2; ++block) {
    auto const part = [&](Array<T, rank> const& of) {
      auto const from = of.values.begin() + static_cast<std::ptrdiff_t>(block * elements);
      return std::vector<T>(from, from + static_cast<std::ptrdiff_t>(elements));
    };
    Lines const lines(box, along);
    require_scan(part(x), part(sums), lines, Join::sum, false, false);
    require_scan(part(x), part(products), lines, Join::product, false, true);
    require_scan(part(x), part(maxima), lines, Join::max, false, true);
    require_scan(part(x), part(minima), lines, Join::min, true, true);
    require_scan(part(x), part(more), lines, Join::sum, true, false);
  }
}

inline void check_scans(Executor on) {
  double const nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  check_scan<float, 0, 1>(on);
  check_scan<int, 0, 360>(on);
  check_scan<float, 0, 4096>(on);
  check_scan<float, 1, 7, 33>(on);
  check_scan<float, 0, 7, 33>(on);
  check_scan<float, 1, 16, 96>(on, {nan, infinity});
  check_scan<double, 0, 48, 6>(on, {nan, nan, -infinity});
  check_scan<std::int64_t, 1, 64, 128>(on);
  check_scan<f16, 0, 64, 96>(on);
  check_scan<bf16, 1, 8, 256>(on, {infinity, -infinity, nan, nan});
  check_scan<float, 1, 4, 6, 32>(on);
  check_scan<int, 0, 512, 1, 2>(on);
  check_scan<int, 0, 1000>(on);
  check_scan<float, 1, 6, 1000>(on, {nan, infinity});
  check_scan<f16, 0, 999, 5>(on);
  check_scan<std::int64_t, 1, 17, 131>(on);
}

/// Scans the accumulator of a product, which tensor cores lay out, along both axes.
inline constexpr auto scanned_product =
    kernel("scanned_product", [](in<bf16, 2> a, in<bf16, 2> b, out<float, 2> y, out<float, 2> z) {
      auto g = grid_over(y, shape<64, 64>);
      tile product = dot(load(a, shape<64, 32>, g[0], 0), load(b, shape<32, 64>, 0, g[1]));
      store(y, shape<64, 64>, cumsum(product, axis<1>), g[0], g[1]);
      store(z, shape<64, 64>, cumsum(product, axis<0>, reverse), g[0], g[1]);
    });

inline void check_scanned_product(Executor on) {
  Array<bf16, 2> a({64, 32}), b({32, 64});
  for (bf16& v : a.values) v = bf16(static_cast<double>(draw_below(9) - 4));
  for (bf16& v : b.values) v = bf16(static_cast<double>(draw_below(9) - 4));
  Array<float, 2> y({64, 64}), z({64, 64});
  TEGULA_CHECK_RUN(on, scanned_product, a, b, y, z);
  std::vector<float> product(64 * 64, 0.0F);
  for (std::size_t i = 0; i < 64; ++i)
    for (std::size_t j = 0; j < 64; ++j)
      for (std::size_t k = 0; k < 32; ++k)
        product[i * 64 + j] += static_cast<float>(a.values[i * 32 + k]) * static_cast<float>(b.values[k * 64 + j]);
  require_scan(product, y.values, Lines({64, 64}, 1), Join::sum, false, false);
  require_scan(product, z.values, Lines({64, 64}, 0), Join::sum, false, true);
}

/// Carries the total of each row from tile to tile.
inline constexpr auto running_rows = kernel("running_rows", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid(ceil_div(y.extent(0), 4));
  loop(ceil_div(x.extent(1), 128), zeros<float>(shape<4, 1>), [&](auto i, auto before) {
    tile v = load(x, shape<4, 128>, g[0], i);
    store(y, shape<4, 128>, cumsum(v, axis<1>) + before, g[0], i);
    return before + sum(v, axis<1>);
  });
});

inline void check_running_rows(Executor on) {
  Array<float, 2> x({10, 1000}), y({10, 1000});
  for (float& v : x.values) v = draw_element<float>();
  TEGULA_CHECK_RUN(on, running_rows, x, y);
  require_scan(x.values, y.values, Lines({10, 1000}, 1), Join::sum, false, false);
}

// --- reductions

template <class T, int along, std::int64_t rows, std::int64_t columns>
inline constexpr auto reductions = kernel("reductions", [](in<T, 2> x, out<T, 2> products, out<int, 2> maxima,
                                                           out<int, 2> minima) {
  auto g = grid_over(x, shape<rows, columns>);
  constexpr auto line = shape < along == 0 ? 1 : rows, along == 0 ? columns : 1 > ;
  tile v = load(x, shape<rows, columns>, g[0], g[1]);
  store(products, line, prod(v, axis<along>), g[0], g[1]);
  store(maxima, line, argmax(v, axis<along - 2>), g[0], g[1]);
  store(minima, line, argmin(v, axis<along>), g[0], g[1]);
});

/// Returns the place of the extreme by the rules of argmax: the lowest, past NaN; 0 where all are NaN.
template <class T>
std::int64_t place_of_extreme(std::vector<T> const& x, Lines const& lines, std::int64_t line, bool greatest) {
  std::int64_t best = -1;
  using number = std::conditional_t<std::is_integral_v<T>, T, double>;
  auto const value = [&](std::int64_t i) {
    return static_cast<number>(x[static_cast<std::size_t>(lines.at(line, i))]);
  };
  for (std::int64_t i = 0; i < lines.extent; ++i) {
    if (value(i) != value(i)) continue;
    if (best < 0 || (greatest ? value(i) > value(best) : value(i) < value(best))) best = i;
  }
  return std::max<std::int64_t>(best, 0);
}

template <class T, int along, std::int64_t rows, std::int64_t columns>
void check_reduction(Executor on, double special = 1) {
  constexpr std::int64_t blocks = 2;
  Array<T, 2> x({blocks * rows, columns});
  for (T& value : x.values) value = draw_element<T>();
  if constexpr (!std::is_integral_v<T>)
    for (T& value : x.values)
      if (draw_below(5) == 0) value = T(special);
  bool const by_column = along == 0;
  std::array<std::int64_t, 2> const results = {by_column ? blocks : blocks * rows, by_column ? columns : 1};
  if constexpr (!std::is_integral_v<T>)  // a line of one value
    for (std::int64_t i = 0; i < Lines({rows, columns}, along).extent; ++i)
      x[Lines({rows, columns}, along).at(0, i)] = T(special);
  Array<T, 2> products(results);
  Array<int, 2> maxima(results, -1), minima(results, -1);
  TEGULA_CHECK_RUN(on, (reductions<T, along, rows, columns>), x, products, maxima, minima);
  Lines const lines({rows, columns}, along);
  for (std::int64_t block = 0; block < blocks; ++block) {
    auto const from = x.values.begin() + static_cast<std::ptrdiff_t>(block * rows * columns);
    std::vector<T> const part(from, from + static_cast<std::ptrdiff_t>(rows * columns));
    for (std::int64_t line = 0; line < lines.count; ++line) {
      exact_t<T> product = 1;
      double size = 1;
      for (std::int64_t i = 0; i < lines.extent; ++i) {
        product = product * exact(part[static_cast<std::size_t>(lines.at(line, i))]);
        size = std::max(size, std::abs(static_cast<double>(product)));
      }
      std::int64_t const at = block * lines.count + line;
      INFO("axis " << along << ", line " << line << " of a tile of " << rows << "x" << columns << " on " << name(on));
      require_near(products[at], product, size, 2 * lines.extent);
      REQUIRE(maxima[at] == place_of_extreme(part, lines, line, true));
      REQUIRE(minima[at] == place_of_extreme(part, lines, line, false));
    }
  }
}

/// Reduces along both axes at once, and masks.
template <class T, std::int64_t rows, std::int64_t columns>
inline constexpr auto whole = kernel("whole", [](in<T, 2> x, out<T, 2> numbers, out<int, 2> truths, out<int, 2> some) {
  auto g = grid_over(numbers, shape<4, 1>);
  tile v = load(x, shape<rows, columns>, g[0], g[1]);
  store(numbers, shape<1, 1>, sum(v, axis<0, 1>), elem(0), g[1]);
  store(numbers, shape<1, 1>, prod(v, axis<-1, 0>), elem(1), g[1]);
  store(numbers, shape<1, 1>, max(v, axis<0, -1>), elem(2), g[1]);
  store(numbers, shape<1, 1>, min(v, axis<1, 0>, order::pairwise), elem(3), g[1]);
  store(truths, shape<1, 1>, cast<int>(any(v > 1.5, axis<0, 1>)), elem(0), g[1]);
  store(truths, shape<1, 1>, cast<int>(all(v > 1.5, axis<1, 0>)), elem(1), g[1]);
  store(truths, shape<1, 1>, cast<int>(any(v > 4, axis<0, 1>)), elem(2), g[1]);
  store(truths, shape<1, 1>, cast<int>(all(v < 4, axis<0, 1>)), elem(3), g[1]);
  store(some, shape<rows, 1>, cast<int>(any(v > 1.5, axis<1>)), g[0], g[1]);
});

template <class T, std::int64_t rows, std::int64_t columns>
void check_whole(Executor on) {
  Array<T, 2> x({rows, columns});
  for (T& value : x.values) value = T(0.98 + 1e-5 * static_cast<double>(draw_below(4000)));
  std::int64_t const special = draw_below(rows * columns);
  x[special] = T(2);
  Array<T, 2> numbers({4, 1});
  Array<int, 2> truths({4, 1}, -1), some({rows, 1}, -1);
  TEGULA_CHECK_RUN(on, (whole<T, rows, columns>), x, numbers, truths, some);
  double sum = 0, product = 1, size = 1, maxima = -2, minima = 3;
  for (T const& element : x.values) {
    auto const value = static_cast<double>(element);
    sum += value, product *= value;
    size = std::max(size, product), maxima = std::max(maxima, value), minima = std::min(minima, value);
  }
  INFO("tile of " << rows << "x" << columns << " on " << name(on));
  require_near(numbers[0], sum, sum, rows * columns);
  require_near(numbers[1], product, size, 2 * rows * columns);
  REQUIRE(static_cast<double>(numbers[2]) == maxima);
  REQUIRE(static_cast<double>(numbers[3]) == minima);
  REQUIRE(truths.values == std::vector<int>{1, rows * columns == 1 ? 1 : 0, 0, 1});
  for (std::int64_t row = 0; row < rows; ++row) REQUIRE(some[row] == (special / columns == row ? 1 : 0));
}

inline void check_reductions(Executor on) {
  double const nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  check_reduction<float, 1, 1, 1>(on);
  check_reduction<float, 1, 16, 96>(on, nan);
  check_reduction<float, 1, 7, 1000>(on, nan);
  check_reduction<int, 0, 131, 17>(on);
  check_reduction<bf16, 1, 3, 777>(on, infinity);
  check_reduction<float, 0, 7, 33>(on, -infinity);
  check_reduction<double, 0, 200, 6>(on, infinity);
  check_reduction<int, 1, 64, 128>(on);
  check_reduction<std::int64_t, 0, 128, 64>(on);
  check_reduction<f16, 1, 8, 256>(on, nan);
  check_reduction<bf16, 0, 64, 96>(on, infinity);
  check_whole<float, 1, 1>(on);
  check_whole<float, 7, 33>(on);
  check_whole<f16, 16, 64>(on);
  check_whole<bf16, 8, 40>(on);
  check_whole<double, 64, 32>(on);
}

}  // namespace tegula::test
