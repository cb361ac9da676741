// expect: variants: all kernels must take the parameters of the first
// rows: N15
#include "tegula/jit/launch.hpp"

using namespace tegula;

inline constexpr auto one = kernel("one", [](in<float, 1>, out<float, 1>) {});
inline constexpr auto two = kernel("two", [](in<float, 2>, out<float, 1>) {});

auto const both = variants("both", one, two);
