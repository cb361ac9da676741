// expect: elements of 8 bits and integers of 16 are loaded, stored, selected and converted, but must not be computed
// with but not computed with: cast first rows: N12
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto bad = host(e4m3(1)) * 2;
