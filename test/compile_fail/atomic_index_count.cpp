// expect: gather, scatter, atomics: one index must be given per axis of the tensor
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](inout<int, 2> count) { atomic_max(count, 1, 0); });
