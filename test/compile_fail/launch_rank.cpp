// expect: launch: an argument's rank must be that of the kernel's parameter
// rows: N3 H2
#include <vector>

#include "tegula/jit/launch.hpp"

using namespace tegula;

inline constexpr auto scale = kernel("scale", [](in<float, 2>, out<float, 2>, arg<float>) {});

void wrong(host_stream const& order, view<float, 2> x, std::vector<float>& y) { launch(order, scale, x, y, 2.0f); }
