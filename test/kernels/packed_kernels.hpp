// Checks elements of 4 bits in bytes, on any executor.
#pragma once

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// Unpacks all bytes along the last axis and along the first one, and packs them again.
template <class P, class Byte>
inline constexpr auto four_bits = kernel("four_bits", [](in<Byte, 2> x, out<int, 2> wide, out<int, 2> tall,
                                                         out<typename P::unpacked, 2> again) {
  grid_over(x, shape<16, 16>);
  tile bytes = load(x, shape<16, 16>, 0, 0);
  tile elements = unpack<P>(bytes);
  store(wide, shape<16, 32>, cast<int>(elements), 0, 0);
  store(tall, shape<32, 16>, cast<int>(unpack<P>(bytes, axis<0>)), 0, 0);
  store(again, shape<16, 16>, pack<P>(elements), 0, 0);
});

template <class P, class Byte>
void check_four_bits(Executor on) {
  Array<Byte, 2> x({16, 16});
  for (int i = 0; i < 256; ++i) x[i] = static_cast<Byte>(i);
  Array<int, 2> wide({16, 32}, 99), tall({32, 16}, 99);
  Array<typename P::unpacked, 2> again({16, 16});
  TEGULA_CHECK_RUN(on, (four_bits<P, Byte>), x, wide, tall, again);
  auto const number = [](int bits) { return std::is_same_v<P, i4> && bits > 7 ? bits - 16 : bits; };
  for (int i = 0; i < 256; ++i)
    for (int half = 0; half < 2; ++half) {
      int const expected = number(i >> (4 * half) & 15), r = i / 16, c = i % 16;
      REQUIRE(wide[r * 32 + 2 * c + half] == expected);
      REQUIRE(tall[(2 * r + half) * 16 + c] == expected);
    }
  for (int i = 0; i < 256; ++i) REQUIRE(again[i] == static_cast<typename P::unpacked>(i));
}

/// Multiplies by weights of 4 bits with a scale for each column and group of rows, unpacked in one line.
template <class P, int BM, int BN>
inline constexpr auto packed_weights = kernel("packed_weights", [](in<bf16, 2> x, in<std::uint8_t, 2> packed,
                                                                   in<float, 2> scales, out<float, 2> y) {
  auto g = grid_over(y, shape<BM, BN>);
  tile sums = loop(
      x.extent(1) / 64, zeros<float>(shape<BM, BN>),
      [&](auto k, auto sum) {
        tile weights = unpack<P>(load(packed, shape<64, BN / 2>, k, g[1]));
        tile scaled = cast<bf16>(cast<float>(weights) * load(scales, shape<1, BN>, k, g[1]));
        return dot(load(x, shape<BM, 64>, g[0], k), scaled, sum);
      },
      stages<3>);
  store(y, shape<BM, BN>, sums, g[0], g[1]);
});

template <class P>
void check_packed_weights(Executor on) {
  std::int64_t const rows = 70, depth = 192, columns = 160;
  Array<bf16, 2> x({rows, depth});
  for (bf16& v : x.values) v = bf16(static_cast<float>(draw_below(9)) - 4);
  Array<std::uint8_t, 2> packed({depth, columns / 2});
  for (std::uint8_t& b : packed.values) b = static_cast<std::uint8_t>(draw_below(256));
  Array<float, 2> scales({depth / 64, columns});
  for (float& s : scales.values) s = static_cast<float>(1 << draw_below(3));
  Array<float, 2> y({rows, columns}, -1);
  TEGULA_CHECK_RUN(on, (packed_weights<P, 64, 128>), x, packed, scales, y);
  for (std::int64_t i = 0; i < rows; i += 3)
    for (std::int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        int const bits = packed[k * columns / 2 + j / 2] >> (4 * (j % 2)) & 15;
        int const weight = std::is_same_v<P, i4> && bits > 7 ? bits - 16 : bits;
        sum += static_cast<float>(x[i * depth + k]) * static_cast<float>(weight) * scales[k / 64 * columns + j];
      }
      REQUIRE(y[i * columns + j] == sum);
    }
}

/// Multiplies few rows by the transpose of weights of few bits, whose rows run along K: u4 in bytes, or std::int8_t.
template <class W, int BM, int BN, int BK>
inline constexpr auto weights_along_depth = kernel("weights_along_depth", [](in<bf16, 2> x, in<std::int8_t, 2> q,
                                                                             in<bf16, 2> scales, out<float, 2> y) {
  constexpr bool packed = std::is_same_v<W, u4>;
  auto g = grid_over(y, shape<BM, BN>);
  tile sums = loop(
      ceil_div(x.extent(1), BK), zeros<float>(shape<BM, BN>),
      [&](auto k, auto sum) {
        auto whole = [&] {
          if constexpr (packed) return tile(cast<float>(unpack<u4>(load(q, shape<BN, BK / 2>, g[1], k))));
          if constexpr (!packed) return tile(cast<float>(load(q, shape<BN, BK>, g[1], k)));
        };
        tile scaled = cast<bf16>(whole() * cast<float>(load(scales, shape<BN, 1>, g[1], k)));
        return dot(load(x, shape<BM, BK>, g[0], k), trans(scaled), sum);
      },
      stages<3>);
  store(y, shape<BM, BN>, sums, g[0], g[1]);
});

template <class W, int BM, int BN, int BK>
void check_weights_along_depth(Executor on, std::int64_t rows, std::int64_t columns, std::int64_t depth, int split) {
  constexpr bool packed = std::is_same_v<W, u4>;
  Array<bf16, 2> x({rows, depth}), scales({columns, (depth + BK - 1) / BK});
  for (bf16& v : x.values) v = bf16(static_cast<float>(draw_below(9)) - 4);
  for (bf16& v : scales.values) v = bf16(static_cast<float>(1 << draw_below(3)));
  Array<std::int8_t, 2> q({columns, packed ? depth / 2 : depth});
  for (std::int8_t& b : q.values) b = static_cast<std::int8_t>(static_cast<int>(draw_below(256)) - 128);
  Array<float, 2> y({rows, columns}, -1);
  INFO(name(on) << ": " << rows << " x " << columns << " x " << depth << ", split " << split);
  auto const kernel =
      variants("weights_along_depth", variant(with({.split = split}), weights_along_depth<W, BM, BN, BK>));
  TEGULA_CHECK_RUN(on, kernel, x, q, scales, y);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        int const byte = q[packed ? (j * depth + k) / 2 : j * depth + k];
        int const weight = packed ? byte >> (4 * (k % 2)) & 15 : byte;
        sum += static_cast<float>(x[i * depth + k]) * static_cast<float>(weight) *
               static_cast<float>(scales[j * scales.extents[1] + k / BK]);
      }
      wrong += y[i * columns + j] == sum ? 0 : 1;
    }
  CHECK(wrong == 0);
}

inline void check_packed(Executor on) {
  check_weights_along_depth<u4, 16, 64, 128>(on, 5, 200, 512, 1);
  check_weights_along_depth<u4, 16, 32, 64>(on, 16, 96, 320, 2);
  check_weights_along_depth<u4, 8, 64, 32>(on, 3, 64, 224, 1);
  check_weights_along_depth<std::int8_t, 16, 64, 128>(on, 16, 80, 384, 1);
  check_weights_along_depth<std::int8_t, 32, 128, 64>(on, 33, 130, 200, 2);

  check_four_bits<i4, std::int8_t>(on);
  check_four_bits<i4, std::uint8_t>(on);
  check_four_bits<u4, std::int8_t>(on);
  check_four_bits<u4, std::uint8_t>(on);
  check_packed_weights<i4>(on);
  check_packed_weights<u4>(on);
}

}  // namespace tegula::test
