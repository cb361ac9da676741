// expect: a fractional scalar meets an integer element, which it never widens: cast the tile first
// rows: N12
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto bad = host(1) + 0.5;
