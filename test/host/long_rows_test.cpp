// Tests the loops over long rows on every CPU: masks that hold in a run of a row, and stores that bypass the caches.
#include <limits>
#include <random>
#include <vector>

#include "support/catch.hpp"
#include "support/cpus.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Selects by columns, rows and both, in i64 with each predicate.
constexpr auto masked =
    kernel("masked", [](in<float, 2> x, out<float, 2> y, arg<std::int64_t> low, arg<std::int64_t> high) {
      auto g = grid_over(y, shape<8, 96>);
      tile v = load(x, shape<8, 96>, g[0], g[1]);
      tile column = iota(shape<1, 96>, axis<1>) + g[1] * 96;
      tile row = iota(shape<8, 1>, axis<0>) + g[0] * 8;
      tile inside = select(column < high, v, -1.F) + select(column >= low, v, -2.F);
      tile outside = select(low > column, v, -4.F) + select(high <= column, v, -8.F);
      tile causal = select(row >= column, v, -16.F) + select(row - 3 < column, v, -32.F);
      store(y, shape<8, 96>, inside + outside + causal, g[0], g[1]);
    });

/// Selects by columns in i32, whose sum may wrap within a row.
constexpr auto masked_in_i32 =
    kernel("masked_in_i32", [](in<float, 2> x, out<float, 2> y, arg<int> first, arg<int> limit) {
      auto g = grid_over(y, shape<1, 96>);
      tile v = load(x, shape<1, 96>, g[0], g[1]);
      tile column = iota<int>(shape<1, 96>, axis<1>) + first;
      store(y, shape<1, 96>, select(column < limit, v, -1.F) + select(limit < column, v, -2.F), g[0], g[1]);
    });

/// The mask is part of a sum.
constexpr auto masked_sums = kernel("masked_sums", [](in<float, 2> x, out<float, 2> y, arg<std::int64_t> high) {
  auto g = grid_over(y, shape<4, 1>);
  tile v = load(x, shape<4, 200>, g[0], 0);
  store(y, shape<4, 1>, sum(mask_outside(v, axis<1>, 0, high, 0), axis<1>), g[0], 0);
});

buffer<float, 2> small_integers(std::int64_t rows, std::int64_t columns) {
  std::mt19937 engine(1);
  buffer<float, 2> x(device::host(), rows, columns);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(engine() % 1000);
  return x;
}

template <class T>
constexpr auto doubled = kernel("doubled", [](in<T, 2> x, out<T, 2> y) {
  auto g = grid_over(y, shape<4, 256>);
  tile v = load(x, shape<4, 256>, g[0], g[1]);
  if constexpr (sizeof(T) == 1)
    store(y, shape<4, 256>, cast<T>(cast<int>(v) * 2), g[0], g[1]);
  else
    store(y, shape<4, 256>, v + v, g[0], g[1]);
});

/// Doubles `rows` x `columns` elements whose rows begin at `offset` elements and are `stride` apart.
template <class T>
void check_doubled(std::int64_t rows, std::int64_t columns, std::int64_t stride, std::int64_t offset) {
  CAPTURE(sizeof(T), rows, columns, stride, offset);
  auto const size = static_cast<std::size_t>(offset + rows * stride + 64);
  T const untouched = T(77);
  std::vector<T> x(size), y(size, untouched);
  for (std::size_t i = 0; i < size; ++i) x[i] = T(static_cast<int>(i * 7919 % 61));
  view<T, 2> const from(x.data() + offset, {rows, columns}, {stride, 1});
  view<T, 2> const to(y.data() + offset, {rows, columns}, {stride, 1});
  launch(host_stream(), doubled<T>, from, to);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(size); ++i) {
    std::int64_t const at = i - offset;
    bool const inside = at >= 0 && at / stride < rows && at % stride < columns;
    auto const expected = inside ? 2 * static_cast<double>(x[static_cast<std::size_t>(i)]) : 77.0;
    wrong += static_cast<double>(y[static_cast<std::size_t>(i)]) != expected;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("masks of coordinates select the same elements wherever they begin and end") {
  on_every_cpu([] {
    std::int64_t const rows = 37, columns = 300;
    auto const x = small_integers(rows, columns);
    buffer<float, 2> y(device::host(), rows, columns);
    auto constexpr least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
    std::vector<std::pair<std::int64_t, std::int64_t>> const limits = {
        {0, 300}, {5, 290}, {96, 192}, {95, 97}, {290, 10}, {-20, 1000}, {least, most}, {most, least}, {least, least}};
    for (auto const& [low, high] : limits) {
      CAPTURE(low, high);
      launch(host_stream(), masked, x, y, low, high);
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
          float const v = x.data()[i * columns + j];
          float const expected = (j < high ? v : -1) + (j >= low ? v : -2) + (low > j ? v : -4) + (high <= j ? v : -8) +
                                 (i >= j ? v : -16) + (i - 3 < j ? v : -32);
          wrong += y.data()[i * columns + j] != expected;
        }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("masks of i32 coordinates that wrap within a row are as the sums say") {
  on_every_cpu([] {
    auto const x = small_integers(2, 96);
    buffer<float, 2> y(device::host(), 2, 96);
    int constexpr least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();
    for (int first : {0, most - 95, most - 94, most - 40, most, least, least + 5, -50})
      for (int limit : {0, 40, most, most - 20, least, least + 30, -1}) {
        CAPTURE(first, limit);
        launch(host_stream(), masked_in_i32, x, y, first, limit);
        std::int64_t wrong = 0;
        for (int i = 0; i < 2; ++i)
          for (int j = 0; j < 96; ++j) {
            float const v = x.data()[i * 96 + j];
            auto const column = static_cast<int>(static_cast<unsigned>(first) + static_cast<unsigned>(j));
            wrong += y.data()[i * 96 + j] != (column < limit ? v : -1) + (limit < column ? v : -2);
          }
        CHECK(wrong == 0);
      }
  });
}

TEST_CASE("sums of masked rows are exact for every length") {
  on_every_cpu([] {
    for (std::int64_t columns : {200, 193, 64, 7}) {
      auto const x = small_integers(10, columns);
      buffer<float, 2> y(device::host(), 10, 1);
      for (std::int64_t high = 0; high <= columns + 1; high += columns < 100 ? 1 : 13) {
        launch(host_stream(), masked_sums, x, y, high);
        for (std::int64_t i = 0; i < 10; ++i) {
          float expected = 0;
          for (std::int64_t j = 0; j < std::min(high, columns); ++j) expected += x.data()[i * columns + j];
          CHECK(y.data()[i] == expected);
        }
      }
    }
  });
}

TEST_CASE("stores to tensors larger than the caches write each element, and nothing else") {
  on_every_cpu([] {
    check_doubled<float>(6500, 1024, 1024, 0);
    check_doubled<float>(3201, 2111, 2111, 0);   // rows begin anywhere in a line
    check_doubled<float>(3201, 2100, 2112, 16);  // whole lines between gaps
    check_doubled<float>(3201, 2100, 2112, 5);
    check_doubled<double>(1700, 2000, 2000, 0);
    check_doubled<bf16>(6000, 2304, 2304, 0);
    check_doubled<std::int8_t>(9000, 3000, 3008, 64);
  });
}
