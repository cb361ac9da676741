// Tests slices of tensors on the host and in both simulators: products of groups of rows, and cut corners.
#include "kernels/grouped_products.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("a kernel multiplies slices that it reads from memory", "[H4][D7][D14]") {
  for (Executor const executor : executors_without_device) {
    check_grouped_products(executor, {64, 10, 0, 70, 1}, 128, 64, 3);
    check_grouped_products(executor, {0, 0, 5}, 64, 72);
    check_grouped_products(executor, {33}, 200, 128, 1);
  }
}

TEST_CASE("slices of slices are clipped to their tensor", "[H8]") {
  for (Executor const executor : executors_without_device) check_cut_corner(executor);
}

TEST_CASE("a slice sees the stores of its tensor, and the other way round") {
  constexpr auto shift = kernel("shift", [](inout<float, 1> x) {
    auto g = grid(1);
    auto tail = slice(x, axis<0>, 4, x.extent(0));
    tile v = load(x, shape<16>, g[0]);
    store(tail, shape<16>, v * 2.0F, g[0]);
    tile again = load(x, shape<16>, g[0]);
    store(x, shape<16>, again + 1.0F, g[0]);
  });
  for (Executor const executor : executors_without_device) {
    Array<float, 1> x({16});
    for (int i = 0; i < 16; ++i) x[i] = static_cast<float>(i);
    TEGULA_CHECK_RUN(executor, shift, x);
    std::int64_t wrong = 0;
    for (int i = 0; i < 16; ++i) {
      float const expected = (i < 4 ? static_cast<float>(i) : 2.0F * static_cast<float>(i - 4)) + 1;
      if (x[i] != expected) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("an extent of a slice is not known at the launch") {
  constexpr auto late = kernel("late", [](in<float, 1> x, in<int, 1> count, out<float, 1> y) {
    auto part = slice(x, axis<0>, 0, load(count, 0));
    auto g = grid(ceil_div(part.extent(0), 16));
    store(y, shape<16>, tile(load(part, shape<16>, g[0])), g[0]);
  });
  Array<float, 1> x({16}), y({16});
  Array<int, 1> count({1}, 16);
  CHECK_THROWS_WITH(launch(host_stream(), late, x.view(), count.view(), y.view()),
                    ContainsSubstring("uses an extent of a slice, which is not known at the launch"));
}

TEST_CASE("copies of slices by TMA are named as such", "[H4][D7]") {
  KernelFacts const found = facts(grouped_products);
  auto const by_copy = [](AccessPath const& row) { return row.path == Path::tma; };
  auto const built = [](AccessPath const& row) {
    return row.reason.find("a descriptor built on the device") != std::string::npos;
  };
  CHECK(std::ranges::count_if(found.loads, by_copy) == 2);
  CHECK(std::ranges::count_if(found.loads, built) == 1);
  CHECK(std::ranges::count_if(found.stores, built) == 1);
}

TEST_CASE("the lambda of a kernel with slices runs as it is") {
  Array<float, 1> x({16}), y({16});
  for (int i = 0; i < 16; ++i) x[i] = static_cast<float>(i);
  constexpr auto tail = kernel("tail", [](in<float, 1> of, out<float, 1> to) {
    auto g = grid(1);
    auto part = slice(of, axis<0>, 10, of.extent(0));
    store(to, shape<16>, load(part, shape<16>, g[0], pad(-1.0F)) + cast<float>(full(shape<16>, 0)), g[0]);
  });
  CHECK(debug(tail, x.view(), y.view()).clean);
  for (int i = 0; i < 16; ++i) CHECK(y[i] == (i < 6 ? x[10 + i] : -1.0F));
}

TEST_CASE("slices are passed to functions; two of one tensor that is written are refused") {
  constexpr auto doubled = function(
      "doubled", [](auto from, auto to) { store(to, shape<8>, load(from, shape<8>, 0) * 2.0F, 0); }, noinline);
  constexpr auto halves = kernel("halves", [=](in<float, 1> x, out<float, 1> y) {
    auto g = grid(1);
    doubled(slice(x, axis<0>, 8, 16), slice(y, axis<0>, 8 * (g[0] + 1), y.extent(0)));
  });
  for (Executor const executor : executors_without_device) {
    Array<float, 1> x({16}), y({16}, -1);
    for (int i = 0; i < 16; ++i) x[i] = static_cast<float>(i);
    TEGULA_CHECK_RUN(executor, halves, x, y);
    for (int i = 0; i < 16; ++i) CHECK(y[i] == (i < 8 ? -1.0F : 2.0F * static_cast<float>(i)));
  }
  constexpr auto twice = kernel("twice", [=](inout<float, 1> x) {
    auto g = grid(1);
    doubled(x, slice(x, axis<0>, g[0] + 8, 16));
  });
  Array<float, 1> x({16});
  CHECK_THROWS_WITH(launch(host_stream(), twice, x.view()),
                    ContainsSubstring("a slice of it, and one of them is written; pass the tensor once"));
}
