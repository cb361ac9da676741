// Tests narrow elements and tf32 on a device: conversions bit by bit, products of every element of tensor cores.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "../../samples/support/compare.hpp"
#include "hand_written_ptx.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;

namespace {

template <class From, class To>
inline constexpr auto converting = kernel("converting", [](in<From, 1> x, out<To, 1> y) {
  auto g = grid_over(y, shape<1024>);
  store(y, shape<1024>, cast<To>(load(x, shape<1024>, g[0])), g[0]);
});

std::mt19937_64& engine() {
  static std::mt19937_64 instance(test::data_seed);
  return instance;
}

/// Draws any bits; of wide floats also numbers near those that 8 bits hold and halfway between them, and out of their
/// range.
template <class T>
std::vector<T> interesting() {
  std::vector<T> values;
  for (int i = 0; i < 65536; ++i) {
    if constexpr (std::is_integral_v<T> && sizeof(T) <= 2) {
      values.push_back(static_cast<T>(i));  // all of them
    } else if constexpr (std::is_integral_v<T>) {
      values.push_back(static_cast<T>(engine()() >> (engine()() % 64)));
      if (i % 2 == 0) values.back() = static_cast<T>(static_cast<std::int64_t>(engine()() % 1024) - 512);
    } else if constexpr (sizeof(T) == 1) {
      values.push_back(T::from_bits(static_cast<std::uint8_t>(i)));
    } else if constexpr (sizeof(T) == 2) {
      values.push_back(T::from_bits(static_cast<std::uint16_t>(i)));
    } else if (i % 2 == 0) {
      T value;
      std::uint64_t const bits = engine()();
      std::memcpy(&value, &bits, sizeof value);
      values.push_back(value);
    } else {
      auto const eighths = static_cast<int>(engine()() % 33) - 16;
      auto const exponent = static_cast<int>(engine()() % 36) - 20;
      T const value = std::ldexp(static_cast<T>(eighths), exponent);
      int const neighbour = static_cast<int>(engine()() % 3);
      T const far = std::numeric_limits<T>::infinity();
      values.push_back(neighbour == 0   ? value
                       : neighbour == 1 ? std::nextafter(value, far)
                                        : std::nextafter(value, -far));
    }
  }
  return values;
}

template <class T>
bool same(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a == b;
  } else {
    auto const x = static_cast<double>(a), y = static_cast<double>(b);
    return (std::isnan(x) && std::isnan(y)) || std::memcmp(&a, &b, sizeof a) == 0;
  }
}

template <class From, class To>
void check_conversion() {
  cuda_stream const order;
  std::vector<From> const from = interesting<From>();
  auto const count = static_cast<std::int64_t>(from.size());
  buffer<From> x(order.where(), count);
  buffer<To> y(order.where(), count);
  x.copy_from(from);
  y.fill(samples::poison<To>());
  launch(order, converting<From, To>, x, y);
  std::vector<To> found(from.size());
  y.copy_to(found);
  std::int64_t wrong = 0;
  std::string first;
  for (std::size_t i = 0; i < from.size(); ++i) {
    To const expected = cast<To>(host(from[i])).value();
    if (same(found[i], expected) || wrong++ != 0) continue;
    first = fmt::format("{} became {}, not {}", static_cast<double>(from[i]), static_cast<double>(found[i]),
                        static_cast<double>(expected));
  }
  INFO(name(element_v<From>) << " to " << name(element_v<To>) << ": " << first);
  CHECK(wrong == 0);
}

template <class T>
void check_both_ways() {
  check_conversion<float, T>();
  check_conversion<double, T>();
  check_conversion<f16, T>();
  check_conversion<bf16, T>();
  check_conversion<std::int32_t, T>();
  check_conversion<std::int64_t, T>();
  check_conversion<std::int8_t, T>();
  check_conversion<e4m3, T>();
  check_conversion<e5m2, T>();
  check_conversion<T, float>();
  check_conversion<T, double>();
  check_conversion<T, f16>();
  check_conversion<T, bf16>();
  check_conversion<T, std::int32_t>();
  check_conversion<T, std::int64_t>();
}

/// Computes C = A * B with B stored N x K, or with K x N as `by_rows`.
template <int BM, int BN, int BK, class A, class B, class C, bool by_rows = false>
inline constexpr auto product = kernel("product", [](in<A, 2> a, in<B, 2> b, out<C, 2> c) {
  using Sum = detail::accumulator_t<A>;
  auto g = grid_over(c, shape<BM, BN>);
  tile sums = loop(
      ceil_div(a.extent(1), BK), zeros<Sum>(shape<BM, BN>),
      [&](auto k, auto sum) {
        auto const times = [&](auto&& x, auto&& y) {
          if constexpr (std::is_same_v<A, float>)
            return dot(std::move(x), std::move(y), sum, tf32);
          else
            return dot(std::move(x), std::move(y), sum);
        };
        if constexpr (by_rows)
          return times(load(a, shape<BM, BK>, g[0], k), load(b, shape<BK, BN>, k, g[1]));
        else
          return times(load(a, shape<BM, BK>, g[0], k), trans(load(b, shape<BN, BK>, g[1], k)));
      },
      stages<3>);
  store(c, shape<BM, BN>, cast<C>(sums), g[0], g[1]);
});

template <class T>
double value_of(T x) {
  return static_cast<double>(x);
}

/// Draws small numbers, sums of whose products are exact: bit by bit. Else random ones, within `bound` of the sum of
/// magnitudes.
template <class A, class B, class C, class K>
void check_product(K const& kernel, std::int64_t m, std::int64_t n, std::int64_t k, bool by_rows = false,
                   double bound = 0) {
  cuda_stream const order;
  auto const fill = [&](auto& values) {
    using T = typename std::remove_reference_t<decltype(values)>::value_type;
    for (T& value : values) {
      auto const whole = static_cast<int>(engine()() % 9) - 4;
      if constexpr (std::is_same_v<T, std::int8_t>)
        value = static_cast<T>(bound == 0 ? whole : static_cast<int>(engine()() % 256) - 128);
      else
        value = static_cast<T>(bound == 0 ? whole * 0.5 : std::normal_distribution<double>()(engine()));
    }
  };
  std::vector<A> a(static_cast<std::size_t>(m * k));
  std::vector<B> b(static_cast<std::size_t>(k * n));
  std::vector<C> c(static_cast<std::size_t>(m * n));
  fill(a), fill(b);
  buffer<A, 2> device_a(order.where(), m, k);
  buffer<B, 2> device_b(order.where(), by_rows ? k : n, by_rows ? n : k);
  buffer<C, 2> device_c(order.where(), m, n);
  device_a.copy_from(a), device_b.copy_from(b), device_c.fill(samples::poison<C>());
  launch(order, kernel, device_a, device_b, device_c);
  device_c.copy_to(c);
  samples::Comparison all(bound);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t x = 0; x < k; ++x) {
        double const term = value_of(a[static_cast<std::size_t>(i * k + x)]) *
                            value_of(b[static_cast<std::size_t>(by_rows ? x * n + j : j * k + x)]);
        sum += term, size += std::abs(term);
      }
      if (bound == 0) {
        C expected{};
        if constexpr (std::is_integral_v<C>)
          expected = static_cast<C>(static_cast<std::int64_t>(sum));
        else
          expected = static_cast<C>(sum);
        sum = value_of(expected);
      }
      all.add(i * n + j, c[static_cast<std::size_t>(i * n + j)], sum, std::max(size, 1e-30));
    }
  INFO(name(element_v<A>) << " x " << name(element_v<B>) << " -> " << name(element_v<C>) << ", " << m << " x " << n
                          << " x " << k << (by_rows ? ", B stored K x N" : ""));
  CHECK(all.failure() == "");
}

template <class A, class B, class C>
void check_products(double bound) {
  constexpr int k = 128 / sizeof(A);
  // By wgmma; with too few rows, roles of the operands swapped; by mma.sync.
  check_product<A, B, C>(product<128, 128, k, A, B, C>, 144, 272, 5 * k - 16);
  check_product<A, B, C>(product<64, 32, k, A, B, C>, 64, 32, 16);
  check_product<A, B, C>(product<16, 64, k, A, B, C>, 16, 144, 3 * k);
  check_product<A, B, C>(product<32, 40, k, A, B, C>, 80, 80, 3 * k);
  check_product<A, B, C, decltype(product<64, 64, k, A, B, C, true>)>(product<64, 64, k, A, B, C, true>, 80, 144, 2 * k,
                                                                      true);
  if (bound > 0) check_product<A, B, C>(product<128, 128, k, A, B, C>, 256, 256, 2048, false, bound);
}

}  // namespace

TEST_CASE("conversions from and to elements of 8 bits and integers of 16 are the host's bit by bit on the device",
          "[device][sanitize]") {
  TEGULA_NEED_HOPPER();
  check_both_ways<e4m3>();
  check_both_ways<e5m2>();
  check_both_ways<std::int8_t>();
  check_both_ways<std::uint8_t>();
  check_both_ways<std::int16_t>();
  check_both_ways<std::uint16_t>();
  check_both_ways<std::uint32_t>();
  check_both_ways<std::uint64_t>();
}

TEST_CASE("products of every element of tensor cores are right on the device", "[device][sanitize][F27]") {
  TEGULA_NEED_HOPPER();
  check_products<f16, f16, float>(0x1p-18);
  check_products<float, float, float>(0x1p-9);  // both factors cut to 10 bits of fraction
  check_products<e4m3, e4m3, float>(0x1p-10);   // tensor cores add with 14 bits
  check_products<e5m2, e5m2, bf16>(0x1p-7);
  check_products<e4m3, e5m2, float>(0x1p-10);
  check_products<e5m2, e4m3, e4m3>(0);
  check_products<std::int8_t, std::int8_t, std::int32_t>(0x1p-52);
  check_products<std::int8_t, std::int8_t, std::int8_t>(0);
}
