// Defines the kernels of the image sample, shared with the tests. Whoever launches them includes <tegula/tegula.hpp>.
#pragma once

#include <tegula/dsl/dsl.hpp>

#include <array>
#include <cmath>
#include <cstdlib>

namespace samples {

using namespace tegula;

inline constexpr int radius = 4;
using Weights = std::array<float, radius + 1>;  // of distance 0 to radius

inline Weights gaussian(double sigma) {
  Weights weights{};
  for (int k = 0; k <= radius; ++k)
    weights[static_cast<std::size_t>(k)] = static_cast<float>(std::exp(-k * k / (2 * sigma * sigma)));
  return weights;
}

/// Blurs along one axis around this block's tile. The picture ends at the border: the weights inside are scaled to sum
/// to one. Offsets count elements, so that neighbours' tiles overlap; elements outside of the picture load as 0.
template <int axis_of, int BH, int BW, class Tensor, class Grid>
auto blurred(Tensor const& x, Grid const& g, Weights const& weights) {
  constexpr auto along = axis<axis_of>;
  constexpr auto line = shape < axis_of == 0 ? BH : 1, axis_of == 0 ? 1 : BW > ;
  auto row = g[1] * BH;
  auto column = g[2] * BW;
  auto first = axis_of == 0 ? row : column;
  auto extent = x.extent(axis_of + 1);
  tile sum = zeros<float>(shape<BH, BW>);
  tile norm = zeros<float>(line);
  tile place = iota(line, along) + first;
  for (int k = -radius; k <= radius; ++k) {
    float const weight = weights[static_cast<std::size_t>(std::abs(k))];
    auto y = axis_of == 0 ? row + k : row + 0;
    auto z = axis_of == 1 ? column + k : column + 0;
    sum = sum + load(x, shape<BH, BW>, g[0], elem(y), elem(z)) * weight;
    tile inside = (place + k >= 0) & (place + k < extent);
    norm = norm + select(inside, full(line, weight), zeros<float>(line));
  }
  return sum / norm;
}

template <int BH, int BW>
auto blur_rows(Weights weights) {
  return kernel("blur_rows", [weights](in<float, 3> x, out<float, 3> y) {
    auto g = grid_over(y, shape<1, BH, BW>);
    store(y, shape<BH, BW>, blurred<1, BH, BW>(x, g, weights), g[0], g[1], g[2]);
  });
}

/// Blurs along the second axis, and adds the amplified difference between picture and blur to the picture.
template <int BH, int BW>
auto sharpen(Weights weights) {
  return kernel("sharpen", [weights](in<float, 3> x, in<float, 3> rows, out<float, 3> y, arg<float> amount) {
    auto g = grid_over(y, shape<1, BH, BW>);
    tile sharp = load(x, shape<BH, BW>, g[0], g[1], g[2]);
    tile detail = sharp - blurred<0, BH, BW>(rows, g, weights);
    store(y, shape<BH, BW>, min(max(sharp + detail * amount, 0), 1), g[0], g[1], g[2]);
  });
}

}  // namespace samples
