// Multiplies bf16 by weights of 4 bits: two in a byte, with one scale for each column of a group of rows. The weights
// become bf16 in registers, right before the product.
//
// The low half of byte (k, n) holds weight (k, n), its high half weight (k + depth / 2, n). So a tile of bytes gives
// two tiles of weights without a shuffle, and each meets its own columns of the left operand.
#include "support/report.hpp"

using namespace tegula;

namespace {

constexpr int group = 64;  // rows that share scales; one step of the loop takes one group of either half

/// Gives weights of 4 bits, as signed integers, times their scales.
constexpr auto dequantised =
    function("dequantised", [](auto weights, auto scales) { return cast<bf16>(cast<float>(weights) * scales); });

template <int BM, int BN>
constexpr auto int4_product = kernel("int4_product", [](in<bf16, 2> x, in<std::int8_t, 2> packed, in<float, 2> scales,
                                                        out<bf16, 2> y) {
  require(x.extent(1) == 2 * packed.extent(0), "int4_product: a byte holds two weights");
  require(packed.extent(0) % group == 0, "int4_product: half of the depth is a multiple of a group");
  require(scales.extent(0) * group == x.extent(1), "int4_product: each group of rows has its scales");
  auto g = grid_over(y, shape<BM, BN>);
  auto half = packed.extent(0) / group;  // groups in either half
  tile sums = loop(
      half, zeros<float>(shape<BM, BN>),
      [&](auto k, auto sum) {
        tile bytes = cast<int>(load(packed, shape<group, BN>, k, g[1]));
        tile low = dequantised((bytes << 28) >> 28, load(scales, shape<1, BN>, k, g[1]));
        tile high = dequantised(bytes >> 4, load(scales, shape<1, BN>, k + half, g[1]));
        tile first = dot(load(x, shape<BM, group>, g[0], k), low, sum);
        return dot(load(x, shape<BM, group>, g[0], k + half), high, first);
      },
      stages<3>);
  store(y, shape<BM, BN>, cast<bf16>(sums), g[0], g[1]);
});

}  // namespace

int main() {
  return samples::guarded("12_int4_product", [] {
    std::int64_t const rows = 200, depth = 1024, columns = 1008, half = depth / 2, groups = depth / group;
    device const where = device::best();
    stream const order(where);
    auto const x = samples::random_values<bf16>(rows * depth);
    std::vector<int> weights;  // -8 to 7
    for (double w : samples::exact(samples::random_values<float>(depth * columns)))
      weights.push_back(static_cast<int>(std::floor(w * 8)));
    auto const weight = [&](std::int64_t k, std::int64_t n) {
      return weights[static_cast<std::size_t>(k * columns + n)];
    };
    std::vector<std::int8_t> packed;
    for (std::int64_t k = 0; k < half; ++k)
      for (std::int64_t n = 0; n < columns; ++n)
        packed.push_back(static_cast<std::int8_t>((weight(k, n) & 15) | (weight(k + half, n) << 4)));
    auto const scales = samples::random_values<float>(groups * columns);
    auto const device_x = samples::filled<bf16, 2>(where, x, rows, depth);
    auto const device_packed = samples::filled<std::int8_t, 2>(where, packed, half, columns);
    auto const device_scales = samples::filled<float, 2>(where, scales, groups, columns);
    auto device_y = samples::poisoned<bf16, 2>(where, rows, columns);
    double const seconds = samples::best_seconds(
        order, prepare(where, int4_product<128, 128>, device_x, device_packed, device_scales, device_y));

    std::vector<bf16> y(static_cast<std::size_t>(rows * columns));
    device_y.copy_to(y);
    auto const a = samples::exact(x);
    std::vector<double> expected(y.size(), 0);
    for (std::int64_t k = 0; k < depth; ++k)
      for (std::int64_t n = 0; n < columns; ++n) {
        float const scale = scales[static_cast<std::size_t>(k / group * columns + n)];
        auto const b = static_cast<double>(bf16(static_cast<double>(static_cast<float>(weight(k, n)) * scale)));
        for (std::int64_t i = 0; i < rows; ++i)
          expected[static_cast<std::size_t>(i * columns + n)] += a[static_cast<std::size_t>(i * depth + k)] * b;
      }
    return samples::report("12_int4_product",
                           std::to_string(rows) + " x " + std::to_string(columns) + " x " + std::to_string(depth),
                           where, seconds, 2e-9 * static_cast<double>(rows * columns * depth) / seconds, "GFLOP/s",
                           samples::compare(y, expected, 1, 4e-3));
  });
}
