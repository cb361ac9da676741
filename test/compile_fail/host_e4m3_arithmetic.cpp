// expect: elements of 8 bits (std::int8_t, e4m3, e5m2) are loaded, stored, selected, converted and multiplied by dot,
// but not computed with: cast first rows: N12
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto bad = host(e4m3(1)) * 2;
