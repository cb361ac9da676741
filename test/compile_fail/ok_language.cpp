// Every form of the language compiles without a warning, Clang's -Wctad-maybe-unsupported included.
// rows: F44
#include <tegula/dsl/dsl.hpp>

#include "../../samples/kernels.hpp"

using namespace tegula;

struct Weights {
  in<float, 1, multiple_of<16>> factor;
  arg<float> offset;
};

inline constexpr auto square = function([](auto x) { return x * x; });

struct Rows {
  tile<float, Shape<8, 1>> largest, sum;
};
inline constexpr auto joined = function([](Rows a, auto v) {
  return Rows{tile(max(a.largest, max(v, axis<1>))), tile(a.sum + sum(v, axis<1>))};
});

constexpr auto orders = kernel("orders", [](in<float, 2> x, out<float, 2> y, out<int, 2> places) {
  auto g = grid_over(y, shape<8, 100>);
  tile v = load(x, shape<8, 100>, g[0], g[1]);
  auto [largest, at] = reduce(carry(v, iota<int>(shape<8, 100>, axis<1>)), axis<-1>, carry(-inf, 0),
                              [](auto a, auto i, auto b, auto j) { return carry(max(a, b), select(a < b, j, i)); });
  auto [factor, h] = scan(
      carry(exp(-abs(v)), v), axis<1>, carry(1, largest),
      [](auto a, auto b, auto c, auto d) { return carry(a * c, b * c + d); }, exclusive, reverse);
  auto [values, order] = top_k<4>(v, axis<1>);
  auto [keys, others] = sort(carry(v, h), axis<1>, descending);
  Rows rows = loop(2, Rows{largest, tile(slice(factor, shape<8, 1>, offset<0, 0>) + 0)},
                   [&](auto, Rows r) { return joined(r, keys); });
  store(y, shape<8, 100>, sort(pow(others, 2) + rows.sum + fmod(v, 3), axis<-1>), g[0], g[1]);
  store(places, shape<8, 4>, order + at, g[0], g[1]);
  store(places, shape<8, 100>, rotate_left(argsort(v, axis<1>), 3), g[0], g[1]);
});

constexpr auto placed = kernel("placed", [](in<std::uint32_t, 1> x, out<std::uint32_t, 1> y) {
  auto g = grid_over(y, shape<100>);
  tile v = load(x, shape<100>, g[0]);
  tile first = cumsum(bin_counts(v >> 30, bins<4>), axis<0>, exclusive);
  tile number = ranks(v & 3, bins<4>) + take_at(first, cast<int>(v >> 31));
  store(y, shape<100>, put_at(v ^ cast<std::uint32_t>(number), ranks(v >> 30, first)), g[0]);
});

constexpr auto forms = kernel("forms", [](Weights p, in<float, 2> x, inout<float, 1> y, arg<int> n) {
  require(x.extent(1) == y.extent(0), "one length");
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, 0, g[0], pad(-inf)) + load(y, shape<64>, elem(g[0] * 64 - n));
  tile w = square(v * load(p.factor, shape<64>, g[0])) + p.offset;
  auto [a, b] = loop(
      ceil_div(x.extent(0), 8), carry(v, w),
      [&](auto i, auto s, auto t) {
        tile r = load(x, shape<8, 64>, i, g[0]);
        return carry(s + squeeze(sum(r, axis<0>), axis<0>), max(t, squeeze(max(r, axis<0>, order::pairwise), axis<0>)));
      },
      stages<2>);
  tile c = if_(
      g[0] % 2_c == 0, [&] { return a + b; }, [&] { return let(a - b) * 2; });
  if_(n > 3, [&] { store(y, shape<64>, c, g[0]); });
  auto [e, f] = loop(2, carry(a, c), [&](auto, auto s, auto t) {
    return if_(
        n > 1, [&] { return loop(n, carry(s, t), [&](auto, auto u, auto w2) { return carry(w2, u); }); },
        [&] { return carry(t, s); });
  });
  auto [d, h] = let(carry(e + f, full<double>(shape<64>, p.offset)));
  store(y, shape<64>, d * cast<float>(h), g[0]);
  loop(range(1, n), [&](auto i) { store(y, shape<64>, select(c > 0, c, -c), i); });
  tile m = mask_outside(full<float>(shape<1, 64>, 1) + full(shape<1, 1>, cast<float>(n) * 0.5f), axis<1>, g[0], n, 0);
  store(y, shape<64>, squeeze(trans(m), axis<1>) + cast<float>(iota(shape<64>, axis<0>)), g[0]);
});

static_assert(square(host(3)) == 9);

std::size_t trace_all() {
  return forms.trace().text().size() + orders.trace().text().size() + placed.trace().text().size() +
         samples::vadd.trace().text().size() + samples::softmax<64>.trace().text().size() +
         samples::gemm<64, 64, 32>(samples::bias_relu).trace().text().size() +
         samples::attention<64, 64, 64>.trace().text().size();
}
