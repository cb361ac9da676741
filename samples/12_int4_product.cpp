// Multiplies bf16 by weights of 4 bits: two in a byte, with one scale for each column of a group of rows. The weights
// become bf16 in registers, right before the product.
#include "support/report.hpp"

using namespace tegula;

namespace {

constexpr int group = 64;  // rows that share scales; one step of the loop takes one group

/// Byte (k, n) holds weights (k, 2 n) and (k, 2 n + 1), from -8 to 7.
template <int BM, int BN>
constexpr auto int4_product = kernel("int4_product", [](in<bf16, 2> x, in<std::uint8_t, 2> packed, in<float, 2> scales,
                                                        out<bf16, 2> y) {
  require(packed.extent(0) == x.extent(1), "int4_product: each column of x has a row of weights");
  require(2 * packed.extent(1) == y.extent(1), "int4_product: a byte holds two weights");
  require(scales.extent(0) * group == x.extent(1), "int4_product: each group of rows has its scales");
  auto g = grid_over(y, shape<BM, BN>);
  tile sums = loop(
      x.extent(1) / group, zeros<float>(shape<BM, BN>),
      [&](auto k, auto sum) {
        tile weights = unpack<i4>(load(packed, shape<group, BN / 2>, k, g[1]));
        tile scaled = cast<bf16>(cast<float>(weights) * load(scales, shape<1, BN>, k, g[1]));
        return dot(load(x, shape<BM, group>, g[0], k), scaled, sum);
      },
      stages<3>);
  store(y, shape<BM, BN>, cast<bf16>(sums), g[0], g[1]);
});

}  // namespace

int main() {
  return samples::guarded("12_int4_product", [] {
    std::int64_t const rows = 200, depth = 1024, columns = 1008, groups = depth / group;
    device const where = device::best();
    stream const order(where);
    auto const x = samples::random_values<bf16>(rows * depth);
    std::vector<int> weights;  // -8 to 7
    for (double w : samples::exact(samples::random_values<float>(depth * columns)))
      weights.push_back(static_cast<int>(std::floor(w * 8)));
    auto const weight = [&](std::int64_t k, std::int64_t n) {
      return weights[static_cast<std::size_t>(k * columns + n)];
    };
    std::vector<std::uint8_t> packed;
    for (std::size_t i = 0; i < weights.size(); i += 2)
      packed.push_back(static_cast<std::uint8_t>((weights[i] & 15) | (weights[i + 1] & 15) << 4));
    auto const scales = samples::random_values<float>(groups * columns);
    auto const device_x = samples::filled<bf16, 2>(where, x, rows, depth);
    auto const device_packed = samples::filled<std::uint8_t, 2>(where, packed, depth, columns / 2);
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
    return samples::report("12_int4_product", samples::text(rows, " x ", columns, " x ", depth), where, seconds,
                           2e-9 * static_cast<double>(rows * columns * depth) / seconds, "GFLOP/s",
                           samples::compare(y, expected, 1, 4e-3));
  });
}
