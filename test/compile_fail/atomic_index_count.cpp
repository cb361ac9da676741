// expect: gather, scatter, atomics: one index per axis of the tensor is expected
// rows: N3
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto k = kernel("k", [](inout<int, 2> count) { atomic_max(count, 1, 0); });
