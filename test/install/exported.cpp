// Exports a kernel that the program of embedded.cpp embeds.
#include <tegula/exporter/exporter.hpp>

namespace {

using namespace tegula;

constexpr auto tripled = kernel("tripled", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<256>);
  store(y, shape<256>, load(x, shape<256>, g[0]) * 3, g[0]);
});

exported const entry("tripled", tripled);

}  // namespace
