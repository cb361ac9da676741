// Multiplies groups of rows by the weights of their group, on any executor. The kernel reads where a group begins and
// ends, so its rows are slices of tensors.
#pragma once

#include <random>

#include "support/catch.hpp"
#include "support/executors.hpp"

namespace tegula::test {

inline constexpr std::int64_t group_rows = 64, group_columns = 64, group_depth = 64;

/// Group g has the rows starts[g] .. starts[g + 1] - 1 of `a` and `c`. Each group has tiles for `most` rows.
inline constexpr auto grouped_products = kernel(
    "grouped_products", [](in<bf16, 2> a, in<bf16, 3> b, in<int, 1> starts, out<float, 2> c, arg<std::int64_t> most) {
      auto g = grid(starts.extent(0) - 1, ceil_div(most, group_rows), ceil_div(c.extent(1), group_columns));
      auto first = load(starts, g[0]), last = load(starts, g[0] + 1);
      auto x = slice(a, axis<0>, first, last);
      auto y = slice(c, axis<0>, first, last);
      tile sums = loop(
          ceil_div(a.extent(1), group_depth), zeros<float>(shape<group_rows, group_columns>),
          [&](auto k, auto sum) {
            return dot(load(x, shape<group_rows, group_depth>, g[1], k),
                       load(b, shape<group_depth, group_columns>, g[0], k, g[2]), sum);
          },
          stages<3>);
      store(y, shape<group_rows, group_columns>, sums, g[1], g[2]);
    });

/// Runs the kernel for groups of so many rows. Rows of no group stay as they are, and each result is that of float64.
inline void check_grouped_products(Executor executor, std::vector<int> const& rows, std::int64_t depth,
                                   std::int64_t columns, std::int64_t ahead = 0) {
  std::mt19937 random(static_cast<unsigned>(depth + columns + static_cast<std::int64_t>(rows.size())));
  std::uniform_int_distribution<int> whole(-4, 4);
  std::vector<int> starts = {static_cast<int>(ahead)};
  for (int const count : rows) starts.push_back(starts.back() + count);
  std::int64_t const all = starts.back() + ahead;
  auto const groups = static_cast<std::int64_t>(rows.size());
  Array<bf16, 2> a({all, depth});
  Array<bf16, 3> b({groups, depth, columns});
  for (bf16& x : a.values) x = bf16(static_cast<float>(whole(random)));
  for (bf16& x : b.values) x = bf16(static_cast<float>(whole(random)));
  constexpr float untouched = -12345;
  Array<float, 2> c({all, columns}, untouched);
  Array<int, 1> where = array_of(starts);
  std::int64_t const most = *std::max_element(rows.begin(), rows.end());
  INFO("groups of " << rows[0] << ", ... rows, depth " << depth << ", " << columns << " columns, " << ahead
                    << " rows ahead");
  TEGULA_CHECK_RUN(executor, grouped_products, a, b, where, c, most);
  std::int64_t wrong = 0;
  for (std::int64_t row = 0; row < all; ++row) {
    auto const after = std::upper_bound(starts.begin(), starts.end(), row);
    std::int64_t const group = after - starts.begin() - 1;
    for (std::int64_t column = 0; column < columns; ++column) {
      double expected = untouched;
      if (group >= 0 && group < groups) {
        expected = 0;
        for (std::int64_t k = 0; k < depth; ++k)
          expected += static_cast<double>(static_cast<float>(a[row * depth + k])) *
                      static_cast<double>(static_cast<float>(b[(group * depth + k) * columns + column]));
      }
      if (static_cast<double>(c[row * columns + column]) != expected) ++wrong;
    }
  }
  CHECK(wrong == 0);
}

/// Cuts one axis twice, and another one, of tensors of any strides; loads count from the slice's begin and see zeros
/// behind its end, and stores after it are dropped.
inline constexpr auto cut_corner =
    kernel("cut_corner", [](in<int, 2> x, out<int, 2> y, arg<std::int64_t> top, arg<std::int64_t> bottom,
                            arg<std::int64_t> left, arg<std::int64_t> right) {
      auto g = grid(ceil_div(y.extent(0), 8), ceil_div(y.extent(1), 16));
      auto rows = slice(x, axis<0>, top, bottom);
      auto part = slice(slice(rows, axis<-1>, left, right), axis<0>, 1, rows.extent(0));
      auto into = slice(y, axis<1>, left, y.extent(1));
      tile v = load(part, shape<8, 16>, g[0], g[1], pad(-7));
      store(into, shape<8, 16>, v + 1, g[0], g[1]);
    });

inline void check_cut_corner(Executor executor) {
  std::int64_t const height = 21, width = 37;
  std::mt19937 random(3);
  std::uniform_int_distribution<int> any(-1000, 1000);
  Array<int, 2> x({height, width});
  for (int& value : x.values) value = any(random);
  struct Bounds {
    std::int64_t top, bottom, left, right;
  };
  for (Bounds const& cut : {Bounds{0, 21, 0, 37}, Bounds{3, 17, 5, 30}, Bounds{4, 4, 0, 37}, Bounds{9, 2, 1, 2},
                            Bounds{-5, 40, 6, 99}, Bounds{30, 40, 36, 37}}) {
    Array<int, 2> y({height, width}, -99);
    std::int64_t top = cut.top, bottom = cut.bottom, left = cut.left, right = cut.right;
    INFO("rows " << top << " to " << bottom << ", columns " << left << " to " << right);
    TEGULA_CHECK_RUN(executor, cut_corner, x, y, top, bottom, left, right);
    auto const clip = [](std::int64_t low, std::int64_t at, std::int64_t high) { return std::clamp(at, low, high); };
    std::int64_t const begin = clip(0, top, height), end = clip(begin, bottom, height);
    std::int64_t const first = clip(0, left, width), last = clip(first, right, width);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < height; ++i)
      for (std::int64_t j = 0; j < width; ++j) {
        std::int64_t const from_row = begin + 1 + i, from_column = first + (j - first);
        int expected = -99;
        if (j >= first) {
          bool const inside = from_row < end && from_column < last;
          expected = inside ? x[from_row * width + from_column] + 1 : -6;
        }
        if (y[i * width + j] != expected) ++wrong;
      }
    CHECK(wrong == 0);
  }
}

}  // namespace tegula::test
