// Denoises a picture by non-local means, then sharpens it by an unsharp mask: three kernels on the best device.
//
//   sample_05_image [picture.png|picture.ppm [output.png|output.ppm [noise]]]
//
// The output has three pictures side by side: noisy, denoised, sharpened. `noise` is the standard deviation of the
// picture's noise, white being 1. Without arguments the sample adds noise to samples/data/scene.png and writes
// denoised.png in the working folder. The results are checked, pixel by pixel, against the same chain in double
// precision. Where the sample added the noise, the denoised picture also has to be closer to the clean one.
#include "image_kernels.hpp"
#include "support/image.hpp"
#include "support/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace tegula;

using samples::margin, samples::patch, samples::radius, samples::search, samples::Weights;

/// Holds the size of a picture and the place of a pixel in its planes.
struct Size {
  int channels, height, width;
  [[nodiscard]] std::size_t count() const { return at(channels, 0, 0); }
  [[nodiscard]] std::size_t at(int c, int i, int j) const {
    auto const rows = static_cast<std::size_t>(c) * static_cast<std::size_t>(height) + static_cast<std::size_t>(i);
    return rows * static_cast<std::size_t>(width) + static_cast<std::size_t>(j);
  }
  [[nodiscard]] Size with_margin() const { return {channels, height + 2 * margin, width + 2 * margin}; }
};

/// Calls `body(channel, row, column)` for every pixel.
template <class Body>
void each_pixel(Size const& size, Body const& body) {
  for (int c = 0; c < size.channels; ++c)
    for (int i = 0; i < size.height; ++i)
      for (int j = 0; j < size.width; ++j) body(c, i, j);
}

/// Adds noise and rounds to 8 bits, as a camera does.
std::vector<float> noisy(std::vector<float> planes, Size const& size, double deviation) {
  std::mt19937_64 engine(1);
  std::normal_distribution<double> noise(0, deviation);
  for (float& value : planes) value += static_cast<float>(noise(engine));
  return samples::to_planes(samples::from_planes(planes, size.width, size.height, size.channels));
}

/// Surrounds a picture by the pixels mirrored at its border.
std::vector<float> mirrored(std::vector<float> const& planes, Size const& size) {
  auto const inside = [](int i, int extent) {
    i = std::abs(i);
    return std::clamp(i < extent ? i : 2 * extent - 2 - i, 0, extent - 1);
  };
  Size const large = size.with_margin();
  std::vector<float> result(large.count());
  each_pixel(large, [&](int c, int i, int j) {
    result[large.at(c, i, j)] = planes[size.at(c, inside(i - margin, size.height), inside(j - margin, size.width))];
  });
  return result;
}

/// Denoises in double precision. Each offset between two patches takes one picture of squares, whose sums over patches
/// are sums over columns of sums over rows.
std::vector<double> reference_denoise(std::vector<double> const& x, Size const& size, double noise, double falloff) {
  Size const large = size.with_margin(), plane{1, large.height, large.width};
  std::vector<double> total(size.count()), weights(size.count()), squares(plane.count()), rows(plane.count());
  for (int down = -search; down <= search; ++down)
    for (int right = -search; right <= search; ++right) {
      for (int i = search; i < large.height - search; ++i)
        for (int j = search; j < large.width - search; ++j) {
          double sum = 0;
          for (int c = 0; c < size.channels; ++c) {
            double const d = x[large.at(c, i, j)] - x[large.at(c, i + down, j + right)];
            sum += d * d;
          }
          squares[plane.at(0, i, j)] = sum;
        }
      for (int i = search; i < large.height - search; ++i)
        for (int j = margin; j < large.width - margin; ++j) {
          double sum = 0;
          for (int k = -patch; k <= patch; ++k) sum += squares[plane.at(0, i, j + k)];
          rows[plane.at(0, i, j)] = sum;
        }
      for (int i = margin; i < large.height - margin; ++i)
        for (int j = margin; j < large.width - margin; ++j) {
          double distance = 0;
          for (int k = -patch; k <= patch; ++k) distance += rows[plane.at(0, i + k, j)];
          double const weight = std::exp(std::min(noise - distance, 0.0) * falloff);
          for (int c = 0; c < size.channels; ++c) {
            total[size.at(c, i - margin, j - margin)] += weight * x[large.at(c, i + down, j + right)];
            weights[size.at(c, i - margin, j - margin)] += weight;
          }
        }
    }
  for (std::size_t i = 0; i < total.size(); ++i) total[i] /= weights[i];
  return total;
}

/// Sharpens in double precision, from the float weights.
std::vector<double> reference_sharpen(std::vector<double> const& x, Size const& size, Weights const& weights,
                                      double amount) {
  auto const blur = [&](std::vector<double> const& from, int c, int i, int j, bool rows) {
    double sum = 0, norm = 0;
    for (int k = -radius; k <= radius; ++k) {
      int const y = rows ? i : i + k;
      int const z = rows ? j + k : j;
      if (y < 0 || y >= size.height || z < 0 || z >= size.width) continue;
      double const weight = static_cast<double>(weights[static_cast<std::size_t>(std::abs(k))]);
      sum += weight * from[size.at(c, y, z)];
      norm += weight;
    }
    return sum / norm;
  };
  std::vector<double> rows(x.size()), result(x.size());
  each_pixel(size, [&](int c, int i, int j) { rows[size.at(c, i, j)] = blur(x, c, i, j, true); });
  each_pixel(size, [&](int c, int i, int j) {
    double const sharp = x[size.at(c, i, j)];
    result[size.at(c, i, j)] = std::clamp(sharp + (sharp - blur(rows, c, i, j, false)) * amount, 0.0, 1.0);
  });
  return result;
}

/// Returns the planes of pictures of one size, side by side.
std::vector<float> side_by_side(std::vector<std::vector<float>> const& pictures, Size const& size) {
  Size const wide{size.channels, size.height, size.width * static_cast<int>(pictures.size())};
  std::vector<float> result(wide.count());
  each_pixel(wide, [&](int c, int i, int j) {
    result[wide.at(c, i, j)] = pictures[static_cast<std::size_t>(j / size.width)][size.at(c, i, j % size.width)];
  });
  return result;
}

/// Returns the distance of two pictures in decibels: more is closer.
double decibels(std::vector<float> const& x, std::vector<float> const& y) {
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) squares += std::pow(static_cast<double>(x[i] - y[i]), 2);
  return -10 * std::log10(squares / static_cast<double>(x.size()));
}

std::string default_picture() {
  char const* folder = std::getenv("TEGULA_SAMPLE_DATA");
  return std::string(folder != nullptr ? folder : TEGULA_SAMPLE_DATA) + "/scene.png";
}

int process(std::string const& input, std::string const& output, bool add_noise, double deviation) {
  samples::Image const image = samples::read_image(input);
  Size const size{image.channels, image.height, image.width};
  std::vector<float> const clean = samples::to_planes(image);
  std::vector<float> const pixels = add_noise ? noisy(clean, size, deviation) : clean;
  std::vector<float> const framed = mirrored(pixels, size);
  // Patches that differ by noise alone have this distance on average; weights fall beyond it.
  double const summands = (2 * patch + 1) * (2 * patch + 1) * size.channels;
  auto const noise = static_cast<float>(2 * deviation * deviation * summands);
  auto const falloff = static_cast<float>(1 / (0.16 * deviation * deviation * summands));
  Weights const weights = samples::gaussian(1.6);
  float const amount = 0.8F;

  device const where = device::best();
  stream const order(where);
  auto const [channels, height, width] = size;
  auto const x = samples::filled<float, 3>(where, framed, channels, height + 2 * margin, width + 2 * margin);
  auto denoised = samples::poisoned<float, 3>(where, channels, height, width);
  auto rows = samples::poisoned<float, 3>(where, channels, height, width);
  auto y = samples::poisoned<float, 3>(where, channels, height, width);
  auto const first = channels == 1 ? prepare(where, samples::denoise<1, 8, 64>, x, denoised, noise, falloff)
                                   : prepare(where, samples::denoise<3, 8, 64>, x, denoised, noise, falloff);
  auto const second = prepare(where, samples::blur_rows<16, 64>(weights), denoised, rows);
  auto const third = prepare(where, samples::sharpen<16, 64>(weights), denoised, rows, y, amount);
  double const seconds = samples::best_seconds(
      order,
      [&](stream const& on) {
        first(on);
        second(on);
        third(on);
      },
      3);

  std::vector<float> smooth(pixels.size()), sharp(pixels.size());
  denoised.copy_to(smooth);
  y.copy_to(sharp);
  samples::write_image(output,
                       samples::from_planes(side_by_side({pixels, smooth, sharp}, size), 3 * width, height, channels));
  auto const expected =
      reference_denoise(samples::exact(framed), size, static_cast<double>(noise), static_cast<double>(falloff));
  samples::Comparison all = samples::compare(smooth, expected, 1, 1e-5);
  all.join(samples::compare(sharp, reference_sharpen(expected, size, weights, static_cast<double>(amount)), 1, 1e-5));

  std::string summary = samples::text(width, " x ", height, " x ", channels);
  if (add_noise) {
    double const before = decibels(pixels, clean), after = decibels(smooth, clean);
    samples::Comparison gain(0);
    gain.add(0, std::min(after - before, 6.0), 6.0);  // at least 6 dB
    if (all.right() && !gain.right()) all = gain;
    summary += samples::text(" pixels, ", std::lround(before), " to ", std::lround(after), " dB,");
  } else {
    summary += " pixels";
  }
  double const rate = static_cast<double>(width) * height / seconds * 1e-6;
  return samples::report("05_image", summary + " to " + output, where, seconds, rate, "Mpixel/s", all);
}

}  // namespace

int main(int argc, char** argv) {
  return samples::guarded("05_image", [&] {
    char* end = nullptr;
    double const noise = argc > 3 ? std::strtod(argv[3], &end) : 0.08;
    if (!(noise > 0 && noise <= 1) || (argc > 3 && *end != '\0'))
      throw std::runtime_error("noise is " + std::string(argv[3]) + "; a number above 0, at most 1, is expected");
    return process(argc > 1 ? argv[1] : default_picture(), argc > 2 ? argv[2] : "denoised.png", argc < 2, noise);
  });
}
