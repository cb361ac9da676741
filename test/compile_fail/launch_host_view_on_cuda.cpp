// expect: launch: an argument on a CUDA stream must not be host memory: copy it to a buffer on the device
// rows: N3
#include <vector>

#include "tegula/jit/launch.hpp"

using namespace tegula;

inline constexpr auto scale = kernel("scale", [](in<float, 2>, out<float, 2>, arg<float>) {});

void wrong(cuda_stream const& order, view<float, 2> x, device_view<float, 2> y) { launch(order, scale, x, y, 2.0f); }
