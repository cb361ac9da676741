// Tests rows that are shorter than their tile, rows at indices, and scans of which only a part is stored: against
// float64, for extents around the width of vectors and beyond the tensors' ends.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "../../samples/support/report.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;

namespace {

constexpr std::int64_t widths[] = {1, 2, 7, 15, 16, 17, 31, 63, 64, 65, 90, 127, 128};

template <int Rank, class... E>
buffer<float, Rank> filled(double first, E... extents) {
  buffer<float, Rank> result(device::host(), extents...);
  for (std::int64_t i = 0; i < result.size(); ++i)
    result.data()[i] = static_cast<float>(std::sin(first + 1.7 * static_cast<double>(i)));
  return result;
}

/// Both stores and sums of one pass, a pad that is not 0, and a mask that ends before the row.
constexpr auto short_rows =
    kernel("short_rows", [](in<float, 2> x, in<int, 1> ends, out<float, 2> y, out<float, 2> sums) {
      auto g = grid_over(y, shape<1, 128>);
      tile v = load(x, shape<1, 128>, g[0], 0, pad(0.5F));
      tile column = iota<int>(shape<1, 128>, axis<1>);
      tile end = reshape(load(ends, shape<1>, g[0]), shape<1, 1>);
      tile kept = select(column < end, exp(v), 0);
      tile behind = select(column >= end, v, 0);  // the pad counts
      store(y, shape<1, 128>, v * 2, g[0], 0);
      store(sums, shape<1, 1>, sum(kept, axis<1>), g[0], 0);
      store(sums, shape<1, 1>, sum(behind, axis<1>), g[0], 1);
      store(sums, shape<1, 1>, max(v, axis<1>), g[0], 2);
      store(sums, shape<1, 1>, min(kept, axis<1>), g[0], 3);
    });

constexpr auto short_columns = kernel("short_columns", [](in<float, 2> x, out<float, 2> y, out<float, 2> sums) {
  auto g = grid(1);
  tile v = load(x, shape<32, 64>, g[0], 0);
  store(y, shape<32, 64>, v + 1, g[0], 0);
  store(sums, shape<1, 64>, sum(v, axis<0>), 0, 0);
  store(sums, shape<1, 64>, sum(v + v, axis<0>), 1, 0);
});

constexpr auto over_two_axes = kernel("over_two_axes", [](in<float, 3> x, out<float, 2> sums) {
  auto g = grid(1);
  tile v = load(x, shape<3, 6, 20>, g[0], 0, 0);
  tile total = sum(v, axis<1, 2>), squares = sum(v * v, axis<1, 2>), largest = max(v, axis<1, 2>);
  store(sums, shape<3, 1>, squeeze(total, axis<2>), 0, 0);
  store(sums, shape<3, 1>, squeeze(squares, axis<2>), 0, 1);
  store(sums, shape<3, 1>, squeeze(largest, axis<2>), 0, 2);
});

constexpr auto moved_rows = kernel("moved_rows", [](in<float, 2> x, in<int, 1> from, in<int, 1> to, arg<int> first,
                                                    inout<float, 2> y, out<float, 2> z) {
  auto g = grid_over(from, shape<4>);
  tile source = expand_dims(load(from, shape<4>, g[0], pad(-1)), axis<1>);
  tile target = expand_dims(load(to, shape<4>, g[0], pad(-1)), axis<1>);
  tile column = iota<int>(shape<1, 64>, axis<1>) + first;
  tile rows = gather(x, source, column, pad(9));
  store(z, shape<4, 64>, rows, g[0], 0);
  scatter(y, rows, target, column);
});

template <class T>
constexpr auto part_scanned = kernel("part_scanned", [](in<T, 2> x, out<T, 2> along, out<T, 2> before, out<T, 2> down) {
  auto g = grid(1);
  tile v = load(x, shape<8, 128>, g[0], 0);
  store(along, shape<8, 128>, cumsum(v, axis<1>), g[0], 0);
  store(before, shape<8, 128>, cumsum(v, axis<1>, exclusive, reverse) + 1, g[0], 0);
  store(down, shape<8, 128>, cummax(v, axis<0>, exclusive), g[0], 0);
});

}  // namespace

TEST_CASE("rows that end within their tile give the sums, extremes and elements of float64") {
  for (std::int64_t const n : widths) {
    std::int64_t const rows = 5;
    auto const x = filled<2>(1, rows, n);
    buffer<int, 1> ends(device::host(), rows);
    for (std::int64_t i = 0; i < rows; ++i) ends.data()[i] = static_cast<int>(i * 40 - 3);  // from none to all
    auto y = samples::poisoned<float, 2>(device::host(), rows, n),
         sums = samples::poisoned<float, 2>(device::host(), rows, 4);
    launch(host_stream(), short_rows, x, ends, y, sums);
    for (std::int64_t i = 0; i < rows; ++i) {
      double kept = 0, behind = 0, largest = -1e9, least = 1e9;
      for (std::int64_t j = 0; j < 128; ++j) {
        double const v = j < n ? static_cast<double>(x.data()[i * n + j]) : 0.5;
        double const one = j < ends.data()[i] ? std::exp(v) : 0;
        kept += one, behind += j >= ends.data()[i] ? v : 0;
        largest = std::max(largest, v), least = std::min(least, one);
        if (j < n) CHECK(y.data()[i * n + j] == 2 * x.data()[i * n + j]);
      }
      INFO("row " << i << " of width " << n);
      CHECK(sums.data()[i * 4] == Approx(kept).epsilon(1e-5).margin(1e-5));
      CHECK(sums.data()[i * 4 + 1] == Approx(behind).epsilon(1e-5).margin(1e-5));
      CHECK(sums.data()[i * 4 + 2] == Approx(largest));
      CHECK(sums.data()[i * 4 + 3] == Approx(least).epsilon(1e-5));
    }
  }
}

TEST_CASE("columns that end within their tile give the sums and elements of float64") {
  for (std::int64_t const rows : {1, 5, 31, 32})
    for (std::int64_t const n : {1, 15, 16, 40, 64}) {
      auto const x = filled<2>(4, rows, n);
      auto y = samples::poisoned<float, 2>(device::host(), rows, n),
           sums = samples::poisoned<float, 2>(device::host(), 2, n);
      launch(host_stream(), short_columns, x, y, sums);
      INFO(rows << " x " << n);
      for (std::int64_t j = 0; j < n; ++j) {
        double total = 0;
        for (std::int64_t i = 0; i < rows; ++i) {
          total += static_cast<double>(x.data()[i * n + j]);
          CHECK(y.data()[i * n + j] == x.data()[i * n + j] + 1);
        }
        CHECK(sums.data()[j] == Approx(total).margin(1e-5));
        CHECK(sums.data()[n + j] == Approx(2 * total).margin(1e-5));
      }
    }
}

TEST_CASE("sums and maxima over two axes give those of float64") {
  for (std::int64_t const n : {1, 3, 7, 16, 20})
    for (std::int64_t const m : {1, 4, 6}) {
      auto const x = filled<3>(5, std::int64_t{3}, m, n);
      auto sums = samples::poisoned<float, 2>(device::host(), 3, 3);
      launch(host_stream(), over_two_axes, x, sums);
      INFO(m << " x " << n);
      for (std::int64_t i = 0; i < 3; ++i) {
        double total = 0, squares = 0, largest = 0;  // the pad is 0
        for (std::int64_t j = i * m * n; j < (i + 1) * m * n; ++j) {
          double const v = static_cast<double>(x.data()[j]);
          total += v, squares += v * v, largest = std::max(largest, v);
        }
        if (m == 6 && n == 20) {
          largest = -1e9;
          for (std::int64_t j = i * m * n; j < (i + 1) * m * n; ++j)
            largest = std::max(largest, static_cast<double>(x.data()[j]));
        }
        CHECK(sums.data()[3 * i] == Approx(total).margin(1e-5));
        CHECK(sums.data()[3 * i + 1] == Approx(squares).margin(1e-5));
        CHECK(sums.data()[3 * i + 2] == Approx(largest));
      }
    }
}

TEST_CASE("rows at indices are gathered and scattered, also beyond the ends of the tensors") {
  for (std::int64_t const n : widths) {
    for (int const first : {0, -1, -70, 5, 60, std::numeric_limits<int>::max() - 20}) {
      auto const x = filled<2>(2, 9, n);
      std::vector<int> const sources = {3, -1, 8, 9, 0, 0}, targets = {1, 0, 6, 2, -5, 7};
      buffer<int, 1> from(device::host(), 6), to(device::host(), 6);
      std::copy(sources.begin(), sources.end(), from.data());
      std::copy(targets.begin(), targets.end(), to.data());
      auto y = filled<2>(3, 7, n), z = samples::poisoned<float, 2>(device::host(), 6, 64);
      std::vector<float> expected(y.data(), y.data() + y.size());
      launch(host_stream(), moved_rows, x, from, to, first, y, z);
      INFO("columns from " << first << " of " << n);
      for (std::size_t i = 0; i < 6; ++i)
        for (std::int64_t j = 0; j < 64; ++j) {
          std::int64_t const column = first + j;  // of 64 bits: where 32 bits wrap it is outside as well
          bool const inside = column >= 0 && column < n;
          float const value = inside && sources[i] >= 0 && sources[i] < 9 ? x.data()[sources[i] * n + column] : 9;
          REQUIRE(z.data()[static_cast<std::int64_t>(i) * 64 + j] == value);
          if (inside && targets[i] >= 0 && targets[i] < 7)
            expected[static_cast<std::size_t>(targets[i] * n + column)] = value;
        }
      for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(y.data()[i] == expected[i]);
    }
  }
}

TEMPLATE_TEST_CASE("scans give the elements that are stored, whatever part of the tile it is", "", int, float) {
  for (std::int64_t const n : widths)
    for (std::int64_t const rows : {1, 3, 8}) {
      buffer<TestType, 2> x(device::host(), rows, n);
      for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<TestType>(i * 37 % 11 - 4);
      auto along = samples::poisoned<TestType, 2>(device::host(), rows, n),
           before = samples::poisoned<TestType, 2>(device::host(), rows, n),
           down = samples::poisoned<TestType, 2>(device::host(), rows, n);
      launch(host_stream(), part_scanned<TestType>, x, along, before, down);
      INFO(rows << " x " << n);
      for (std::int64_t i = 0; i < rows; ++i) {
        double sum = 0, rest = 1;
        for (std::int64_t j = 0; j < n; ++j) {
          sum += static_cast<double>(x.data()[i * n + j]);
          CHECK(static_cast<double>(along.data()[i * n + j]) == sum);  // whole numbers: exact in any order
        }
        for (std::int64_t j = n - 1; j >= 0; --j) {
          CHECK(static_cast<double>(before.data()[i * n + j]) == rest);
          rest += static_cast<double>(x.data()[i * n + j]);
        }
        for (std::int64_t j = 0; i > 0 && j < n; ++j) {
          TestType largest = x.data()[j];
          for (std::int64_t k = 1; k < i; ++k) largest = std::max(largest, x.data()[k * n + j]);
          CHECK(down.data()[i * n + j] == largest);
        }
      }
    }
}
