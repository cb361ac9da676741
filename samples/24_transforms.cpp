// Computes Fourier transforms of rows, the forces between all pairs of bodies, and a prefix sum in one pass.
#include "scan_kernels.hpp"
#include "support/report.hpp"
#include "transform_kernels.hpp"

#include <complex>

using namespace tegula;

namespace {

constexpr std::int64_t rows = 5, length = 256, bodies = 300, values = 70000, part = 4096;
constexpr float softening = 0.01F;

std::vector<double> transforms(std::vector<double> const& x) {
  std::vector<double> y;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t k = 0; k < length; ++k) {
      std::complex<double> sum = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        auto const at = static_cast<std::size_t>((row * length + i) * 2);
        sum += std::complex<double>(x[at], x[at + 1]) *
               std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k * i % length) / double{length});
      }
      y.insert(y.end(), {sum.real(), sum.imag()});
    }
  return y;
}

std::vector<double> forces(std::vector<double> const& x) {
  std::vector<double> y(3 * bodies, 0);
  for (std::size_t i = 0; i < bodies; ++i)
    for (std::size_t j = 0; j < bodies; ++j) {
      double square = double{softening};
      for (std::size_t k = 0; k < 3; ++k) square += std::pow(x[k * bodies + j] - x[k * bodies + i], 2);
      double const pull = x[3 * bodies + j] / (square * std::sqrt(square));
      for (std::size_t k = 0; k < 3; ++k) y[k * bodies + i] += (x[k * bodies + j] - x[k * bodies + i]) * pull;
    }
  return y;
}

}  // namespace

int main() {
  return samples::guarded("24_transforms", [] {
    device const where = device::best();
    stream const order(where);
    auto const signal = samples::random_values<float>(rows * length * 2),
               mass = samples::random_values<float>(4 * bodies);
    std::vector<std::uint32_t> numbers;
    for (std::int64_t i = 0; i < values; ++i) numbers.push_back(static_cast<std::uint32_t>(i) * 2654435761U >> 12U);
    auto const X = samples::filled<float, 3>(where, signal, rows, length, 2);
    auto const B = samples::filled<float, 2>(where, mass, 4, bodies);
    auto const N = samples::filled<std::uint32_t, 1>(where, numbers, values);
    auto Y = samples::poisoned<float, 3>(where, rows, length, 2);
    auto F = samples::poisoned<float, 2>(where, 3, bodies);
    buffer<std::uint32_t, 1> S(where, values);
    buffer<std::uint64_t, 1> words(where, ceil_div(values, part));
    buffer<int, 1> next(where, 1);
    double const seconds = samples::best_seconds(order, prepare(where, samples::fourier<length, 16, 16>, X, Y), 3);
    launch(order, samples::gravity<128, 64>, B, F, softening);
    launch(order, samples::scan_start<1024>, words, next);
    launch(order, samples::scan_long<part>, N, S, words, next);

    std::vector<float> found(signal.size());
    Y.copy_to(found);
    samples::Comparison all = samples::compare(found, transforms(samples::exact(signal)), 16, 1e-6);
    found.resize(3 * bodies);
    F.copy_to(found);
    all.join(samples::compare(found, forces(samples::exact(mass)), 1000, 1e-5));
    std::vector<std::uint32_t> sums(numbers.size());
    S.copy_to(sums);
    std::vector<double> expected;
    std::uint32_t total = 0;
    for (std::uint32_t const number : numbers) expected.push_back(total += number);
    all.join(samples::compare(sums, expected, 0, 0));
    return samples::report("24_transforms", "5 transforms of 256, 300 bodies, 70000 sums", where, seconds,
                           16e-9 * double{rows * length} / seconds, "GB/s", all);
  });
}
