// Sharpens a picture: a separable Gaussian blur and an unsharp mask, two kernels on the best device.
//
//   sample_05_image [picture.png|picture.ppm [output.png|output.ppm]]
//
// Without arguments it takes samples/data/scene.png and writes sharpened.png beside the program's working folder. The
// result is checked, pixel by pixel, against the same chain in double precision.
#include <tegula/runtime/timer.hpp>
#include <tegula/tegula.hpp>

#include "support/image.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

namespace {

using namespace tegula;

constexpr int radius = 4;
using Weights = std::array<float, radius + 1>;  // of distance 0 to radius

Weights gaussian(double sigma) {
  Weights weights{};
  for (int k = 0; k <= radius; ++k)
    weights[static_cast<std::size_t>(k)] = static_cast<float>(std::exp(-k * k / (2 * sigma * sigma)));
  return weights;
}

/// One axis of the blur around this block's tile. Past the border there is nothing: the weights inside are scaled to
/// sum to one. Offsets in elements, so that neighbours' tiles overlap; what lies outside of the picture loads as 0.
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

/// The second axis of the blur, and what the blur took away, amplified, put back on top of the picture.
template <int BH, int BW>
auto sharpen(Weights weights) {
  return kernel("sharpen", [weights](in<float, 3> x, in<float, 3> rows, out<float, 3> y, arg<float> amount) {
    auto g = grid_over(y, shape<1, BH, BW>);
    tile sharp = load(x, shape<BH, BW>, g[0], g[1], g[2]);
    tile detail = sharp - blurred<0, BH, BW>(rows, g, weights);
    store(y, shape<BH, BW>, min(max(sharp + detail * amount, 0), 1), g[0], g[1], g[2]);
  });
}

/// The same chain in double precision, from the float weights and pixels.
std::vector<double> reference(std::vector<float> const& x, int channels, int height, int width, Weights const& weights,
                              double amount) {
  auto const at = [&](int c, int i, int j) {
    return (static_cast<std::size_t>(c) * static_cast<std::size_t>(height) + static_cast<std::size_t>(i)) *
               static_cast<std::size_t>(width) +
           static_cast<std::size_t>(j);
  };
  auto const blur = [&](std::vector<double> const& from, int c, int i, int j, bool rows) {
    double sum = 0, norm = 0;
    for (int k = -radius; k <= radius; ++k) {
      int const y = rows ? i : i + k;
      int const z = rows ? j + k : j;
      if (y < 0 || y >= height || z < 0 || z >= width) continue;
      double const weight = static_cast<double>(weights[static_cast<std::size_t>(std::abs(k))]);
      sum += weight * from[at(c, y, z)];
      norm += weight;
    }
    return sum / norm;
  };
  std::vector<double> const exact(x.begin(), x.end());
  std::vector<double> rows(x.size()), result(x.size());
  for (int c = 0; c < channels; ++c)
    for (int i = 0; i < height; ++i)
      for (int j = 0; j < width; ++j) rows[at(c, i, j)] = blur(exact, c, i, j, true);
  for (int c = 0; c < channels; ++c)
    for (int i = 0; i < height; ++i)
      for (int j = 0; j < width; ++j) {
        double const sharp = exact[at(c, i, j)];
        result[at(c, i, j)] = std::clamp(sharp + (sharp - blur(rows, c, i, j, false)) * amount, 0.0, 1.0);
      }
  return result;
}

std::string default_picture() {
  char const* folder = std::getenv("TEGULA_SAMPLE_DATA");
  return std::string(folder != nullptr ? folder : TEGULA_SAMPLE_DATA) + "/scene.png";
}

int run(std::string const& input, std::string const& output) {
  samples::Image const image = samples::read_image(input);
  std::vector<float> const pixels = samples::to_planes(image);
  Weights const weights = gaussian(1.6);
  float const amount = 0.8F;

  device const where = device::best();
  stream const order(where);
  buffer<float, 3> x(where, image.channels, image.height, image.width);
  buffer<float, 3> rows(where, image.channels, image.height, image.width);
  buffer<float, 3> y(where, image.channels, image.height, image.width);
  x.copy_from(pixels);
  rows.fill(std::nanf(""));
  y.fill(std::nanf(""));

  auto const first = prepare(where, blur_rows<16, 64>(weights), x, rows);
  auto const second = prepare(where, sharpen<16, 64>(weights), x, rows, y, amount);
  int const repeats = 20;
  timer clock(order);
  double best = 1e30;
  for (int i = 0; i < repeats; ++i) {
    clock.start();
    first(order);
    second(order);
    clock.stop();
    best = std::min(best, clock.seconds());
  }

  std::vector<float> result(pixels.size());
  y.copy_to(result);
  auto const expected =
      reference(pixels, image.channels, image.height, image.width, weights, static_cast<double>(amount));
  double error = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    double const difference = std::abs(static_cast<double>(result[i]) - expected[i]);
    error = difference <= error ? error : difference;  // a NaN stays
  }
  samples::write_image(output, samples::from_planes(result, image.width, image.height, image.channels));

  bool const ok = error < 2e-6;
  std::printf("05_image  %d x %d x %d on %s: %.3f ms, %.0f Mpixel/s, error %.1e, wrote %s, %s\n", image.width,
              image.height, image.channels, where.str().c_str(), best * 1e3,
              static_cast<double>(image.width) * image.height / best * 1e-6, error, output.c_str(),
              ok ? "ok" : "WRONG");
  return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : default_picture(), argc > 2 ? argv[2] : "sharpened.png");
  } catch (std::exception const& error) {
    std::printf("05_image  failed: %s\n", error.what());
    return 1;
  }
}
