// Checks kernels that read where they go from tensors with stated ranges: sequences in one buffer.
#pragma once

#include <cmath>

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// Returns the facts of a kernel for sm_90a, with dense and aligned tensors. It must compile.
template <class Kernel>
KernelFacts gpu_facts(Kernel const& kernel, int parameters) {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = "sm_90a";
  options.facts.assign(static_cast<std::size_t>(parameters), TensorFacts{true, true});
  return facts(kernel, options);
}
/// Returns the PTX of a kernel for sm_90a, with dense and aligned tensors.
template <class Kernel>
std::string gpu_text(Kernel const& kernel, int parameters, bool ranges = false) {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = "sm_90a";
  options.ranges = ranges;
  options.facts.assign(static_cast<std::size_t>(parameters), TensorFacts{true, true});
  return compile(kernel, options).image;
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
  check_centred(on);
  check_moved(on);
}

}  // namespace tegula::test
