// expect: launch: this argument must be a tensor: a buffer, a view, or a type with data() and extents
// rows: N3 D8
#include <cstdint>

#include "tegula/jit/launch.hpp"

using namespace tegula;

struct WithoutStrides {
  float* data() const { return nullptr; }
  static constexpr int rank = 2;
  std::int64_t extent(int) const { return 1; }
};

inline constexpr auto copy = kernel("copy", [](in<float, 2>, out<float, 2>) {});

void wrong(host_stream const& order, view<float, 2> y) { launch(order, copy, WithoutStrides{}, y); }
