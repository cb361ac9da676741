// Defines the kernels that several tests of launches share, with their data.
#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

#include "tegula/tegula.hpp"

namespace tegula::test {

inline constexpr auto vadd = kernel("vadd", [](in<float, 1> a, in<float, 1> b, out<float, 1> c) {
  require(a.extent(0) == c.extent(0), "vadd: a and c differ in length");
  require(b.extent(0) == c.extent(0), "vadd: b and c differ in length");
  auto g = grid_over(c, shape<256>);
  store(c, shape<256>, load(a, shape<256>, g[0]) + load(b, shape<256>, g[0]), g[0]);
});
inline constexpr unsigned vadd_require_line = __LINE__ - 5;

/// A kernel with captures.
constexpr auto scaled(float factor) {
  return kernel("scaled", [factor](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<128>);
    store(y, shape<128>, factor * load(x, shape<128>, g[0]), g[0]);
  });
}

/// Holds the arguments of vadd.
struct Sums {
  std::vector<float> a, b, c;
  explicit Sums(std::size_t n) : a(n), b(n), c(n, -1) {
    std::iota(a.begin(), a.end(), 0.0f);
    std::iota(b.begin(), b.end(), 1000.0f);
  }
  [[nodiscard]] bool right() const {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (c[i] != a[i] + b[i]) return false;
    return true;
  }
};

inline stream const here(device::host());

}  // namespace tegula::test
