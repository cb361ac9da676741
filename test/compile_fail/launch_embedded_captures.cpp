// expect: launch: an embedded kernel must not capture anything: the build cannot know the values
// rows: N4
#define TEGULA_EMBEDDED 1
#include "tegula/jit/launch.hpp"

using namespace tegula;

void wrong(host_stream const& order, view<float, 2> x, float factor) {
  auto const scale = kernel("scale", [factor](inout<float, 2>) { (void)factor; });
  launch(order, scale, x);
}
