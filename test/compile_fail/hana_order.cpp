// expect: kernel: a struct of Boost.Hana must be made from the members that it lists
// rows: L10
#include <tegula/dsl/dsl.hpp>
#include <tegula/dsl/hana.hpp>

using namespace tegula;

struct Many {
  in<float, 1> a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23,
      a24, a25, a26, a27, a28, a29, a30, a31, a32;
  out<float, 1> y;
};
BOOST_HANA_ADAPT_STRUCT(Many, a1, a3, a2, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20,
                        a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, y);

constexpr auto k = kernel("k", [](Many p) {
  auto g = grid_over(p.y, shape<64>);
  store(p.y, shape<64>, load(p.a1, shape<64>, g[0]), g[0]);
});
