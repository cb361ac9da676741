// Tests errors that only a trace can find: epochs, regions, other kernels, grids; with names and lines.
#include <fmt/format.h>

#include <functional>
#include <optional>

#include "support/catch.hpp"
#include "support/message.hpp"
#include "tegula/dsl/dsl.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using test::ContainsSubstring;

namespace {

template <class K>
std::string error_of(K const& k) {
  return test::message_of([&] { (void)k.trace(); });
}

std::string line(std::uint32_t number) { return fmt::format("errors_test.cpp:{}", number); }

}  // namespace

TEST_CASE("a load recorded after a store that may alias it is refused with both lines") {
  std::uint32_t load_line = 0, store_line = 0;
  auto const k = kernel("late", [&](inout<float, 1> x) {
    auto g = grid_over(x, shape<64>);
    load_line = __LINE__ + 1;
    auto late = load(x, shape<64>, g[0]);
    store_line = __LINE__ + 1;
    store(x, shape<64>, 0, g[0]);
    tile v = std::move(late);
    store(x, shape<64>, v, g[0]);
  });
  std::string const error = error_of(k);
  CHECK_THAT(error, ContainsSubstring(line(load_line)));
  CHECK_THAT(error, ContainsSubstring(line(store_line)));
  CHECK_THAT(error, ContainsSubstring("that may alias it: bind it before the store with `tile x = load(...)`"));
}

TEST_CASE("a load bound before a store keeps the value of its epoch") {
  auto const k = kernel("early", [](inout<float, 1> x, in<float, 1> other) {
    auto g = grid_over(x, shape<64>);
    tile before = load(x, shape<64>, g[0]);
    auto unrelated = load(other, shape<64>, g[0]);  // an in never aliases a written parameter
    store(x, shape<64>, 0, g[0]);
    tile after = load(x, shape<64>, g[0]);
    store(x, shape<64>, before + after + std::move(unrelated), g[0]);
  });
  std::string const text = k.trace().text();
  auto const first_store = text.find("store");
  auto const first_load = text.find("load %inout0");
  CHECK(first_load < first_store);
  CHECK(text.find("load %inout0", first_store) != std::string::npos);
  CHECK(text.find("load %in1") > first_store);
}

TEST_CASE("a load written before a loop and recorded in it reads before the loop") {
  auto const k = kernel("hoisted", [](inout<float, 1> x) {
    auto g = grid_over(x, shape<64>);
    auto outside = load(x, shape<64>, g[0]);
    loop(4, [&](auto i) {
      tile v = std::move(outside);
      store(x, shape<64>, v, i);
    });
  });
  std::string const text = k.trace().text();
  CHECK(text.find("load") < text.find("for %i"));
}

TEST_CASE("a tile of another kernel is refused with both names") {
  std::optional<tile<float, Shape<64>>> leaked;
  auto const first = kernel("first", [&](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile v = load(x, shape<64>, g[0]);
    leaked.emplace(v);
    store(y, shape<64>, v, g[0]);
  });
  (void)first.trace();
  auto const second = kernel("second", [&](out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    store(y, shape<64>, *leaked + 1, g[0]);
  });
  std::string const error = error_of(second);
  CHECK_THAT(error, ContainsSubstring("kernel 'second': a value of kernel 'first' is used at "));
}

TEST_CASE("an assignment to a tile of an outer region is refused, with the advice to carry it") {
  auto const in_loop = kernel("assigned", [](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile total = zeros<float>(shape<64>);
    loop(4, [&](auto i) { total = total + load(x, shape<64>, i); });
    store(y, shape<64>, total, g[0]);
  });
  CHECK_THAT(error_of(in_loop), ContainsSubstring("is assigned in the loop at "));
  CHECK_THAT(error_of(in_loop), ContainsSubstring("carry it"));
  auto const in_branch = kernel("assigned", [](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile v = load(x, shape<64>, g[0]);
    tile w = v * 2;
    if_(g[0] == 0, [&] { v = w; });
    store(y, shape<64>, v, g[0]);
  });
  CHECK_THAT(error_of(in_branch), ContainsSubstring("is assigned in the then branch of the if_ at "));
  auto const same_region = kernel("assigned", [](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile v = load(x, shape<64>, g[0]);
    for (int i = 0; i < 3; ++i) v = v * v;
    v += 1;
    loop(4, [&](auto i) {
      tile w = v;  // a copy lives in the loop
      w = w + 1;
      store(y, shape<64>, w, i);
    });
  });
  CHECK(error_of(same_region) == "no error");
}

TEST_CASE("a loop's index and tiles end with the loop") {
  auto const k = kernel("stray", [](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    std::optional<scalar<std::int64_t>> stray;
    loop(4, [&](auto i) { stray.emplace(i); });
    store(y, shape<64>, load(x, shape<64>, *stray), g[0]);
  });
  CHECK_THAT(error_of(k), ContainsSubstring("a value defined in the loop at "));
  CHECK_THAT(error_of(k), ContainsSubstring("carry it, and use the result of loop"));
}

TEST_CASE("the grid is stated once, outside of loops, and must give blocks") {
  CHECK_THAT(error_of(kernel("none", [](out<float, 1> y) { store(y, shape<64>, 0, 0); })),
             ContainsSubstring("no grid is stated"));
  CHECK_THAT(error_of(kernel("two",
                             [](out<float, 1> y) {
                               grid_over(y, shape<64>);
                               grid_over(y, shape<32>);
                             })),
             ContainsSubstring("the grid is already stated at "));
  CHECK_THAT(error_of(kernel("zero",
                             [](out<float, 1> y) {
                               auto g = grid(0);
                               store(y, shape<64>, 0, g[0]);
                             })),
             ContainsSubstring("extent 0 of axis 0 does not give a block"));
  CHECK_THAT(error_of(kernel("nested", [](out<float, 1> y) { loop(2, [&](auto) { grid_over(y, shape<64>); }); })),
             ContainsSubstring("outside of loops and branches"));
  CHECK_THAT(error_of(kernel("index",
                             [](out<float, 1> y) {
                               auto g = grid_over(y, shape<64>);
                               store(y, shape<64>, 0, g[1]);
                             })),
             ContainsSubstring("has 1 axis, but axis 1 of it is used"));
}

TEST_CASE("require takes conditions that the host can evaluate") {
  CHECK_THAT(error_of(kernel("blocks",
                             [](out<float, 1> y) {
                               auto g = grid_over(y, shape<64>);
                               require(g[0] < 4, "few");
                             })),
             ContainsSubstring("uses a block index, which is not known at the launch"));
  CHECK_THAT(error_of(kernel("floats",
                             [](out<float, 1> y, arg<float> a) {
                               grid_over(y, shape<64>);
                               require(a < 4, "small");
                             })),
             ContainsSubstring("uses a floating value"));
  CHECK_THAT(error_of(kernel("never",
                             [](out<float, 1> y) {
                               grid_over(y, shape<64>);
                               require(sizeof(float) == 3, "a float has three bytes");
                             })),
             ContainsSubstring("a float has three bytes"));
}

TEST_CASE("numbers must fit the element they meet") {
  CHECK_THAT(error_of(kernel("wide",
                             [](in<int, 1> x, out<int, 1> y) {
                               auto g = grid_over(y, shape<64>);
                               store(y, shape<64>, load(x, shape<64>, g[0]) + 3000000000, g[0]);
                             })),
             ContainsSubstring("the scalar 3000000000 does not fit the element i32"));
  CHECK_THAT(error_of(kernel("padded",
                             [](in<int, 1> x, out<int, 1> y) {
                               auto g = grid_over(y, shape<64>);
                               store(y, shape<64>, load(x, shape<64>, g[0], pad(-inf)), g[0]);
                             })),
             ContainsSubstring("pad -inf does not fit the element i32"));
}

TEST_CASE("numbers are rounded to the element, and refused where they would become 0") {
  auto const error = []<class T>(T, auto number) {
    return error_of(kernel("number", [number](in<T, 1> x, out<T, 1> y) {
      auto g = grid_over(y, shape<64>);
      store(y, shape<64>, load(x, shape<64>, g[0], pad(number)) + number, g[0]);
    }));
  };
  CHECK_THAT(error(0.F, 1e300), ContainsSubstring("1e+300 does not fit the element f32, which ends at 3.40282e+38"));
  CHECK_THAT(error(f16(), 70000), ContainsSubstring("70000 does not fit the element f16, which ends at 65504"));
  CHECK_THAT(error(f16(), -65520.F), ContainsSubstring("-65520 does not fit the element f16"));
  CHECK_THAT(error(bf16(), 3.4e38),
             ContainsSubstring("3.4e+38 does not fit the element bf16, which ends at 3.38953e+38"));
  CHECK_THAT(error(f16(), 1e-8), ContainsSubstring("1e-08 does not fit the element f16, which would round it to 0"));
  CHECK_THAT(error(0.F, 1e-46), ContainsSubstring("does not fit the element f32, which would round it to 0"));
  CHECK_THAT(error(std::int64_t{0}, std::uint64_t{1} << 63),
             ContainsSubstring("9223372036854775808 does not fit the element i64"));
  CHECK(error(f16(), 65519) == "no error");
  CHECK(error(f16(), 6e-8) == "no error");
  CHECK(error(0.F, 3.4028235e38) == "no error");
  CHECK(error(0.F, -inf) == "no error");
  CHECK(error(0.F, 0.1) == "no error");
  CHECK(error(bf16(), 16777217) == "no error");
  CHECK(error(0.0, ~std::uint64_t{0}) == "no error");
}

TEST_CASE("loops are nested to a limited depth") {
  auto const nested = [](int depth) {
    return error_of(kernel("nested", [depth](out<float, 1> y) {
      auto g = grid_over(y, shape<64>);
      std::function<void(int)> const inner = [&](int left) {
        if (left == 0)
          store(y, shape<64>, 1, g[0]);
        else
          loop(2, [&](auto) { inner(left - 1); });
      };
      inner(depth);
    }));
  };
  CHECK(nested(63) == "no error");
  CHECK_THAT(nested(64),
             ContainsSubstring("loops and branches nested 64 deep") && ContainsSubstring("a kernel may nest 63"));
}

TEST_CASE("tiles need a kernel, kernels an identifier") {
  CHECK_THROWS_AS(
      [] {
        tile t = zeros<float>(shape<4>);
        (void)t;
      }(),
      UserError);
  CHECK_THAT(error_of(kernel("two words", [](out<float, 1> y) { grid_over(y, shape<64>); })),
             ContainsSubstring("kernel name 'two words' must be letters, digits and _"));
}

TEST_CASE("an error's place is the user's line: of the nearest located operand, else of the binding") {
  std::uint32_t expected = 0;
  auto const place = [](auto const& k) {
    try {
      (void)k.trace();
    } catch (UserError const& error) {
      CHECK_THAT(error.where().file(), ContainsSubstring("errors_test.cpp"));
      return error.where().line();
    }
    return std::uint32_t{0};
  };
  auto const bound = kernel("bound", [&](in<int, 1> x, out<int, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile v = load(x, shape<64>, g[0]);
    expected = __LINE__ + 1;
    tile w = v + 3000000000;
    store(y, shape<64>, w, g[0]);
  });
  std::uint32_t const line_bound = place(bound);
  CHECK(line_bound == expected);
  auto const located = kernel("located", [&](in<int, 1> x, out<int, 1> y) {
    auto g = grid_over(y, shape<64>);
    expected = __LINE__ + 2;
    store(y, shape<64>,  // not this line
          load(x, shape<64>, g[0]) + 3000000000, g[0]);
  });
  std::uint32_t const line_located = place(located);
  CHECK(line_located == expected);
}

TEST_CASE("an index beyond 63 bits is refused as it was written") {
  constexpr std::uint64_t largest = ~std::uint64_t{0};
  auto const load_there = kernel("there", [=](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    store(y, shape<64>, load(x, shape<64>, largest), g[0]);
  });
  auto const one_there = kernel("there", [=](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    store(y, shape<64>, full(shape<64>, load(x, elem(largest))), g[0]);
  });
  auto const store_there = kernel("there", [=](out<float, 1> y) {
    (void)grid_over(y, shape<64>);
    store(y, shape<64>, 1.f, largest);
  });
  CHECK_THAT(error_of(load_there), ContainsSubstring("18446744073709551615"));
  CHECK_THAT(error_of(one_there), ContainsSubstring("18446744073709551615"));
  CHECK_THAT(error_of(store_there), ContainsSubstring("18446744073709551615"));
}

TEST_CASE("a loop and a statement on one line are named by one place") {
  auto const k = kernel("one_line", [](out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile a = zeros<float>(shape<64>);
    loop(4, [&](auto) { a = a + 1; });
    store(y, shape<64>, a, g[0]);
  });
  std::string const error = error_of(k), word = "is assigned in the loop at ";
  std::size_t const begin = error.find(word);
  REQUIRE(begin != std::string::npos);
  CHECK(error.find(" at ", begin + word.size()) == std::string::npos);
}
