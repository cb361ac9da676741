// expect: bin_counts, ranks: the tile must be of int or std::uint32_t: use cast<int>
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, out<int, 1> y) {
  auto g = grid_over(x, shape<64>);
  store(y, shape<16>, bin_counts(load(x, shape<64>, g[0]), bins<16>), 0);
});
