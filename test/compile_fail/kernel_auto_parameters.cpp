// expect: kernel: the lambda's parameters must be written with their types
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](in<float, 1> x, auto y) { (void)x, (void)y; });
