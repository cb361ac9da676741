// Tests products on every CPU that runs here: narrow elements are multiplied in groups of adjacent k, and only what is
// stored is computed.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "../../samples/support/compare.hpp"
#include "support/catch.hpp"
#include "support/cpus.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

template <class T, class U, class Sum, int BM, int BN, int BK>
constexpr auto product = kernel("product", [](in<T, 2> A, in<U, 2> B, out<Sum, 2> C) {
  auto g = grid_over(C, shape<BM, BN>);
  tile sum = loop(ceil_div(A.extent(1), BK), zeros<Sum>(shape<BM, BN>), [&](auto k, auto s) {
    return dot(load(A, shape<BM, BK>, g[0], k), load(B, shape<BK, BN>, k, g[1]), s);
  });
  store(C, shape<BM, BN>, sum, g[0], g[1]);
});

/// The right operand is stored N x K, and the left one is computed.
template <class T, class U, class Sum, int BM, int BN, int BK>
constexpr auto transposed = kernel("transposed", [](in<T, 2> A, in<U, 2> B, out<Sum, 2> C) {
  auto g = grid_over(C, shape<BM, BN>);
  tile sum = loop(ceil_div(A.extent(1), BK), zeros<Sum>(shape<BM, BN>), [&](auto k, auto s) {
    tile a = cast<Sum>(load(A, shape<BM, BK>, g[0], k));
    return dot(cast<T>(a * Sum(3) - a * Sum(2)), trans(load(B, shape<BN, BK>, g[1], k)), s);
  });
  store(C, shape<BM, BN>, sum, g[0], g[1]);
});

/// One block sums the rows of the whole product, 128 at most.
constexpr auto column_sums = kernel("column_sums", [](in<float, 2> A, in<float, 2> B, out<float, 2> sums) {
  auto g = grid_over(sums, shape<1, 32>);
  require(A.extent(0) <= 128, "the rows must fit one tile");
  tile c = loop(ceil_div(A.extent(1), 64), zeros<float>(shape<128, 32>),
                [&](auto k, auto s) { return dot(load(A, shape<128, 64>, 0, k), load(B, shape<64, 32>, k, g[1]), s); });
  store(sums, shape<1, 32>, sum(c, axis<0>), g[0], g[1]);
});

constexpr auto from_seven = kernel("from_seven", [](in<float, 2> A, in<float, 2> B, out<float, 2> C) {
  auto g = grid_over(C, shape<32, 48>);
  tile c = loop(ceil_div(A.extent(1), 64), full(shape<32, 48>, 7.F), [&](auto k, auto s) {
    return dot(load(A, shape<32, 64>, g[0], k), load(B, shape<64, 48>, k, g[1]), s);
  });
  store(C, shape<32, 48>, c, g[0], g[1]);
});

struct Size {
  std::int64_t m, n, k;
};

template <class T, class Engine>
T drawn(Engine& engine) {
  if constexpr (std::is_integral_v<T>) {
    std::uniform_int_distribution<int> all(std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    int const extreme = all(engine) & 7;  // a quarter of them are the largest or the smallest
    if (extreme < 2) return extreme == 0 ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
    return static_cast<T>(all(engine));
  } else {
    return T(std::uniform_real_distribution<float>(-1, 1)(engine));
  }
}

template <class T, class Engine>
buffer<T, 2> random_matrix(Engine& engine, std::int64_t rows, std::int64_t columns) {
  buffer<T, 2> result(device::host(), rows, columns);
  for (std::int64_t i = 0; i < result.size(); ++i) result.data()[i] = drawn<T>(engine);
  return result;
}

/// Multiplies and compares: integers exactly, floats with float64 by the bound of sums in f32.
template <bool stored_by_columns, class Sum, class K, class T, class U>
void check(K const& kernel, buffer<T, 2> const& a, buffer<U, 2> const& b, Size size) {
  buffer<Sum, 2> c(device::host(), size.m, size.n);
  c.fill(samples::poison<Sum>());
  launch(host_stream(), kernel, a, b, c);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < size.m; ++i)
    for (std::int64_t j = 0; j < size.n; ++j) {
      double expected = 0;
      double magnitude = 0;
      for (std::int64_t k = 0; k < size.k; ++k) {
        double const x = static_cast<double>(a.data()[i * size.k + k]);
        double const y = static_cast<double>(b.data()[stored_by_columns ? j * size.k + k : k * size.n + j]);
        expected += x * y;
        magnitude += std::abs(x * y);
      }
      double const got = static_cast<double>(c.data()[i * size.n + j]);
      double const bound =
          std::is_integral_v<Sum>
              ? 0
              : 2 * (static_cast<double>(size.k) + 2) * (sizeof(Sum) == 8 ? 0x1p-53 : 0x1p-24) * magnitude + 0x1p-149;
      bool const same = std::isnan(expected) ? std::isnan(got) : expected == got || std::abs(got - expected) <= bound;
      if (!same && wrong++ == 0) UNSCOPED_INFO("at " << i << ", " << j << ": " << got << ", expected " << expected);
    }
  CHECK(wrong == 0);
}

template <class T, class U, class Sum, int BM, int BN, int BK>
void check_tiles(std::vector<Size> const& sizes) {
  std::mt19937 engine(1);
  for (Size const& size : sizes) {
    CAPTURE(BM, BN, BK, size.m, size.n, size.k);
    auto const a = random_matrix<T>(engine, size.m, size.k);
    check<false, Sum>(product<T, U, Sum, BM, BN, BK>, a, random_matrix<U>(engine, size.k, size.n), size);
    check<true, Sum>(transposed<T, U, Sum, BM, BN, BK>, a, random_matrix<U>(engine, size.n, size.k), size);
  }
}

template <class T, class U, class Sum>
void check_all() {
  check_tiles<T, U, Sum, 32, 48, 64>({{32, 48, 64}, {67, 101, 203}, {1, 3, 1000}, {31, 96, 1}});
  check_tiles<T, U, Sum, 5, 3, 4>({{13, 10, 43}});
  check_tiles<T, U, Sum, 16, 2, 6>({{33, 7, 50}});
  check_tiles<T, U, Sum, 7, 40, 3>({{14, 50, 20}});
}

}  // namespace

TEST_CASE("products of f32 and f64 have the errors of their sums on every CPU") {
  on_every_cpu([] {
    check_all<float, float, float>();
    check_all<double, double, double>();
  });
}

TEST_CASE("products that begin with numbers, or whose rows are summed, need every element") {
  on_every_cpu([] {
    std::mt19937 engine(1);
    for (Size const size : {Size{67, 101, 203}, Size{5, 48, 31}, Size{64, 3, 1}}) {
      CAPTURE(size.m, size.n, size.k);
      auto const a = random_matrix<float>(engine, size.m, size.k), b = random_matrix<float>(engine, size.k, size.n);
      buffer<float, 2> sums(device::host(), 1, size.n), c(device::host(), size.m, size.n);
      sums.fill(samples::poison<float>());
      c.fill(samples::poison<float>());
      launch(host_stream(), column_sums, a, b, sums);
      launch(host_stream(), from_seven, a, b, c);
      double worst = 0;
      for (std::int64_t j = 0; j < size.n; ++j) {
        double total = 0;
        for (std::int64_t i = 0; i < size.m; ++i) {
          double sum = 0;
          for (std::int64_t k = 0; k < size.k; ++k)
            sum += double(a.data()[i * size.k + k]) * double(b.data()[k * size.n + j]);
          worst = std::max(worst, std::abs(c.data()[i * size.n + j] - (7 + sum)));
          total += sum;
        }
        worst = std::max(worst, std::abs(sums.data()[j] - total));
      }
      CHECK(worst < 1e-3);
    }
  });
}

TEST_CASE("products of bytes are exact on every CPU") {
  on_every_cpu([] {
    check_all<std::int8_t, std::int8_t, std::int32_t>();
    check_all<std::uint8_t, std::int8_t, std::int32_t>();
    check_all<std::int8_t, std::uint8_t, std::int32_t>();
    check_all<std::uint8_t, std::uint8_t, std::int32_t>();
  });
}

TEST_CASE("products of bf16 have the errors of sums in f32 on every CPU") {
  on_every_cpu([] { check_all<bf16, bf16, float>(); });
}

TEST_CASE("products of bf16 keep subnormal operands, products and sums, infinities and NaN") {
  on_every_cpu([] {
    Size const size{40, 50, 130};
    std::mt19937 engine(1);
    auto const& kernel = product<bf16, bf16, float, 32, 48, 64>;
    for (float scale : {0x1p-55F, 0x1p-57F, 0x1p-64F, 0x1p-120F, 0x1p-130F}) {
      CAPTURE(scale);
      auto const scaled = [&](buffer<bf16, 2> matrix, float by) {
        for (std::int64_t i = 0; i < matrix.size(); ++i)
          matrix.data()[i] = bf16(static_cast<float>(matrix.data()[i]) * by);
        return matrix;
      };
      check<false, float>(kernel, scaled(random_matrix<bf16>(engine, size.m, size.k), scale),
                          random_matrix<bf16>(engine, size.k, size.n), size);
      check<false, float>(kernel, random_matrix<bf16>(engine, size.m, size.k),
                          scaled(random_matrix<bf16>(engine, size.k, size.n), scale), size);
      float const other = scale < 0x1p-100F ? 1 / scale : scale;
      check<false, float>(kernel, scaled(random_matrix<bf16>(engine, size.m, size.k), scale),
                          scaled(random_matrix<bf16>(engine, size.k, size.n), other), size);
    }
    auto a = random_matrix<bf16>(engine, size.m, size.k);
    auto const b = random_matrix<bf16>(engine, size.k, size.n);
    a.data()[3 * size.k + 77] = bf16(std::numeric_limits<float>::infinity());
    a.data()[5 * size.k + 1] = bf16(std::numeric_limits<float>::quiet_NaN());
    a.data()[9 * size.k] = bf16(0x1p-133F);
    check<false, float>(kernel, a, b, size);
  });
}
