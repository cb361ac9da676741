// expect: a scalar beside an integer tile must not be fractional: cast the tile first
// rows: N12
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto bad = host(1) + 0.5;
