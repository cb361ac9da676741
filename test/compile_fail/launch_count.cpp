// expect: launch: there must be one argument for each of the kernel's parameters
// rows: N3
#include <vector>

#include "tegula/jit/launch.hpp"

using namespace tegula;

inline constexpr auto scale = kernel("scale", [](in<float, 2>, out<float, 2>, arg<float>) {});

void wrong(host_stream const& order, view<float, 2> x, view<float, 2> y) { launch(order, scale, x, y); }
