// Statements, device functions and the meta stage.
#include <optional>

#include "support/catch.hpp"
#include "support/message.hpp"
#include "tegula/dsl/dsl.hpp"

using namespace tegula;
using test::ContainsSubstring;
using test::message_of;

namespace {

namespace nn {
inline constexpr auto scale = function([](auto x, auto by) { return x * by; });
struct Activations {
  static constexpr auto square = function([](auto x) { return x * x; });
};
inline constexpr auto put = function([](auto tensor, auto value, auto at) { store(tensor, shape<64>, value, at); });
inline constexpr auto both = function([](auto x, auto y) { return carry(x + y, x - y); });
inline constexpr auto kept =
    function([](auto x, auto y) { return loop(2, carry(x, y), [](auto, auto a, auto b) { return carry(b, a + b); }); },
             noinline);
inline constexpr auto clamp = function([](auto x, auto limit) {
  return if_(
      limit > 0, [&] { return min(x, 1); }, [&] { return max(x, -1); });
});
}  // namespace nn

int count(std::string const& text, std::string const& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

}  // namespace

TEST_CASE("functions named through a namespace or a class are traced in a branch", "[F19]") {
  auto const k = kernel("qualified", [](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile v = load(x, shape<64>, g[0]);
    tile r = if_(
        g[0] == 0, [&] { return nn::scale(v, 2) + 1; }, [&] { return nn::Activations::square(v + 3); });
    store(y, shape<64>, r, g[0]);
  });
  std::string const text = k.trace().text();
  CHECK(count(text, " = mul ") == 3);  // the index, the product, the square
  CHECK_THAT(text, ContainsSubstring("} else {"));
}

TEST_CASE("code after a compile-time return is not traced", "[F32]") {
  auto const body = []<bool early>(std::bool_constant<early>) {
    return kernel("early", [](in<float, 1> x, out<float, 1> y) {
      auto g = grid_over(y, shape<64>);
      store(y, shape<64>, load(x, shape<64>, g[0]), g[0]);
      if constexpr (early) {
        return;
      } else {
        constexpr int extra = early ? 0 : 64;  // the load would be refused: two axes of a tensor with one
        store(y, shape<64>, sum(load(x, shape<64, extra>, g[0]), axis<1>), g[0]);
      }
    });
  };
  CHECK(count(body(std::true_type()).trace().text(), "store") == 1);
}

TEST_CASE("both branches of an inlined function give a value", "[F33][F34]") {
  auto const k = kernel("clamped", [](in<float, 1> x, out<float, 1> y, arg<int> limit) {
    auto g = grid_over(y, shape<64>);
    store(y, shape<64>, nn::clamp(load(x, shape<64>, g[0]) + 1, limit) * 2, g[0]);
  });
  std::string const text = k.trace().text();
  CHECK(count(text, "yield") == 2);
  CHECK_THAT(text, ContainsSubstring("tile<64xf32> {"));
}

TEST_CASE("a value of one branch is refused by name outside of it, and works inside", "[F35]") {
  auto const inside = kernel("inside", [](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    if_(g[0] == 0, [&] {
      tile local = load(x, shape<64>, g[0]) + 1;
      tile chained = nn::scale(nn::Activations::square(local), 2);
      store(y, shape<64>, chained, g[0]);
    });
  });
  CHECK(count(inside.trace().text(), "store") == 1);

  auto const outside = kernel("outside", [](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    std::optional<tile<float, Shape<64>>> leaked;
    if_(g[0] == 0, [&] {
      tile local = load(x, shape<64>, g[0]) + 1;
      leaked.emplace(local);
    });
    store(y, shape<64>, *leaked * 2, g[0]);
  });
  std::string const error = message_of([&] { (void)outside.trace(); });
  CHECK_THAT(error, ContainsSubstring("kernel 'outside': a value defined in the then branch of the if_ at "));
  CHECK_THAT(error, ContainsSubstring("is used outside of it, in the body of kernel 'outside'"));
  CHECK_THAT(error, ContainsSubstring("return it from both branches"));
}

TEST_CASE("a void function as a statement of a branch", "[F36]") {
  auto const k = kernel("statements", [](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile v = load(x, shape<64>, g[0]);
    if_(
        g[0] < 3, [&] { nn::put(y, v, g[0]); }, [&] { nn::put(y, v * 2, g[0]); });
  });
  std::string const text = k.trace().text();
  CHECK(count(text, "store") == 2);
  CHECK(text.find("store") > text.find("if "));
}

TEST_CASE("loop forms: plain, carried, over a range, by its stores; depth, distance and unrolling", "[B20][B28]") {
  auto const k = kernel("loops", [](in<float, 2> x, inout<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile a =
        loop(x.extent(0), zeros<float>(shape<64>), [&](auto i, auto s) { return s + load(x, shape<64>, i, g[0]); });
    auto [b, c] = loop(
        range(1, x.extent(0), 2), carry(a, a * 2),
        [&](auto i, auto s, auto t) {
          tile v = load(x, shape<64>, i, g[0]);
          return carry(s + v, max(t, v));
        },
        stages<3>);
    loop(4, [&](auto i) { store(y, shape<64>, b + c + load(y, shape<64>, i), i); });
    loop(
        4, [&](auto i) { store(y, shape<64>, load(y, shape<64>, i) * 2, i); }, stages<4, 2>, unroll<2>);
    loop(
        4, [&](auto i) { store(y, shape<64>, load(y, shape<64>, i) * 3, i); }, unroll<8>);
  });
  std::string const text = k.trace().text();
  CHECK(count(text, "for %i") == 5);
  CHECK_THAT(text, ContainsSubstring("{stages = 3}"));
  CHECK_THAT(text, ContainsSubstring("{stages = 4, distance = 2, unroll = 2}"));
  CHECK_THAT(text, ContainsSubstring("{unroll = 8}"));
}

TEST_CASE("several values of a loop, branch or function are returned and carried") {
  auto const k = kernel("nested", [](in<float, 1> x, arg<int> n, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile v = load(x, shape<64>, g[0]);
    auto const swapped = [](auto a, auto b) { return carry(b, a); };
    auto const inner = [&](auto a, auto b) {
      return loop(n, carry(a, b), [&](auto, auto c, auto d) {
        return if_(
            n > 2, [&] { return swapped(c, d); }, [&] { return carry(c + 1, d * 2); });
      });
    };
    auto [a, b] = loop(2, carry(v, v + 1), [&](auto, auto c, auto d) { return inner(c, d); });
    auto [c, d] = if_(
        n == 0, [&] { return inner(a, b); }, [&] { return carry(b, a); });
    auto [e, f] = loop(3, nn::both(c, d), [&](auto, auto i, auto j) { return nn::both(i, j); });
    auto [h, i] = nn::kept(e, f);
    auto [j, l] = let(carry(h + i, h - i));
    store(y, shape<64>, j * l, g[0]);
  });
  std::string const text = k.trace().text();
  CHECK(count(text, " = for ") == 5);
  CHECK(count(text, " = if ") == 3);
  CHECK(count(text, "call ") == 1);
}

TEST_CASE("a loop's step is checked at the launch where the host knows it") {
  auto const requirements = [](auto const& k) {
    std::string const text = k.trace().text();
    return count(text, "the step must be positive");
  };
  CHECK(requirements(kernel("given", [](out<float, 1> y, arg<int> n, arg<int> step) {
          auto g = grid_over(y, shape<64>);
          loop(2, [&](auto) {
            loop(range(0, n, step), [&](auto i) { store(y, shape<64>, 1, g[0] + i); });
            loop(range(n, 9, step), [&](auto i) { store(y, shape<64>, 2, g[0] + i); });
          });
          loop(range(0, y.extent(0), y.extent(0) / n), [&](auto i) { store(y, shape<64>, 3, g[0] + i); });
        })) == 2);
  CHECK(requirements(kernel("guarded", [](out<float, 1> y, arg<int> n, arg<int> step) {
          auto g = grid_over(y, shape<64>);
          if_(step > 0, [&] { loop(range(0, n, step), [&](auto i) { store(y, shape<64>, 1, g[0] + i); }); });
        })) == 0);
  CHECK(requirements(kernel("of_the_block", [](out<float, 1> y, arg<int> n) {
          auto g = grid_over(y, shape<64>);
          loop(range(0, n, g[0] + 1), [&](auto i) { store(y, shape<64>, 1, g[0] + i); });
          loop(range(0, n, 3), [&](auto i) { store(y, shape<64>, 1, g[0] + i); });
        })) == 0);
  CHECK_THAT(message_of([] {
               (void)kernel("none", [](out<float, 1> y) {
                 auto g = grid_over(y, shape<64>);
                 loop(range(0, 9, 0), [&](auto i) { store(y, shape<64>, 1, g[0] + i); });
               }).trace();
             }),
             ContainsSubstring("the step is 0, but must be positive"));
}
