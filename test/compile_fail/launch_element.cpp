// expect: launch: an argument's element must be that of the kernel's parameter
// rows: N3 H2
#include <vector>

#include "tegula/jit/launch.hpp"

using namespace tegula;

inline constexpr auto scale = kernel("scale", [](in<float, 2>, out<float, 2>, arg<float>) {});

void wrong(host_stream const& order, buffer<double, 2>& x, buffer<float, 2>& y) { launch(order, scale, x, y, 2.0f); }
