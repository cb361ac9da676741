// expect: loop: the body must return the element and shape that the loop carries
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

struct State {
  tile<float, Shape<8>> m, s;
};

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<8>);
  tile v = load(x, shape<8>, g[0]);
  State end = loop(4, State{v, v}, [&](auto, State state) { return state.m + state.s; });
  store(y, shape<8>, end.m, g[0]);
});
