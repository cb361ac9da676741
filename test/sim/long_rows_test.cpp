// Rows that the CTAs of a cluster share: reductions along the row, coordinates, results of the whole row, atomics.
// Right on the host, as tiles and warp by warp.
#include <tegula/tegula.hpp>

#include <cmath>
#include <vector>

#include "support/catch.hpp"
#include "support/each_way.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Computes softmax times the column, log-sum-exp of each row, and adds the columns of all maxima to places[0].
template <class T, int width>
constexpr auto weighted = kernel("weighted", [](in<T, 2> x, out<T, 2> y, out<float, 1> lse, inout<int, 1> places) {
  require(x.extent(1) <= width, "weighted: a row must fit one tile");
  auto g = grid_over(y, shape<1, width>);
  tile v = cast<float>(load(x, shape<width>, g[0], 0, pad(-inf)));
  tile top = max(v, axis<0>);
  tile e = exp(v - top);
  tile total = sum(e, axis<0>);
  tile column = iota<int>(shape<width>, axis<0>);
  store(y, shape<width>, cast<T>(e / total * cast<float>(column % 7)), g[0], 0);
  store(lse, shape<1>, top + log(total), g[0]);
  atomic_add(places, max(select(v == top, column, 0), axis<0>), iota<int>(shape<1>, axis<0>));
});

template <class T, int width>
void check(int split, std::int64_t rows, std::int64_t columns) {
  INFO(rows << " x " << columns << " in tiles of " << width << ", split " << split);
  auto const x = drawn<T>(rows * columns, 11);
  CompileOptions options;
  options.split = split;
  auto const size = static_cast<std::size_t>(rows * columns);
  std::vector<float> lse(static_cast<std::size_t>(rows));
  std::vector<int> places(1);
  each_way<T>(
      size,
      [&](auto const& way, T* y) {
        places[0] = 0;
        way(variants("weighted", variant(with(options), weighted<T, width>)), view(x.data(), rows, columns),
            view(y, rows, columns), view(lse.data(), rows), view(places.data(), 1));
      },
      [&](std::vector<T> const& found) {
        double worst = 0;
        int expected_places = 0;
        for (std::int64_t i = 0; i < rows; ++i) {
          double top = -1e30, total = 0;
          int place = 0;
          for (std::int64_t j = 0; j < columns; ++j) top = std::max(top, at(x, i * columns + j));
          for (std::int64_t j = 0; j < columns; ++j) {
            total += std::exp(at(x, i * columns + j) - top);
            if (at(x, i * columns + j) == top) place = static_cast<int>(j);
          }
          expected_places += place;
          for (std::int64_t j = 0; j < columns; ++j) {
            double const expected = std::exp(at(x, i * columns + j) - top) / total * static_cast<double>(j % 7);
            worst = std::max(worst, std::fabs(at(found, i * columns + j) - expected) / (1e-3 + expected));
          }
          CHECK(std::fabs(static_cast<double>(lse[static_cast<std::size_t>(i)]) - top - std::log(total)) <= 3e-5);
        }
        CHECK(worst <= (sizeof(T) == 2 ? 5e-3 : 1e-4));
        CHECK(places[0] == expected_places);
      });
}

}  // namespace

TEST_CASE("long rows: CTAs of a cluster share them", "[sim]") {
  check<float, 1024>(2, 3, 1024);
  check<float, 1024>(4, 2, 700);  // the last CTA is outside, another one partly
  check<bf16, 4096>(8, 2, 3001);
  check<float, 1536>(3, 1, 1530);
  check<float, 1024>(1, 2, 1000);
}

TEST_CASE("long rows: rows that one CTA does not hold are shared without an option", "[sim]") {
  check<bf16, 65536>(0, 1, 65000);
  CHECK(compile(weighted<bf16, 65536>, {.target = Target::cuda}).cluster == 4);
  CHECK(compile(weighted<bf16, 16384>, {.target = Target::cuda}).cluster == 1);
}
