// expect: function(..., noinline): calls in the IR are not recorded yet
#include <tegula/dsl/dsl.hpp>

using namespace tegula;

constexpr auto f = function([](auto x) { return x + 1; }, noinline);
