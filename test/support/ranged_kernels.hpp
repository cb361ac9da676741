// Checks kernels that read where they go from tensors with stated ranges: page tables, sequences in one buffer.
#pragma once

#include <cmath>

#include "support/indexed_kernels.hpp"

namespace tegula::test {

/// Gives the facts of a kernel for sm_90a, with dense and aligned tensors. It must compile.
template <class Kernel>
KernelFacts gpu_facts(Kernel const& kernel, int parameters) {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = "sm_90a";
  options.facts.assign(static_cast<std::size_t>(parameters), TensorFacts{true, true});
  return facts(kernel, options);
}
/// Gives the PTX of a kernel for sm_90a, with dense and aligned tensors.
template <class Kernel>
std::string gpu_text(Kernel const& kernel, int parameters, bool ranges = false) {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = "sm_90a";
  options.ranges = ranges;
  options.facts.assign(static_cast<std::size_t>(parameters), TensorFacts{true, true});
  return compile(kernel, options).image;
}

/// Computes attention over keys and values in pages, which a table lists for each sequence.
template <int page, int d>
inline constexpr auto paged_attention = kernel("paged_attention", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V,
                                                                     in<int, 2> table, in<int, 1> lengths,
                                                                     out<float, 3> O, arg<float> scale_log2e) {
  auto g = grid_over(O, shape<64, d>);
  auto count = load(lengths, g[0], within<0, (1 << 20)>);
  tile q = load(Q, shape<64, d>, g[0], g[1], 0);
  auto [m, l, o] = loop(
      ceil_div(count, page), carry(full(shape<64, 1>, -inf), zeros<float>(shape<64, 1>), zeros<float>(shape<64, d>)),
      [&](auto j, auto m0, auto l0, auto o0) {
        auto at = load(table, g[0], j, within<0, 4096>);
        tile key = iota(shape<1, page>, axis<1>) + j * page;
        tile scores = dot(q, trans(load(K, shape<page, d>, at, 0, 0))) * scale_log2e;
        tile s = select(key < count, scores, -inf);
        tile m1 = max(m0, max(s, axis<1>));
        tile p = exp2(s - m1);
        tile a = exp2(m0 - m1);
        return carry(m1, l0 * a + sum(p, axis<1>), dot(cast<bf16>(p), load(V, shape<page, d>, at, 0, 0), o0 * a));
      },
      stages<2>);
  store(O, shape<64, d>, o / max(l, 1e-30F), g[0], g[1], 0);
});

inline void check_paged_attention(Executor on) {
  constexpr int page = 64, d = 64;
  std::int64_t const sequences = 3, rows = 64, pages = 9, longest = 3;
  Array<bf16, 3> q({sequences, rows, d}), k({pages, page, d}), v({pages, page, d});
  for (auto* x : {&q, &k, &v})
    for (bf16& e : x->values) e = bf16((static_cast<float>(draw_below(65)) - 32) / 32);
  Array<int, 2> table({sequences, longest});
  for (int& p : table.values) p = static_cast<int>(draw_below(pages));
  Array<int, 1> lengths({sequences});
  for (std::int64_t s = 0; s < sequences; ++s)
    lengths[s] = static_cast<int>(s == 1 ? 0 : 1 + draw_below(longest * page));
  Array<float, 3> o({sequences, rows, d}, -1);
  float const scale = 0.125F * 1.4426950408889634F;
  TEGULA_CHECK_RUN(on, (paged_attention<page, d>), q, k, v, table, lengths, o, scale);
  for (std::int64_t s = 0; s < sequences; ++s)
    for (std::int64_t i = 0; i < rows; i += 9) {
      std::vector<double> p;
      double sum = 0;
      auto const place = [&](std::int64_t t) { return (table[s * longest + t / page] * page + t % page) * d; };
      for (std::int64_t t = 0; t < lengths[s]; ++t) {
        double score = 0;
        for (int e = 0; e < d; ++e)
          score += static_cast<double>(q[(s * rows + i) * d + e]) * static_cast<double>(k[place(t) + e]);
        sum += p.emplace_back(std::exp(score * 0.125));
      }
      for (int e = 0; e < d; e += 5) {
        double expected = 0;
        for (std::int64_t t = 0; t < lengths[s]; ++t)
          expected += p[static_cast<std::size_t>(t)] / sum * static_cast<double>(v[place(t) + e]);
        REQUIRE(std::abs(static_cast<double>(o[(s * rows + i) * d + e]) - expected) < 0.02);
      }
    }
}

/// Takes the mean off the rows of each sequence; all sequences stand in one buffer, one after another.
inline constexpr auto centred =
    kernel("centred", [](in<float, 2> x, in<std::int64_t, 1> offsets, out<float, 2> y, arg<int> sequences) {
      auto g = grid(sequences, ceil_div(x.extent(1), 64));
      auto begin = load(offsets, g[0]), end = load(offsets, g[0] + 1);
      tile total = loop(range(begin, end, 16), zeros<float>(shape<16, 64>), [&](auto at, auto sum) {
        tile row = iota(shape<16, 1>, axis<0>) + at;
        return sum + select(row < end, load(x, shape<16, 64>, elem(at), g[1]), 0);
      });
      tile mean = sum(total, axis<0>) / cast<float>(max(end - begin, 1));
      loop(range(begin, end, 16), [&](auto at) {
        tile row = iota(shape<16, 1>, axis<0>) + at;
        tile column = iota(shape<1, 64>, axis<1>) + g[1] * 64;
        scatter(y, load(x, shape<16, 64>, elem(at), g[1]) - mean, row, column, mask(row < end));
      });
    });

inline void check_centred(Executor on) {
  std::int64_t const sequences = 7, width = 100;
  std::vector<std::int64_t> starts = {0};
  for (std::int64_t s = 0; s < sequences; ++s) starts.push_back(starts.back() + (s == 3 ? 0 : 1 + draw_below(40)));
  auto offsets = array_of(starts);
  Array<float, 2> x({starts.back(), width}), y({starts.back(), width}, -1);
  for (float& v : x.values) v = draw_number<float>();
  TEGULA_CHECK_RUN(on, centred, x, offsets, y, static_cast<int>(sequences));
  for (std::int64_t s = 0; s < sequences; ++s)
    for (std::int64_t j = 0; j < width; ++j) {
      double mean = 0;
      for (std::int64_t r = offsets[s]; r < offsets[s + 1]; ++r) mean += static_cast<double>(x[r * width + j]);
      mean /= static_cast<double>(std::max<std::int64_t>(offsets[s + 1] - offsets[s], 1));
      for (std::int64_t r = offsets[s]; r < offsets[s + 1]; ++r)
        REQUIRE(std::abs(static_cast<double>(y[r * width + j]) - (static_cast<double>(x[r * width + j]) - mean)) <
                1e-2);
    }
}

/// Copies a box at a loaded offset; ranged: below 2^20, and a multiple of 8.
template <bool ranged>
inline constexpr auto moved = kernel("moved", [](in<float, 1> x, in<int, 1> offsets, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 256>);
  auto from = [&] {
    if constexpr (ranged)
      return load(offsets, g[0], within<0, (1 << 20), 8>);
    else
      return load(offsets, g[0]);
  }();
  store(y, shape<1, 256>, expand_dims(load(x, shape<256>, elem(from), pad(-7)), axis<0>), g[0], g[1]);
});

inline void check_moved(Executor on) {
  Array<float, 1> x({1000});
  for (float& v : x.values) v = draw_number<float>();
  Array<int, 1> offsets({20});
  for (int& o : offsets.values) o = static_cast<int>(8 * draw_below(130));
  Array<float, 2> y({20, 256}, -1);
  TEGULA_CHECK_RUN(on, moved<true>, x, offsets, y);
  for (std::int64_t i = 0; i < 20; ++i)
    for (std::int64_t j = 0; j < 256; ++j) {
      std::int64_t const at = offsets[i] + j;
      REQUIRE(y[i * 256 + j] == (at < 1000 ? x[at] : -7));
    }
}

inline void check_ranged_kernels(Executor on) {
  check_paged_attention(on);
  check_centred(on);
  check_moved(on);
}

}  // namespace tegula::test
