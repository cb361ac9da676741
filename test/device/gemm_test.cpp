// Tests a product on a CUDA device, after the passes: borders and every trip count of its rings, against float64.
// [sanitize] selects small cases for compute-sanitizer.
#include <array>
#include <random>
#include <vector>

#include "../../samples/kernels.hpp"
#include "../../samples/support/compare.hpp"
#include "hand_written_ptx.hpp"
#include "support/catch.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;

namespace {

/// Draws small halves: sums of their products are exact in f32.
template <class T>
std::vector<T> halves(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(static_cast<float>(static_cast<int>(random() % 9) - 4) / 2);
  return values;
}

template <class Kernel>
void check(Kernel const& kernel, std::int64_t m, std::int64_t n, std::int64_t k) {
  cuda_stream const order;
  auto const a = halves<bf16>(m * k, 1), b = halves<bf16>(k * n, 2);
  auto const bias = halves<float>(n, 3);
  buffer<bf16, 2> device_a(order.where(), m, k), device_b(order.where(), k, n), device_c(order.where(), m, n);
  buffer<float> device_bias(order.where(), n);
  device_a.copy_from(a), device_b.copy_from(b), device_bias.copy_from(bias);
  device_c.fill(samples::poison<bf16>());
  launch(order, kernel, device_a, device_b, device_bias, device_c);
  std::vector<bf16> c(static_cast<std::size_t>(m * n));
  device_c.copy_to(c);
  samples::Comparison all;
  std::vector<double> row(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) row[static_cast<std::size_t>(j)] = bias[static_cast<std::size_t>(j)];
    for (std::int64_t x = 0; x < k; ++x) {
      double const factor = static_cast<double>(static_cast<float>(a[static_cast<std::size_t>(i * k + x)]));
      for (std::int64_t j = 0; j < n; ++j)
        row[static_cast<std::size_t>(j)] +=
            factor * static_cast<double>(static_cast<float>(b[static_cast<std::size_t>(x * n + j)]));
    }
    for (std::int64_t j = 0; j < n; ++j) {
      auto const expected = static_cast<bf16>(static_cast<float>(std::max(row[static_cast<std::size_t>(j)], 0.0)));
      all.add(i * n + j, c[static_cast<std::size_t>(i * n + j)], static_cast<double>(expected));
    }
  }
  INFO("m, n, k = " << m << ", " << n << ", " << k);
  CHECK(all.failure() == "");
}

}  // namespace

TEST_CASE("a product of tiles is right on the device at borders and every trip count", "[device][sanitize][B2][B31]") {
  TEGULA_NEED_HOPPER();
  auto const kernel = samples::gemm<128, 256, 64>(samples::bias_relu);
  for (std::int64_t const k : {8, 64, 192, 256, 320, 576}) check(kernel, 136, 264, k);
  check(kernel, 1, 8, 64);
}

TEST_CASE("a product of tiles is right on the device with more tiles than multiprocessors", "[device]") {
  TEGULA_NEED_HOPPER();
  check(samples::gemm<128, 256, 64>(samples::bias_relu), 1000, 1032, 1016);
  check(samples::gemm<64, 64, 32>(samples::bias_relu), 1000, 1032, 200);
}

TEST_CASE("a product of tiles whose rows are no multiples of 16 bytes is right on the device", "[device][sanitize]") {
  TEGULA_NEED_HOPPER();
  for (auto const& [m, n, k] : {std::array{1, 1, 1}, {9, 7, 65}, {131, 135, 321}, {66, 64, 193}, {129, 67, 256}}) {
    check(samples::gemm<64, 64, 64>(samples::bias_relu), m, n, k);
    check(samples::gemm<128, 128, 64>(samples::bias_relu), m, n, k);
  }
}
