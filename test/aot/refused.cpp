// Launches kernels that cannot be embedded, for the errors of the exporter.
#include <vector>

#include <tegula/exporter/exporter.hpp>
#include <tegula/tegula.hpp>

static tegula::exported_launches const entry([](tegula::device) {
  using namespace tegula;
  std::vector<float> a(64);
  float const captured = static_cast<float>(a.size());
  auto const kept = kernel("kept", [captured](inout<float, 1> x) {
    auto g = grid_over(x, shape<64>);
    store(x, shape<64>, load(x, shape<64>, g[0]) * captured, g[0]);
  });
  launch(host_stream(), kept, a);
});
