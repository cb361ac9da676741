// Compiles as a user's program: one kernel, launched on the host.
#include <tegula/tegula.hpp>

#include <cstdio>
#include <vector>

namespace {

using namespace tegula;

constexpr auto vadd = kernel("vadd", [](in<float, 1> a, in<float, 1> b, out<float, 1> c) {
  auto g = grid_over(c, shape<1024>);
  store(c, shape<1024>, load(a, shape<1024>, g[0]) + load(b, shape<1024>, g[0]), g[0]);
});

}  // namespace

int main() {
  std::vector<float> a(5000), b(5000), c(5000, -1.0F);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i);
    b[i] = 2.0F * static_cast<float>(i);
  }
  launch(host_stream(), vadd, view(a), view(b), view(c));
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (c[i] != 3.0F * static_cast<float>(i)) {
      std::printf("client: c[%zu] is %g\n", i, static_cast<double>(c[i]));
      return 1;
    }
  }
  std::puts("client: ok");
}
