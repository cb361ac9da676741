// expect: launch: this argument must be a tensor: a buffer, a view, or a type with data() and extents
// rows: N3
#include <vector>

#include "tegula/jit/launch.hpp"

using namespace tegula;

inline constexpr auto scale = kernel("scale", [](in<float, 2>, out<float, 2>, arg<float>) {});

void wrong(host_stream const& order, view<float, 2> y) { launch(order, scale, 1.0f, y, 2.0f); }
