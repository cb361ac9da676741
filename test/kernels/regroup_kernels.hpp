// Checks ops that give tiles other shapes, on any executor: each element of the result is the one that row-major
// arithmetic on the host names.
#pragma once

#include <cmath>

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// Draws numbers that every element holds exactly.
template <class T, int rank>
void draw_all(Array<T, rank>& array) {
  for (T& x : array.values) {
    if constexpr (std::is_same_v<T, bool>)
      x = draw_below(2) == 0;
    else
      x = T(static_cast<float>(draw_below(255) - 127));
  }
}

/// Turns pairs by a quarter: (a, b) becomes (-b, a).
template <class T, std::int64_t rows, std::int64_t columns>
inline constexpr auto turned_pairs = kernel("turned_pairs", [](in<T, 2> x, out<T, 2> y) {
  auto g = grid_over(y, shape<rows, columns>);
  auto [even, odd] = deinterleave(load(x, shape<rows, columns>, g[0], g[1]));
  store(y, shape<rows, columns>, interleave(-odd, even), g[0], g[1]);
});

template <class T, std::int64_t rows, std::int64_t columns>
void check_turned_pairs(Executor on) {
  Array<T, 2> x({rows + 3, 2 * columns}), y({rows + 3, 2 * columns});
  draw_all(x);
  TEGULA_CHECK_RUN(on, (turned_pairs<T, rows, columns>), x, y);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.values.size()); i += 2) {
    REQUIRE(static_cast<float>(y[i]) == -static_cast<float>(x[i + 1]));
    REQUIRE(static_cast<float>(y[i + 1]) == static_cast<float>(x[i]));
  }
}

/// Turns halves of rows by a quarter.
template <class T, std::int64_t rows, std::int64_t columns>
inline constexpr auto turned_halves = kernel("turned_halves", [](in<T, 2> x, out<T, 2> y) {
  auto g = grid_over(y, shape<rows, 2 * columns>);
  tile all = load(x, shape<rows, 2 * columns>, g[0], g[1]);
  tile first = slice(all, shape<rows, columns>, offset<0, 0>);
  store(y, shape<rows, 2 * columns>,
        concatenate(-slice(all, shape<rows, columns>, offset<0, columns>), first, axis<-1>), g[0], g[1]);
});

template <class T, std::int64_t rows, std::int64_t columns>
void check_turned_halves(Executor on) {
  Array<T, 2> x({rows + 5, 2 * columns}), y({rows + 5, 2 * columns});
  draw_all(x);
  TEGULA_CHECK_RUN(on, (turned_halves<T, rows, columns>), x, y);
  for (std::int64_t i = 0; i < rows + 5; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      REQUIRE(static_cast<float>(y[i * 2 * columns + j]) == -static_cast<float>(x[i * 2 * columns + columns + j]));
      REQUIRE(static_cast<float>(y[i * 2 * columns + columns + j]) == static_cast<float>(x[i * 2 * columns + j]));
    }
}

/// Gives a matrix tile another shape of rank 3 and, with two axes exchanged, its own again.
template <class T, std::int64_t rows, std::int64_t columns, std::int64_t a, std::int64_t b, std::int64_t c>
inline constexpr auto reshaped = kernel("reshaped", [](in<T, 2> x, out<T, 3> y, out<T, 2> z) {
  grid_over(y, shape<a, b, c>);
  tile box = reshape(load(x, shape<rows, columns>, 0, 0), shape<a, b, c>);
  store(y, shape<a, b, c>, box, 0, 0, 0);
  store(z, shape<rows, columns>, reshape(trans(box, axis<0, 2, 1>), shape<rows, columns>), 0, 0);
});

template <class T, std::int64_t rows, std::int64_t columns, std::int64_t a, std::int64_t b, std::int64_t c>
void check_reshaped(Executor on) {
  Array<T, 2> x({rows, columns}), z({rows, columns});
  Array<T, 3> y({a, b, c});
  draw_all(x);
  TEGULA_CHECK_RUN(on, (reshaped<T, rows, columns, a, b, c>), x, y, z);
  for (std::int64_t i = 0; i < rows * columns; ++i) REQUIRE(static_cast<float>(y[i]) == static_cast<float>(x[i]));
  for (std::int64_t i = 0; i < a * b * c; ++i) {
    std::int64_t const at = i / (b * c) * b * c + i % b * c + i / b % c;
    REQUIRE(static_cast<float>(z[i]) == static_cast<float>(x[at]));
  }
}

/// Cuts a box out of a tile and puts another one after it along an axis.
template <class T, int along, std::int64_t rows, std::int64_t columns, std::int64_t top, std::int64_t left,
          std::int64_t height, std::int64_t width>
inline constexpr auto pasted = kernel("pasted", [](in<T, 2> x, in<T, 2> w, out<T, 2> y) {
  constexpr std::int64_t high = along == 0 ? height + 8 : height, wide = along == 1 ? width + 8 : width;
  grid_over(y, shape<high, wide>);
  tile box = slice(load(x, shape<rows, columns>, 0, 0), shape<height, width>, offset<top, left>);
  tile other = load(w, shape < along == 0 ? 8 : height, along == 1 ? 8 : width >, 0, 0);
  store(y, shape<high, wide>, concatenate(box, other, axis<along>), 0, 0);
});

template <class T, int along, std::int64_t rows, std::int64_t columns, std::int64_t top, std::int64_t left,
          std::int64_t height, std::int64_t width>
void check_pasted(Executor on) {
  constexpr std::int64_t high = along == 0 ? height + 8 : height, wide = along == 1 ? width + 8 : width;
  Array<T, 2> x({rows, columns}), y({high, wide});
  Array<T, 2> w({along == 0 ? 8 : height, along == 1 ? 8 : width});
  draw_all(x);
  draw_all(w);
  TEGULA_CHECK_RUN(on, (pasted<T, along, rows, columns, top, left, height, width>), x, w, y);
  for (std::int64_t i = 0; i < high; ++i)
    for (std::int64_t j = 0; j < wide; ++j) {
      bool const of_box = i < height && j < width;
      T const expected = of_box       ? x[(i + top) * columns + j + left]
                         : along == 0 ? w[(i - height) * width + j]
                                      : w[i * 8 + j - width];
      REQUIRE(static_cast<float>(y[i * wide + j]) == static_cast<float>(expected));
    }
}

/// Gives the elements of a tile in the opposite order along an axis.
template <class T, int along, std::int64_t rows, std::int64_t columns>
inline constexpr auto flipped = kernel("flipped", [](in<T, 2> x, out<T, 2> y) {
  grid_over(y, shape<rows, columns>);
  store(y, shape<rows, columns>, flip(load(x, shape<rows, columns>, 0, 0), axis<along>), 0, 0);
});

template <class T, int along, std::int64_t rows, std::int64_t columns>
void check_flipped(Executor on) {
  Array<T, 2> x({rows, columns}), y({rows, columns});
  draw_all(x);
  TEGULA_CHECK_RUN(on, (flipped<T, along, rows, columns>), x, y);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      std::int64_t const from = along == 0 ? (rows - 1 - i) * columns + j : i * columns + columns - 1 - j;
      REQUIRE(static_cast<float>(y[i * columns + j]) == static_cast<float>(x[from]));
    }
}

/// Splits axis 0, joins along axis 0 in the other order, and reduces one part.
template <class T>
inline constexpr auto exchanged = kernel("exchanged", [](in<T, 3> x, out<T, 3> y, out<T, 2> sums) {
  grid_over(y, shape<2, 16, 24>);
  auto [a, b] = split(load(x, shape<2, 16, 24>, 0, 0, 0), axis<0>);
  store(sums, shape<16, 1>, sum(b, axis<1>), 0, 0);
  store(y, shape<2, 16, 24>, join(b, a, axis<0>), 0, 0, 0);
});

template <class T>
void check_exchanged(Executor on) {
  Array<T, 3> x({2, 16, 24}), y({2, 16, 24});
  Array<T, 2> sums({16, 1});
  for (T& v : x.values) v = T(static_cast<float>(draw_below(9) - 4));
  TEGULA_CHECK_RUN(on, exchanged<T>, x, y, sums);
  for (std::int64_t i = 0; i < 2 * 16 * 24; ++i)
    REQUIRE(static_cast<float>(y[i]) == static_cast<float>(x[(i + 384) % 768]));
  for (std::int64_t i = 0; i < 16; ++i) {
    float all = 0;
    for (std::int64_t j = 0; j < 24; ++j) all += static_cast<float>(x[384 + i * 24 + j]);
    REQUIRE(static_cast<float>(sums[i]) == all);
  }
}

/// Shifts a carried window by one column per iteration, and stores it each time.
inline constexpr auto windows = kernel("windows", [](in<int, 2> x, out<int, 3> y) {
  grid(1);
  loop(x.extent(1), zeros<int>(shape<32, 8>), [&](auto k, auto window) {
    tile next = concatenate(slice(window, shape<32, 7>, offset<0, 1>), load(x, shape<32, 1>, 0, k), axis<1>);
    store(y, shape<1, 32, 8>, expand_dims(next, axis<0>), k, 0, 0);
    return next;
  });
});

inline void check_windows(Executor on) {
  Array<int, 2> x({32, 13});
  Array<int, 3> y({13, 32, 8});
  draw_all(x);
  TEGULA_CHECK_RUN(on, windows, x, y);
  for (std::int64_t k = 0; k < 13; ++k)
    for (std::int64_t i = 0; i < 32; ++i)
      for (std::int64_t j = 0; j < 8; ++j) {
        std::int64_t const from = k - 7 + j;
        REQUIRE(y[(k * 32 + i) * 8 + j] == (from < 0 ? 0 : x[i * 13 + from]));
      }
}

/// Carries two tiles that are each other's parts: an iteration takes them apart, and the next one reads them.
inline constexpr auto swapped_parts = kernel("swapped_parts", [](in<int, 1> x, out<int, 1> y, arg<int> times) {
  grid_over(y, shape<64>);
  tile first = load(x, shape<64>, 0);
  tile flat = loop(times, first, [](auto, auto all) {
    tile low = slice(all, shape<32>, offset<0>);
    tile high = slice(all, shape<32>, offset<32>);
    return concatenate(high, low + 1, axis<0>);
  });
  store(y, shape<64>, reshape(reshape(flat, shape<4, 16>), shape<64>), 0);
});

inline void check_swapped_parts(Executor on) {
  for (int const times : {0, 1, 2, 5}) {
    Array<int, 1> x({64}), y({64});
    draw_all(x);
    TEGULA_CHECK_RUN(on, swapped_parts, x, y, times);
    std::vector<int> expected = x.values;
    for (int t = 0; t < times; ++t) {
      std::vector<int> const old = expected;
      for (std::size_t i = 0; i < 64; ++i) expected[i] = i < 32 ? old[i + 32] : old[i - 32] + 1;
    }
    REQUIRE(y.values == expected);
  }
}

/// Multiplies pixels of an image box by a matrix: the box of 8 x 16 pixels is a matrix of 128 rows.
template <class T>
inline constexpr auto pixel_product = kernel("pixel_product", [](in<T, 3> x, in<T, 2> b, out<float, 3> y) {
  auto g = grid_over(y, shape<8, 16, 64>);
  tile pixels = reshape(load(x, shape<8, 16, 32>, g[0], g[1], 0), shape<128, 32>);
  tile sums = dot(pixels, load(b, shape<32, 64>, 0, g[2]));
  store(y, shape<8, 16, 64>, reshape(sums, shape<8, 16, 64>), g[0], g[1], g[2]);
});

template <class T>
void check_pixel_product(Executor on) {
  Array<T, 3> x({19, 33, 32});
  Array<T, 2> b({32, 64});
  Array<float, 3> y({19, 33, 64});
  for (T& v : x.values) v = T(static_cast<float>(draw_below(17) - 8));
  for (T& v : b.values) v = T(static_cast<float>(draw_below(17) - 8));
  TEGULA_CHECK_RUN(on, pixel_product<T>, x, b, y);
  for (std::int64_t p = 0; p < 19 * 33; ++p)
    for (std::int64_t j = 0; j < 64; ++j) {
      float all = 0;
      for (std::int64_t k = 0; k < 32; ++k)
        all += static_cast<float>(x[p * 32 + k]) * static_cast<float>(b[k * 64 + j]);
      REQUIRE(y[p * 64 + j] == all);
    }
}

/// Multiplies by a matrix of signed 4-bit numbers, two in a byte: the low one is the even row.
inline constexpr auto packed_product =
    kernel("packed_product", [](in<bf16, 2> a, in<std::int8_t, 2> packed, out<float, 2> y) {
      auto g = grid_over(y, shape<64, 64>);
      tile sums = loop(ceil_div(a.extent(1), 64), zeros<float>(shape<64, 64>), [&](auto k, auto sum) {
        tile bytes = cast<int>(load(packed, shape<32, 64>, k, g[1]));
        tile b = interleave(cast<bf16>(bytes << 28 >> 28), cast<bf16>(bytes >> 4), axis<0>);
        return dot(load(a, shape<64, 64>, g[0], k), b, sum);
      });
      store(y, shape<64, 64>, sums, g[0], g[1]);
    });

inline void check_packed_product(Executor on) {
  constexpr std::int64_t m = 70, n = 80, k = 192;
  Array<bf16, 2> a({m, k});
  Array<std::int8_t, 2> packed({k / 2, n});
  Array<float, 2> y({m, n});
  for (bf16& v : a.values) v = bf16(static_cast<float>(draw_below(17) - 8));
  for (std::int8_t& v : packed.values) v = static_cast<std::int8_t>(draw_below(256) - 128);
  TEGULA_CHECK_RUN(on, packed_product, a, packed, y);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float all = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        int const byte = packed[l / 2 * n + j];
        int const number = l % 2 == 0 ? (byte & 15) - ((byte & 8) != 0 ? 16 : 0) : (byte - (byte & 15)) / 16;
        all += static_cast<float>(a[i * k + l]) * static_cast<float>(number);
      }
      REQUIRE(y[i * n + j] == all);
    }
}

/// Selects by a mask that was put together of two, and gathers at places that were reshaped.
inline constexpr auto regrouped_masks = kernel("regrouped_masks", [](in<int, 1> x, out<int, 2> y) {
  grid_over(y, shape<16, 8>);
  tile box = load(x, shape<64>, 0) > 0;
  tile mask = reshape(concatenate(box, !box, axis<0>), shape<16, 8>);
  tile place = reshape(127 - iota(shape<128>, axis<0>), shape<16, 8>);
  store(y, shape<16, 8>, select(mask, gather(x, place), -1000), 0, 0);
});

inline void check_regrouped_masks(Executor on) {
  Array<int, 1> x({128});
  Array<int, 2> y({16, 8});
  draw_all(x);
  TEGULA_CHECK_RUN(on, regrouped_masks, x, y);
  for (std::int64_t i = 0; i < 128; ++i) {
    bool const mask = i < 64 ? x[i] > 0 : !(x[i - 64] > 0);
    REQUIRE(y[i] == (mask ? x[127 - i] : -1000));
  }
}

template <class T>
void check_regrouped(Executor on) {
  check_turned_pairs<T, 16, 64>(on);
  check_turned_pairs<T, 5, 24>(on);
  check_turned_halves<T, 16, 32>(on);
  check_turned_halves<T, 7, 48>(on);
  check_reshaped<T, 64, 32, 16, 4, 32>(on);
  check_reshaped<T, 48, 4, 3, 8, 8>(on);
  check_reshaped<T, 1, 7, 7, 1, 1>(on);
  check_reshaped<T, 24, 8, 8, 8, 3>(on);
  check_reshaped<T, 10, 6, 4, 3, 5>(on);
  check_pasted<T, 0, 32, 64, 8, 32, 16, 32>(on);
  check_pasted<T, 1, 32, 64, 0, 3, 32, 5>(on);
  check_pasted<T, 1, 24, 40, 3, 7, 12, 20>(on);
  check_exchanged<T>(on);
  check_flipped<T, 0, 4, 64>(on);
  check_flipped<T, 1, 4, 64>(on);
  check_flipped<T, -1, 64, 128>(on);
  check_flipped<T, 0, 128, 16>(on);
  check_flipped<T, 0, 5, 48>(on);
  check_flipped<T, 1, 7, 100>(on);
}

inline void check_regrouped_kernels(Executor on) {
  check_windows(on);
  check_swapped_parts(on);
  check_regrouped_masks(on);
  check_pixel_product<f16>(on);
  check_pixel_product<float>(on);
  check_packed_product(on);
}

}  // namespace tegula::test
