// Checks structs and tuples of tiles that are carried, passed and returned, on any executor.
#pragma once

#include <tuple>

#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

using Column = tile<float, Shape<16, 1>>;

/// Holds the maximum and the scaled sum of exponentials of rows.
struct Exponentials {
  Column maximum, sum;
};
/// Holds a group in a group, and a scalar beside tiles in a tuple.
struct Progress {
  Exponentials rows;
  std::tuple<tile<int, Shape<16, 1>>, scalar<std::int64_t>> counts;
};

inline constexpr auto merge_called = function(
    "merge",
    [](Exponentials a, Exponentials b) {
      tile m = max(a.maximum, b.maximum);
      return Exponentials{m, tile(a.sum * exp(a.maximum - m) + b.sum * exp(b.maximum - m))};
    },
    noinline);
inline constexpr auto merge_traced = function([](auto a, auto b) { return merge_called(a, b); });

/// Carries a struct through a loop, passes it to functions and returns it from a branch.
inline constexpr auto grouped_rows = kernel("grouped_rows", [](in<float, 2> x, out<float, 2> y, arg<int> twice) {
  auto g = grid_over(y, shape<16, 1>);
  tile zero = tile(zeros<float>(shape<16, 1>));
  auto const pass = [&](Exponentials from) {
    return loop(ceil_div(x.extent(1), 32), from, [&](auto k, Exponentials all) {
      tile v = load(x, shape<16, 32>, g[0], k, pad(-inf));
      tile m = max(v, axis<1>);
      return merge_traced(all, Exponentials{m, tile(sum(exp(v - m), axis<1>))});
    });
  };
  Exponentials once = pass(Exponentials{tile(full(shape<16, 1>, -1e30F)), zero});
  Exponentials all = if_(
      twice > 0, [&] { return pass(once); }, [&] { return once; });
  store(y, shape<16, 1>, all.maximum + log(all.sum), g[0], 0);
});

/// Ends early by a condition of a group that while_ carries.
inline constexpr auto grouped_search = kernel("grouped_search", [](in<float, 2> x, out<float, 2> y,
                                                                   out<int, 1> counts) {
  auto g = grid_over(y, shape<16, 1>);
  Progress start{{tile(full(shape<16, 1>, -1e30F)), tile(zeros<float>(shape<16, 1>))},
                 {tile(zeros<int>(shape<16, 1>)), x.extent(1) * 0}};
  auto [end, last] = while_(
      carry(start, 0), [&](Progress const& p, auto) { return (std::get<1>(p.counts) < x.extent(1)) & (g[0] < 100); },
      [&](Progress p, auto n) {
        auto [count, place] = p.counts;
        tile v = load(x, shape<16, 1>, g[0], place);
        tile larger = p.rows.maximum < v;
        Progress next{{tile(select(larger, v, p.rows.maximum)), tile(p.rows.sum + v)},
                      {tile(count + cast<int>(larger)), place + 1}};
        return carry(next, n + 1);
      });
  store(y, shape<16, 1>, end.rows.maximum + end.rows.sum * cast<float>(std::get<0>(end.counts)), g[0], 0);
  store(counts, shape<1>, cast<int>(full(shape<1>, last)), elem(g[0]));
});

inline void check_grouped_rows(Executor on) {
  for (int twice : {0, 1}) {
    Array<float, 2> x({37, 75}), y({37, 1});
    for (float& v : x.values) v = draw_number<float>() * 0.01F;
    TEGULA_CHECK_RUN(on, grouped_rows, x, y, twice);
    for (std::int64_t i = 0; i < 37; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < 75; ++j) sum += std::exp(static_cast<double>(x[i * 75 + j]));
      REQUIRE(std::abs(static_cast<double>(y[i]) - std::log(sum * (1 + twice))) <= 1e-5);
    }
  }
}
inline void check_grouped_search(Executor on) {
  Array<float, 2> x({32, 21}), y({32, 1});
  Array<int, 1> counts({2}, -1);
  for (float& v : x.values) v = static_cast<float>(draw_below(50));
  TEGULA_CHECK_RUN(on, grouped_search, x, y, counts);
  for (std::int64_t i = 0; i < 32; ++i) {
    float largest = -1e30F, sum = 0;
    int count = 0;
    for (std::int64_t j = 0; j < 21; ++j) {
      float const v = x[i * 21 + j];
      if (largest < v) largest = v, ++count;
      sum += v;
    }
    REQUIRE(y[i] == largest + sum * static_cast<float>(count));
  }
  REQUIRE(counts[0] == 21);
  REQUIRE(counts[1] == 21);
}

}  // namespace tegula::test
