// Elementwise ops, loads and stores on the host against the simulator.
#include "driver.hpp"

namespace {

using namespace tegula;
using namespace tegula::test;

TEST_CASE("vadd is exact at ragged extents and strides", "[host]") {
  std::string const text = R"(
kernel @vadd(%a: in tensor<?xf32>, %b: in tensor<?xf32>, %c: out tensor<?xf32>) {
  %n = extent %c {axis = 0} : i64
  %t = constant {value = 1024 : i64} : i64
  %g = ceil_div %n, %t : i64
  grid %g
  %i = block_index {axis = 0} : i64
  %o = mul %i, %t : i64
  %x = load %a, %o : tile<1024xf32>
  %y = load %b, %o : tile<1024xf32>
  %s = add %x, %y : tile<1024xf32>
  store %c, %s, %o
  return
}
)";
  for (std::int64_t n : {0, 1, 7, 1000, 1024, 1025, 5000}) {
    INFO("n = " << n);
    Array a(Element::f32, {n}), b(Element::f32, {n}), c(Element::f32, {n});
    check_against_simulator(text, {a.randomise(1), b.randomise(2), c});
    Array strided(Element::f32, {n}, 0, 3), target(Element::f32, {n}, 0, 2);
    check_against_simulator(text, {strided.randomise(3), b, target});
    Array shorter(Element::f32, {n / 2});
    check_against_simulator(text, {shorter.randomise(4), b, c});
  }
}

}  // namespace
