// Tests that numbers of warps that do not fit become others, and that alignment does not refuse what ran without it.
#include <string>

#include "analysis/kernel_paths.hpp"
#include "compiler/compile.hpp"
#include "support/catch.hpp"
#include "support/diagnostics.hpp"
#include "kernels/gemm_kernel.hpp"
#include "tegula/dsl/dsl.hpp"
#include "tegula/jit/budget.hpp"
#include "tegula/jit/launch.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

inline constexpr auto rows = kernel("rows", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 32768>);
  tile v = load(x, shape<1, 32768>, g[0], 0);
  store(y, shape<1, 32768>, v / sum(v, axis<1>), g[0], 0);
});

/// Sums whole blocks, so that nothing can be divided.
inline constexpr auto total = kernel("total", [](in<bf16, 2> A, in<bf16, 2> B, out<float, 2> C) {
  auto g = grid(C.extent(0), C.extent(1));
  tile acc = loop(
      ceil_div(A.extent(1), 64), zeros<float>(shape<256, 256>),
      [&](auto k, auto sum) { return dot(load(A, shape<256, 64>, g[0], k), load(B, shape<64, 256>, k, g[1]), sum); },
      stages<3>);
  store(C, shape<1, 1>, sum(sum(acc, axis<0>), axis<1>), g[0], g[1]);
});

/// Returns why the compiler refuses a kernel before it makes code; empty: it does not.
std::string refusal(ir::Module const& module, CompileOptions const& options) {
  try {
    compiler::refuse_for_gpu(compiler::lower(module, options), options);
    return {};
  } catch (UserError const& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a number of warps that does not fit becomes the nearest that does, unless it is exact") {
  GemmShape shape;
  shape.m = 128, shape.n = 256, shape.k = 64, shape.stages = 3;
  ir::Module const module = gemm_module(shape);
  CompileOptions options = gemm_options();
  options.warps = 32;
  options.exactly = true;
  options.specialization = Choice::on;
  CHECK_THAT(refusal(module, options), ContainsSubstring("threads of a CTA, 1024 allowed"));
  options.specialization = Choice::automatic;  // without warps for copies
  CHECK(refusal(module, options).empty());
  CHECK(compiler::lower(module, options).kernel().warps == 32);
  options.exactly = false;
  CHECK(refusal(module, options).empty());
  CHECK(compiler::lower(module, options).kernel().warps <= 32);

  CompileOptions one;
  one.warps = 1;  // 1024 elements a thread
  CHECK(facts(rows, one).warps > 1);
  one.exactly = true;
  CHECK_THROWS_WITH(facts(rows, one), ContainsSubstring("registers"));
  CompileOptions two;
  two.warps = 8;  // it fits as it is
  CHECK(facts(rows, two).warps == 8);
}

namespace {

std::string warned;

/// Carries five tiles of f64, all of which the next iteration needs.
template <int rows>
inline constexpr auto carried = kernel("carried", [](in<double, 2> x, out<double, 2> y, arg<int> n) {
  auto g = grid_over(y, shape<rows, 256>);
  tile t = load(x, shape<rows, 256>, g[0], g[1]);
  auto [a, b, c, d, e] = loop(n, carry(t, t * 2, t * 3, t * 4, t * 5),
                              [](auto, auto p, auto q, auto r, auto s, auto u) { return carry(q, r, s, u, p * q); });
  store(y, shape<rows, 256>, a + b + c + d + e, g[0], g[1]);
});

}  // namespace

TEST_CASE("a kernel whose registers no number of warps has is compiled with a warning; the fewest in excess win") {
  CompileOptions options;
  options.target = Target::cuda;
  options.facts.assign(3, TensorFacts{true, true});
  warned.clear();
  auto* const before = support::set_warning_handler([](std::string_view text) { warned += text; });
  CompiledKernel const compiled = compile(carried<64>, options);
  support::set_warning_handler(before);
  CHECK_FALSE(compiled.image.empty());
  CHECK_THAT(warned, ContainsSubstring("@carried: about ") && ContainsSubstring(" allowed with 1024 threads") &&
                         ContainsSubstring("so that values go to local memory and back; take smaller tiles"));
  Budget const found = budget(carried<64>, options);
  CHECK(found.fits());
  CHECK(found.registers > found.registers_allowed);
  for (int const warps : {1, 2, 4, 8, 16, 32}) {
    CompileOptions exact = options;
    exact.warps = warps, exact.exactly = true;
    Budget const one = budget(carried<64>, exact);
    CHECK_FALSE(one.fits());
    CHECK(one.registers - one.registers_allowed >= found.registers - found.registers_allowed);
    CHECK_THROWS_WITH(compile(carried<64>, exact), ContainsSubstring("registers of a thread needed at once"));
  }
  warned.clear();
  support::set_warning_handler([](std::string_view text) { warned += text; });
  CHECK_FALSE(compile(carried<8>, options).image.empty());  // it fits
  support::set_warning_handler(before);
  CHECK(warned.empty());
  // The assembler would take minutes.
  CHECK_FALSE(budget(carried<1024>, options).fits());
}

TEST_CASE("accumulators that wgmma cannot keep take another path, which facts name") {
  CompileOptions options;
  options.target = Target::cuda;
  KernelFacts const found = facts(total, options);
  INFO(found.str());
  REQUIRE(found.dots.size() == 1);
  CHECK(found.dots[0].path == Path::mma);
  CHECK_THAT(found.dots[0].reason, ContainsSubstring("wgmma"));
  options.facts.assign(3, TensorFacts{true, true});
  options.exactly = true;
  CHECK_THROWS_WITH(compile(total, options), ContainsSubstring("accumulators of open products"));
}

TEST_CASE("blocks whose sums no warps hold become blocks that keep wgmma") {
  GemmShape shape;
  shape.m = 256, shape.n = 256, shape.k = 64, shape.stages = 3;
  ir::Module const module = gemm_module(shape);
  ir::Module const lowered = compiler::lower(module, gemm_options());
  KernelPaths const paths = analysis::kernel_paths(lowered, sm_90a, module);
  INFO(paths.paths_text());
  REQUIRE(paths.dots.size() == 1);
  CHECK(paths.dots[0].path == Path::wgmma);
  CHECK_THAT(paths.dots[0].tiles, ContainsSubstring("128x256x64"));
  CHECK(paths.padded.empty());  // its blocks are smaller than written
}

TEST_CASE("a ring gives up stages for a product that is turned to keep wgmma") {
  GemmShape shape;
  shape.m = 80, shape.n = 128, shape.k = 128, shape.stages = 4;
  ir::Module const module = gemm_module(shape);
  CompileOptions options = gemm_options();
  ir::Module const lowered = compiler::lower(module, options);
  KernelPaths const paths = analysis::kernel_paths(lowered, sm_90a, module);
  INFO(paths.paths_text());
  REQUIRE(paths.dots.size() == 1);
  CHECK(paths.dots[0].path == Path::wgmma);
  CHECK_THAT(paths.paths_text(), ContainsSubstring("4 stages written, 3 used"));
  options.exactly = true;  // four stages leave no room
  KernelPaths const exact = analysis::kernel_paths(compiler::lower(module, options), sm_90a, module);
  CHECK(exact.dots[0].path == Path::mma);
}

TEST_CASE("stages of an option are a wish, unless they are exact") {
  GemmShape shape;
  shape.m = 128, shape.n = 256, shape.k = 64, shape.stages = 2;
  ir::Module const module = gemm_module(shape);
  CompileOptions options = gemm_options();
  options.stages = 12;
  CHECK(refusal(module, options).empty());
  options.exactly = true;
  CHECK_THAT(refusal(module, options), ContainsSubstring("stages of 49152 bytes"));
}

TEST_CASE("tensors that count as unaligned get another number of warps too", "[B1]") {
  for (bool const trans_b : {false, true}) {
    GemmShape shape;
    shape.m = 248, shape.n = 256, shape.k = 64, shape.stages = 3, shape.trans_b = trans_b;
    ir::Module const module = gemm_module(shape);
    CompileOptions const aligned = gemm_options();
    CompileOptions unaligned = gemm_options();
    unaligned.facts.assign(4, {true, false});
    CHECK(refusal(module, unaligned) == "");
    CHECK(refusal(module, aligned) == "");
  }
}
