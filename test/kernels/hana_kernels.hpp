// Checks tuples and structs of Boost.Hana as parameters and as groups of tiles, on any executor.
#pragma once

#include <boost/hana/drop_back.hpp>
#include <boost/hana/fold_left.hpp>
#include <boost/hana/members.hpp>
#include <boost/hana/transform.hpp>
#include <boost/hana/unpack.hpp>

#include "kernels/indexed_kernels.hpp"
#include "tegula/dsl/hana.hpp"

namespace tegula::test {

namespace hana = boost::hana;
using Cells = tile<float, Shape<16, 1>>;

/// Is an aggregate that Hana defines.
struct Peak {
  BOOST_HANA_DEFINE_STRUCT(Peak, (Cells, maximum), (Cells, sum));
};
/// Is no aggregate, and is adapted below.
class Moments {
 public:
  Moments(Cells first, Cells second) : sum(first), squares(second) {}
  Cells sum, squares;
};
/// Holds parameters, and is not an aggregate.
class Rows {
 public:
  Rows(in<float, 2> tensor, arg<int> passes) : x(tensor), count(passes) {}
  in<float, 2> x;
  arg<int> count;
};
/// Is an aggregate of more members than structured bindings decompose.
struct Wide {
  in<float, 1> x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15, x16, x17, x18, x19, x20, x21, x22, x23,
      x24, x25, x26, x27, x28, x29, x30, x31, x32, x33, x34, x35, x36;
  arg<float> factor;
  out<float, 1> y;
};
/// The same of tiles.
struct WideTiles {
  tile<float, Shape<16>> t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15, t16, t17, t18, t19, t20, t21,
      t22, t23, t24, t25, t26, t27, t28, t29, t30, t31, t32, t33, t34, t35, t36;
};

}  // namespace tegula::test

BOOST_HANA_ADAPT_STRUCT(tegula::test::Moments, sum, squares);
BOOST_HANA_ADAPT_STRUCT(tegula::test::Rows, x, count);
BOOST_HANA_ADAPT_STRUCT(tegula::test::Wide, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15, x16, x17,
                        x18, x19, x20, x21, x22, x23, x24, x25, x26, x27, x28, x29, x30, x31, x32, x33, x34, x35, x36,
                        factor, y);
BOOST_HANA_ADAPT_STRUCT(tegula::test::WideTiles, t1, t2, t3, t4, t5, t6, t7, t8, t9, t10, t11, t12, t13, t14, t15, t16,
                        t17, t18, t19, t20, t21, t22, t23, t24, t25, t26, t27, t28, t29, t30, t31, t32, t33, t34, t35,
                        t36);

namespace tegula::test {

inline Array<float, 1> random_array() {
  Array<float, 1> result({45});
  for (float& v : result.values) v = draw_number<float>() * 0.01F;
  return result;
}
/// Makes arrays of random numbers.
template <std::size_t count>
std::array<Array<float, 1>, count> random_arrays() {
  return []<std::size_t... at>(std::index_sequence<at...>) {
    return std::array<Array<float, 1>, count>{(static_cast<void>(at), random_array())...};
  }
  (std::make_index_sequence<count>());
}

using Statistics = hana::tuple<Peak, Moments, scalar<std::int64_t>>;

/// Adds the statistics of 32 columns; passed to a function of the IR and returned from it.
inline constexpr auto add_columns = function(
    "add_columns",
    [](Statistics const& all, tile<float, Shape<16, 32>> v) {
      Peak const& peak = hana::at_c<0>(all);
      Moments const& moments = hana::at_c<1>(all);
      tile m = max(peak.maximum, max(v, axis<1>));
      tile s = peak.sum * exp(peak.maximum - m) + sum(exp(v - m), axis<1>);
      tile finite = select(v > -1e29F, v, 0);
      tile first = moments.sum + sum(finite, axis<1>);
      tile second = moments.squares + sum(finite * finite, axis<1>);
      return Statistics(Peak{m, s}, Moments(first, second), hana::at_c<2>(all) + 1);
    },
    noinline);

/// Carries a tuple of two structs and a scalar through a loop, a function and a branch.
inline constexpr auto hana_rows = kernel(
    "hana_rows", [](Rows rows, hana::tuple<out<float, 2>, hana::tuple<out<float, 2>, out<float, 2>>, out<int, 1>> y) {
      out<float, 2> const logarithms = hana::at_c<0>(y);
      auto g = grid_over(logarithms, shape<16, 1>);
      tile lowest = full(shape<16, 1>, -1e30F);
      tile zero = zeros<float>(shape<16, 1>);
      auto const pass = [&](Statistics const& from) {
        return loop(ceil_div(rows.x.extent(1), 32), from, [&](auto k, Statistics const& all) {
          return add_columns(all, load(rows.x, shape<16, 32>, g[0], k, pad(-inf)));
        });
      };
      Statistics once = pass(Statistics(Peak{lowest, zero}, Moments(zero, zero), rows.x.extent(1) * 0));
      Statistics all = if_(
          rows.count > 1, [&] { return pass(once); }, [&] { return once; });
      store(logarithms, shape<16, 1>, hana::at_c<0>(all).maximum + log(hana::at_c<0>(all).sum), g[0], 0);
      store(hana::at_c<0>(hana::at_c<1>(y)), shape<16, 1>, hana::at_c<1>(all).sum, g[0], 0);
      store(hana::at_c<1>(hana::at_c<1>(y)), shape<16, 1>, hana::at_c<1>(all).squares, g[0], 0);
      store(hana::at_c<2>(y), shape<1>, cast<int>(full(shape<1>, hana::at_c<2>(all))), elem(g[0]));
    });

/// Ends early by a condition of a tuple that while_ carries: sums columns until a sum is large.
inline constexpr auto hana_search =
    kernel("hana_search", [](in<float, 2> x, arg<float> bound, out<float, 2> y, out<int, 1> counts) {
      auto g = grid_over(y, shape<16, 1>);
      tile zero = zeros<float>(shape<16, 1>);
      auto end = while_(
          hana::make_tuple(Moments(zero, zero), x.extent(1) * 0),
          [&](auto const& state) {
            return (hana::at_c<1>(state) < x.extent(1)) & (max(hana::at_c<0>(state).squares) < bound);
          },
          [&](auto const& state) {
            Moments const& moments = hana::at_c<0>(state);
            tile v = load(x, shape<16, 1>, g[0], hana::at_c<1>(state));
            return hana::make_tuple(Moments(tile(moments.sum + v), tile(moments.squares + v * v)),
                                    hana::at_c<1>(state) + 1);
          });
      store(y, shape<16, 1>, hana::at_c<0>(end).sum, g[0], 0);
      store(counts, shape<1>, cast<int>(full(shape<1>, hana::at_c<1>(end))), elem(g[0]));
    });

/// Carries a struct of 36 tiles, and then a tuple of as many. The result depends on the order of the members.
inline constexpr auto hana_wide = kernel("hana_wide", [](Wide p) {
  auto g = grid_over(p.y, shape<16>);
  auto const inputs = hana::drop_back(hana::members(p), hana::size_c<2>);
  WideTiles const loaded = hana::unpack(
      inputs, [&](auto const&... x) { return WideTiles{tile<float, Shape<16>>(load(x, shape<16>, g[0]))...}; });
  WideTiles const scaled = loop(2, loaded, [&](auto, WideTiles const& all) {
    return hana::unpack(hana::members(all),
                        [&](auto const&... t) { return WideTiles{tile<float, Shape<16>>(t * p.factor)...}; });
  });
  auto const raised = loop(3, hana::members(scaled), [&](auto, auto const& all) {
    return hana::transform(all, [](auto const& t) { return tile(t + 1.F); });
  });
  tile<float, Shape<16>> zero = zeros<float>(shape<16>);
  auto const next = [](auto const& sum, auto const& t) { return tile(sum * 0.5F + t); };
  store(p.y, shape<16>, hana::fold_left(raised, zero, next), g[0]);
});

/// Is a tuple of 50 parameters.
template <std::size_t... at>
hana::tuple<in<float, at * 0 + 1>..., out<float, 1>> fifty_parameters(std::index_sequence<at...>);
using Fifty = decltype(fifty_parameters(std::make_index_sequence<49>()));

/// Takes a tuple of 50 parameters.
inline constexpr auto hana_fifty = kernel("hana_fifty", [](Fifty p) {
  auto const& y = hana::at_c<49>(p);
  auto g = grid_over(y, shape<16>);
  tile<float, Shape<16>> zero = zeros<float>(shape<16>);
  auto const next = [&](auto const& sum, auto const& x) { return tile(sum * 0.5F + load(x, shape<16>, g[0])); };
  store(y, shape<16>, hana::fold_left(hana::drop_back(p), zero, next), g[0]);
});

inline void check_hana_rows(Executor on) {
  for (int passes : {1, 2}) {
    Array<float, 2> x({37, 75}), y({37, 1}), sums({37, 1}), squares({37, 1});
    Array<int, 1> counts({3}, -1);
    for (float& v : x.values) v = draw_number<float>() * 0.01F;
    TEGULA_CHECK_RUN(on, hana_rows, x, passes, y, sums, squares, counts);
    for (std::int64_t i = 0; i < 37; ++i) {
      double exponentials = 0, sum = 0, square = 0;
      for (std::int64_t j = 0; j < 75; ++j) {
        double const v = static_cast<double>(x[i * 75 + j]);
        exponentials += std::exp(v), sum += v, square += v * v;
      }
      INFO("row " << i);
      REQUIRE(std::abs(static_cast<double>(y[i]) - std::log(exponentials * passes)) <= 1e-5);
      REQUIRE(std::abs(static_cast<double>(sums[i]) - sum * passes) <= 1e-2);
      REQUIRE(std::abs(static_cast<double>(squares[i]) - square * passes) <= 1e-6 * square * passes + 1e-2);
    }
    for (std::int64_t block = 0; block < 3; ++block) REQUIRE(counts[block] == 3 * passes);
  }
}
inline void check_hana_search(Executor on) {
  Array<float, 2> x({32, 21}), y({32, 1});
  Array<int, 1> counts({2}, -1);
  for (float& v : x.values) v = static_cast<float>(draw_below(50)) * 0.25F;
  double const bound = 300;
  TEGULA_CHECK_RUN(on, hana_search, x, static_cast<float>(bound), y, counts);
  for (std::int64_t block = 0; block < 2; ++block) {
    double sums[16] = {}, squares[16] = {};
    int count = 0;
    for (double largest = 0; count < 21 && largest < bound; ++count) {
      for (int i = 0; i < 16; ++i) {
        double const v = static_cast<double>(x[(block * 16 + i) * 21 + count]);
        sums[i] += v, squares[i] += v * v;
        largest = std::max(largest, squares[i]);
      }
    }
    REQUIRE(counts[block] == count);
    for (int i = 0; i < 16; ++i) REQUIRE(static_cast<double>(y[block * 16 + i]) == sums[i]);
  }
}
inline void check_hana_wide(Executor on) {
  std::array<Array<float, 1>, 36> x = random_arrays<36>();
  Array<float, 1> y({45});
  double const factor = 0.75;
  std::apply([&](auto&... input) { TEGULA_CHECK_RUN(on, hana_wide, input..., static_cast<float>(factor), y); }, x);
  for (std::int64_t i = 0; i < 45; ++i) {
    double sum = 0;
    for (Array<float, 1> const& input : x) sum = sum * 0.5 + static_cast<double>(input[i]) * factor * factor + 3;
    REQUIRE(std::abs(static_cast<double>(y[i]) - sum) <= 1e-5 * (20 + std::abs(sum)));
  }
}
inline void check_hana_fifty(Executor on) {
  std::array<Array<float, 1>, 49> x = random_arrays<49>();
  Array<float, 1> y({45});
  std::apply([&](auto&... input) { TEGULA_CHECK_RUN(on, hana_fifty, input..., y); }, x);
  for (std::int64_t i = 0; i < 45; ++i) {
    double sum = 0;
    for (Array<float, 1> const& input : x) sum = sum * 0.5 + static_cast<double>(input[i]);
    REQUIRE(std::abs(static_cast<double>(y[i]) - sum) <= 1e-5 * (20 + std::abs(sum)));
  }
}

}  // namespace tegula::test
