// Sharpens a picture: a separable Gaussian blur and an unsharp mask, two kernels on the best device.
//
//   sample_05_image [picture.png|picture.ppm [output.png|output.ppm]]
//
// Without arguments it takes samples/data/scene.png and writes sharpened.png beside the program's working folder. The
// result is checked, pixel by pixel, against the same chain in double precision.
#include "image_kernels.hpp"
#include "support/image.hpp"
#include "support/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using namespace tegula;

using samples::radius, samples::Weights;

/// Computes the same chain in double precision, from the float weights and pixels.
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

int sharpen_file(std::string const& input, std::string const& output) {
  samples::Image const image = samples::read_image(input);
  int const channels = image.channels, height = image.height, width = image.width;
  std::vector<float> const pixels = samples::to_planes(image);
  Weights const weights = samples::gaussian(1.6);
  float const amount = 0.8F;

  device const where = device::best();
  stream const order(where);
  auto const x = samples::filled<float, 3>(where, pixels, channels, height, width);
  auto rows = samples::poisoned<float, 3>(where, channels, height, width);
  auto y = samples::poisoned<float, 3>(where, channels, height, width);
  auto const first = prepare(where, samples::blur_rows<16, 64>(weights), x, rows);
  auto const second = prepare(where, samples::sharpen<16, 64>(weights), x, rows, y, amount);
  double const seconds = samples::best_seconds(order, [&](stream const& on) {
    first(on);
    second(on);
  });

  std::vector<float> result(pixels.size());
  y.copy_to(result);
  samples::write_image(output, samples::from_planes(result, width, height, channels));
  auto const expected = reference(pixels, channels, height, width, weights, static_cast<double>(amount));
  std::string const what = std::to_string(width) + " x " + std::to_string(height) + " x " + std::to_string(channels) +
                           " pixels to " + output;
  double const rate = static_cast<double>(width) * height / seconds * 1e-6;
  return samples::report("05_image", what, where, seconds, rate, "Mpixel/s",
                         samples::compare(result, expected, 1, 1e-6));
}

}  // namespace

int main(int argc, char** argv) {
  return samples::guarded("05_image", [&] {
    return sharpen_file(argc > 1 ? argv[1] : default_picture(), argc > 2 ? argv[2] : "sharpened.png");
  });
}
