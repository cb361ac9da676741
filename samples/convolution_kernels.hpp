// Defines convolutions of pictures. A program that launches these includes <tegula/tegula.hpp>.
//
// Pictures are (picture, row, column, channel), filters (row, column, channel, output channel). Pixels outside of a
// picture are 0; with filters of 3 x 3 and a padding of 1, strides of 1 keep the size.
#pragma once

#include <tegula/dsl/dsl.hpp>

namespace samples {

using namespace tegula;

/// Computes a convolution with filters of `size` x `size`, as one product for each pixel of the filter. A block has BP
/// pictures' boxes of BH x BW results and BN output channels, and takes BC channels at a time.
template <int BP, int BH, int BW, int BN, int BC, int size = 3, int stride = 1>
inline constexpr auto convolution = kernel("convolution", [](in<bf16, 4> x, in<bf16, 4> filters, out<bf16, 4> y) {
  require(x.extent(3) == filters.extent(2), "convolution: the filters are for another number of channels");
  constexpr int pixels = BP * BH * BW, padding = size / 2;
  auto g = grid_over(y, shape<BP, BH, BW, BN>);
  auto steps = ceil_div(x.extent(3), BC);
  tile sums = loop(
      size * size * steps, zeros<float>(shape<pixels, BN>),
      [&](auto i, auto before) {
        auto tap = i / steps;
        auto down = tap / size, right = tap % size;
        auto c = i % steps;
        tile box = [&] {
          if constexpr (stride == 1)
            return tile(load(x, shape<BP, BH, BW, BC>, elem(g[0] * BP), elem(g[1] * BH + down - padding),
                             elem(g[2] * BW + right - padding), elem(c * BC)));
        }();
        tile weights = reshape(load(filters, shape<1, 1, BC, BN>, down, right, c, g[3]), shape<BC, BN>);
        return dot(reshape(box, shape<pixels, BC>), weights, before);
      },
      stages<4>);
  store(y, shape<BP, BH, BW, BN>, reshape(cast<bf16>(sums), shape<BP, BH, BW, BN>), g[0], g[1], g[2], g[3]);
});

/// Computes a depthwise convolution: each channel has a filter of its own, (row, column, channel).
template <int BH, int BW, int BC, int size = 3>
inline constexpr auto depthwise = kernel("depthwise", [](in<bf16, 4> x, in<bf16, 3> filters, out<bf16, 4> y) {
  require(x.extent(3) == filters.extent(2), "depthwise: the filters are for another number of channels");
  auto g = grid_over(y, shape<1, BH, BW, BC>);
  tile sums = zeros<float>(shape<BH, BW, BC>);
  for (int down = 0; down < size; ++down)
    for (int right = 0; right < size; ++right) {
      tile box = load(x, shape<BH, BW, BC>, elem(g[0]), elem(g[1] * BH + (down - size / 2)),
                      elem(g[2] * BW + (right - size / 2)), elem(g[3] * BC));
      tile weight = load(filters, shape<1, 1, BC>, down, right, g[3]);
      sums += cast<float>(box) * cast<float>(weight);
    }
  store(y, shape<BH, BW, BC>, cast<bf16>(sums), g[0], g[1], g[2], g[3]);
});

}  // namespace samples
