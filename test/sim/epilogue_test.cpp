// Ends of products that load a residual and a bias: right on the host, as tiles and warp by warp, where tiles cross the
// tensors' borders.
#include <tegula/tegula.hpp>

#include <cmath>
#include <vector>

#include "support/catch.hpp"
#include "support/each_way.hpp"
#include "tegula/jit/budget.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

constexpr auto fused = kernel("fused", [](in<bf16, 2> x, in<bf16, 2> w, in<float, 1> bias, in<bf16, 2> r,
                                          out<float, 2> y) {
  auto g = grid_over(y, shape<128, 128>);
  tile sums = loop(
      ceil_div(x.extent(1), 32), zeros<float>(shape<128, 128>),
      [&](auto k, auto sum) { return dot(load(x, shape<128, 32>, g[0], k), load(w, shape<32, 128>, k, g[1]), sum); },
      stages<2>);
  tile z = sums + expand_dims(load(bias, shape<128>, g[1]), axis<0>);
  tile act = 0.5F * z * (1 + tanh(0.7978845608F * (z + 0.044715F * z * z * z)));
  store(y, shape<128, 128>, act + cast<float>(load(r, shape<128, 128>, g[0], g[1])), g[0], g[1]);
});

}  // namespace

TEST_CASE("residual: the chunks of a result load their parts of it") {
  std::int64_t const rows = 136, columns = 152, depth = 72;
  auto const x = drawn<bf16>(rows * depth, 1), w = drawn<bf16>(depth * columns, 2), r = drawn<bf16>(rows * columns, 3);
  auto const bias = drawn<float>(columns, 4);
  each_way<float>(
      static_cast<std::size_t>(rows * columns),
      [&](auto const& way, float* y) {
        way(fused, view(x.data(), rows, depth), view(w.data(), depth, columns), view(bias.data(), columns),
            view(r.data(), rows, columns), view(y, rows, columns));
      },
      [&](std::vector<float> const& found) {
        double worst = 0;
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j) {
            double z = at(bias, j);
            for (std::int64_t k = 0; k < depth; ++k) z += at(x, i * depth + k) * at(w, k * columns + j);
            double const act = 0.5 * z * (1 + std::tanh(0.7978845608 * (z + 0.044715 * z * z * z)));
            worst = std::max(worst, std::fabs(at(found, i * columns + j) - act - at(r, i * columns + j)));
          }
        CHECK(worst <= 1e-4);
      });
  KernelFacts const seen = facts(fused);
  INFO(seen.str());
  for (AccessPath const& load : seen.loads)
    if (load.memory == "in3") CHECK(load.tile != "128x128xbf16");
  CHECK(seen.spill_bytes <= 0);
}
