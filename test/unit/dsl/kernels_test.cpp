// Tests the IR that the sample kernels record, byte for byte (test/ir/dsl).
#include "../../../samples/kernels.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

using namespace tegula;

namespace {

void check(std::string const& name, trace::TracedKernel const& traced) {
  auto const result = test::match_golden(std::string(TEGULA_TEST_DIR) + "/ir/dsl/" + name + ".tir", traced.text());
  INFO(result.message);
  CHECK(result.ok);
}

}  // namespace

TEST_CASE("vadd records its golden IR") { check("vadd", samples::vadd.trace()); }
TEST_CASE("softmax records its golden IR") { check("softmax", samples::softmax<256>.trace()); }
TEST_CASE("gemm with a fused epilogue records its golden IR") {
  check("gemm", samples::gemm<128, 256, 64>(samples::bias_relu).trace());
}
TEST_CASE("attention records its golden IR") { check("attention", samples::attention<128, 128, 64>.trace()); }

TEST_CASE("tracing twice gives the same text, and captured values are constants of the IR") {
  CHECK(samples::vadd.trace().text() == samples::vadd.trace().text());
  auto const scaled = [](float factor) {
    return kernel("scaled", [factor](in<float, 1> x, out<float, 1> y) {
      auto g = grid_over(y, shape<64>);
      store(y, shape<64>, load(x, shape<64>, g[0]) * factor, g[0]);
    });
  };
  auto const two = scaled(2);
  auto const three = scaled(3);
  static_assert(!decltype(two)::captureless && decltype(samples::vadd)::captureless);
  CHECK(two.trace().text() != three.trace().text());
  CHECK(two.trace().text() == scaled(2).trace().text());
}

TEST_CASE("a kernel's identity is one address for each lambda") {
  using a = std::remove_const_t<decltype(samples::softmax<64>)>;
  using b = std::remove_const_t<decltype(samples::softmax<128>)>;
  CHECK(static_cast<void const*>(&a::identity) != static_cast<void const*>(&b::identity));
  constexpr auto first = kernel("same", [](out<float, 1> y) { grid_over(y, shape<64>); });
  constexpr auto second = kernel("same", [](out<float, 1> y) { grid_over(y, shape<64>); });
  CHECK(static_cast<void const*>(&decltype(first)::identity) != static_cast<void const*>(&decltype(second)::identity));
}
