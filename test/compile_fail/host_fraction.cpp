// expect: a fractional scalar does not convert an integer tile: cast the tile first
// rows: N12
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto bad = host(1) + 0.5;
