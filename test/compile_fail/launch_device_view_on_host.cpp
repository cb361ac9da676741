// expect: launch: an argument on a host stream must not be device memory: copy it to a buffer on the host
// rows: N3
#include <vector>

#include "tegula/jit/launch.hpp"

using namespace tegula;

inline constexpr auto scale = kernel("scale", [](in<float, 2>, out<float, 2>, arg<float>) {});

void wrong(host_stream const& order, view<float, 2> x, device_view<float, 2> y) { launch(order, scale, x, y, 2.0f); }
