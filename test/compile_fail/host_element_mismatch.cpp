// expect: the operands must have the same element, and are not converted implicitly: use cast<T>(...)
// rows: N12
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto bad = host(1.f) + host(1.0);
