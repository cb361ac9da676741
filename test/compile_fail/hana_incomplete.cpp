// expect: loop: a struct of Boost.Hana must be made from the members that it lists
// rows: L10
#include <tegula/dsl/dsl.hpp>
#include <tegula/dsl/hana.hpp>

using namespace tegula;

struct Many {
  tile<float, Shape<8>> a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21,
      a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33;
  int count = 0;
};
BOOST_HANA_ADAPT_STRUCT(Many, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20,
                        a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33);

constexpr auto k = kernel("k", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<8>);
  tile v = load(x, shape<8>, g[0]);
  Many many{v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v, v};
  store(y, shape<8>, loop(4, many, [](auto, Many const& all) { return all; }).a1, g[0]);
});
