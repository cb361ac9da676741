// Convolves pictures: 3 x 3 pixels by a product for each pixel of the filters, and each channel by itself.
#include "convolution_kernels.hpp"
#include "support/report.hpp"

using namespace tegula;

namespace {

constexpr std::int64_t pictures = 2, height = 13, width = 18, channels = 72, results = 40, size = 3;

/// Computes both in float64; `depthwise`: each channel has a filter of its own.
std::vector<double> reference(std::vector<double> const& x, std::vector<double> const& filters, bool depthwise) {
  std::int64_t const outputs = depthwise ? channels : results;
  std::vector<double> y(static_cast<std::size_t>(pictures * height * width * outputs), 0);
  for (std::int64_t pixel = 0; pixel < pictures * height * width; ++pixel)
    for (std::int64_t tap = 0; tap < size * size; ++tap) {
      std::int64_t const row = pixel / width % height + tap / size - 1, column = pixel % width + tap % size - 1;
      if (row < 0 || row >= height || column < 0 || column >= width) continue;
      std::int64_t const from = ((pixel / width / height * height + row) * width + column) * channels;
      for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t n = depthwise ? c : 0; n < (depthwise ? c + 1 : results); ++n)
          y[static_cast<std::size_t>(pixel * outputs + n)] +=
              x[static_cast<std::size_t>(from + c)] *
              filters[static_cast<std::size_t>(depthwise ? tap * channels + c : (tap * channels + c) * results + n)];
    }
  return y;
}

}  // namespace

int main() {
  return samples::guarded("23_convolution", [] {
    device const where = device::best();
    stream const order(where);
    auto const x = samples::random_values<bf16>(pictures * height * width * channels);
    auto const filters = samples::random_values<bf16>(size * size * channels * results),
               own = samples::random_values<bf16>(size * size * channels);
    auto const X = samples::filled<bf16, 4>(where, x, pictures, height, width, channels);
    auto const F = samples::filled<bf16, 4>(where, filters, size, size, channels, results);
    auto const G = samples::filled<bf16, 3>(where, own, size, size, channels);
    auto Y = samples::poisoned<bf16, 4>(where, pictures, height, width, results),
         Z = samples::poisoned<bf16, 4>(where, pictures, height, width, channels);
    double const seconds =
        samples::best_seconds(order, prepare(where, samples::convolution<2, 8, 8, 64, 64>, X, F, Y), 3);
    launch(order, samples::depthwise<8, 8, 64>, X, G, Z);

    std::vector<bf16> found(static_cast<std::size_t>(pictures * height * width * results));
    Y.copy_to(found);
    samples::Comparison all =
        samples::compare(found, reference(samples::exact(x), samples::exact(filters), false), 1, 4e-3);
    found.resize(x.size());
    Z.copy_to(found);
    all.join(samples::compare(found, reference(samples::exact(x), samples::exact(own), true), 1, 4e-3));
    return samples::report("23_convolution", "2 pictures of 13 x 18, 72 channels to 40, and depthwise", where, seconds,
                           2e-9 * double{pictures * height * width * channels * results * size * size} / seconds,
                           "GFLOP/s", all);
  });
}
