// expect: kernel: every parameter must be an in, out, inout or arg, or an aggregate of 1 to 32 of them
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, float y) { (void)x, (void)y; });
