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
  return forms.trace().text().size() + samples::vadd.trace().text().size() +
         samples::softmax<64>.trace().text().size() +
         samples::gemm<64, 64, 32>(samples::bias_relu).trace().text().size() +
         samples::attention<64, 64, 64>.trace().text().size();
}
