// Tests budget(kernel) of kernels as users write them, and the facts that their shapes alone give at compile time.
#include "support/catch.hpp"
#include "tegula/dsl/dsl.hpp"
#include "tegula/jit/budget.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using test::ContainsSubstring;

namespace {

template <class Stages>
constexpr auto gemm_with(Stages depth) {
  return kernel("gemm", [depth](in<bf16, 2> A, in<bf16, 2> B, out<bf16, 2> C) {
    auto g = grid_over(C, shape<128, 128>);
    tile acc = loop(
        ceil_div(A.extent(1), 64), zeros<float>(shape<128, 128>),
        [&](auto k, auto sum) { return dot(load(A, shape<128, 64>, g[0], k), load(B, shape<64, 128>, k, g[1]), sum); },
        depth);
    store(C, shape<128, 128>, cast<bf16>(acc), g[0], g[1]);
  });
}
template <int stage_count>
inline constexpr auto gemm = gemm_with(stages<stage_count>);
inline constexpr auto exact_gemm = gemm_with(exactly(stages<8>));

template <int rows, int columns>
inline constexpr auto square = kernel("square", [](in<bf16, 2> A, in<bf16, 2> B, out<float, 2> C) {
  auto g = grid_over(C, shape<rows, columns>);
  tile acc = loop(ceil_div(A.extent(1), 64), zeros<float>(shape<rows, columns>), [&](auto k, auto sum) {
    return dot(load(A, shape<rows, 64>, g[0], k), load(B, shape<64, columns>, k, g[1]), sum);
  });
  store(C, shape<rows, columns>, acc, g[0], g[1]);
});

/// Sums whole blocks, so that nothing can be divided.
template <int rows, int columns>
inline constexpr auto total = kernel("total", [](in<bf16, 2> A, in<bf16, 2> B, out<float, 2> C) {
  auto g = grid(C.extent(0), C.extent(1));
  tile acc = loop(ceil_div(A.extent(1), 64), zeros<float>(shape<rows, columns>), [&](auto k, auto sum) {
    return dot(load(A, shape<rows, 64>, g[0], k), load(B, shape<64, columns>, k, g[1]), sum);
  });
  store(C, shape<1, 1>, sum(sum(acc, axis<0>), axis<1>), g[0], g[1]);
});

/// Shared memory does not hold its right operand.
inline constexpr auto deep = kernel("deep", [](in<bf16, 2> A, in<bf16, 2> B, out<float, 2> C) {
  auto g = grid_over(C, shape<64, 256>);
  store(C, shape<64, 256>, dot(load(A, shape<64, 512>, g[0], 0), load(B, shape<512, 256>, 0, g[1])), g[0], g[1]);
});

template <int rows>
inline constexpr auto copy = kernel("copy", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<rows, 1024>);
  store(y, shape<rows, 1024>, load(x, shape<rows, 1024>, g[0], 0), g[0], 0);
});

// Facts of shapes alone.
constexpr auto of_gemm = budget(stages<4>, ring_tile<bf16>(shape<128, 64>), ring_tile<bf16>(shape<64, 128>));
static_assert(of_gemm.shared <= sm_90a.shared);
static_assert(of_gemm.barriers == 8 && of_gemm.broken == nullptr);
static_assert(budget(stages<8>, ring_tile<bf16>(shape<128, 64>), ring_tile<bf16>(shape<64, 128>)).shared >
              sm_90a.shared);
static_assert(budget(stages<2>, ring_tile<bf16>(shape<64, 10>)).broken == &tma_rule::row);
static_assert(budget(stages<2>, ring_tile<float>(shape<64, 48>)).broken == &tma_rule::swizzle);
static_assert(budget(stages<2>, ring_tile<bool>(shape<64, 64>)).broken == &tma_rule::element);
static_assert(budget(stages<2>, ring_tile<e4m3>(shape<64, 128>), ring_tile<std::int8_t>(shape<128, 64>)).shared ==
              2 * (64 * 128 + 128 * 64) + 4 * 8);
static_assert(budget(stages<2>, ring_tile<e5m2>(shape<64, 8>)).broken == &tma_rule::row);
static_assert(budget(stages<2>, ring_tile<float>(shape<1, 1, 1, 1, 8, 64>)).broken == &tma_rule::rank);
static_assert(budget(stages<2>, ring_tile<bf16>(shape<3, 8>)).broken == &tma_rule::placement);

}  // namespace

TEST_CASE("budget: a product's rings, barriers, threads and registers are counted", "[N5]") {
  Budget const found = budget(gemm<4>);
  INFO(found.str());
  CHECK(found.fits());
  CHECK(found.broken.empty());
  CHECK(found.threads >= 128);
  CHECK(found.shared <= sm_90a.shared);
  // The rings and barriers that the shapes tell of, and besides them only the staging of the stores.
  CHECK(found.shared >= of_gemm.shared);
  CHECK(found.shared <= of_gemm.shared + 36 * 1024);
  CHECK(found.barriers >= of_gemm.barriers);
  CHECK(found.registers >= 128 * 128 / found.threads);  // the accumulator
  CHECK(found.registers <= found.registers_allowed);
}

TEST_CASE("budget: rings get as many stages as fit", "[N5]") {
  Budget const asked = budget(gemm<8>), fitting = budget(gemm<6>);
  INFO(asked.str());
  CHECK(asked.fits());
  CHECK(asked.shared == fitting.shared);
  CHECK(asked.barriers == fitting.barriers);
  CHECK(asked.shared > budget(gemm<5>).shared);
}

TEST_CASE(
    "budget: rings of exactly so many stages that do not fit are refused with need, limit and remedy, before LLVM",
    "[N5]") {
  CompileOptions options;
  options.target = Target::cuda;
  options.facts.assign(3, TensorFacts{true, true});
  auto const refusal =
      ContainsSubstring("(in0, in1) need 262144 bytes of shared memory, 232448 allowed; at most 7 stages fit");
  CHECK_THROWS_AS(compile(exact_gemm, options), UserError);
  CHECK_THROWS_WITH(compile(exact_gemm, options), refusal);
  Budget const found = budget(exact_gemm, options);
  CHECK_FALSE(found.fits());
  REQUIRE_FALSE(found.broken.empty());
  CHECK_THAT(found.broken.back().sentence, refusal);
  CHECK_THAT(found.str(), refusal);
  CHECK(found.broken.back().where.known());
}

TEST_CASE("budget: a refusal of the compiler is reported, not thrown") {
  CompileOptions one_fact;
  one_fact.facts.resize(1);
  CompileOptions warps;
  warps.warps = 99;
  for (CompileOptions const& options : {one_fact, warps}) {
    Budget const found = budget(copy<1>, options);
    INFO(found.str());
    CHECK_FALSE(found.fits());
    REQUIRE_FALSE(found.broken.empty());
    CHECK_FALSE(found.broken.back().sentence.empty());
  }
  CHECK_FALSE(budget(exact_gemm).fits());
}

TEST_CASE("budget: a tensor that TMA cannot copy names the rule and the remedy", "[N5]") {
  CompileOptions options;
  options.facts = {{true, true}, {false, true}, {true, true}};
  Budget const strided = budget(gemm<2>, options);
  INFO(strided.str());
  REQUIRE(strided.broken.size() == 1);  // the product goes by wgmma: the warps store what they load
  CHECK(strided.fits());
  CHECK(strided.broken.front().name == "tma: contiguous");
  CHECK(strided.broken.front().fix == tma_rule::contiguous.fix);
  CHECK(strided.broken.front().where.known());
  Budget const by_warps = budget(deep, options);
  INFO(by_warps.str());
  REQUIRE(by_warps.broken.size() >= 2);  // and the consequence for the product
  CHECK(by_warps.broken.back().name == "wgmma");
  CHECK_THAT(by_warps.broken.back().sentence, ContainsSubstring("goes warp by warp from registers"));
  options.facts[1] = {true, false};
  Budget const unaligned = budget(gemm<2>, options);
  REQUIRE(unaligned.broken.size() == 1);
  CHECK(unaligned.broken.front().name == "tma: address");
  CHECK_THAT(unaligned.str(), ContainsSubstring("a multiple of 2 bytes, not of 16; pass a tensor that begins at"));
}

TEST_CASE("budget: registers that do not fit are refused, and fit with more warps", "[N5]") {
  CompileOptions few;
  few.target = Target::cuda;
  few.warps = 1;
  few.exactly = true;
  few.facts.assign(2, TensorFacts{true, true});
  Budget const over = budget(copy<32>, few);
  REQUIRE(over.broken.size() == 1);
  CHECK(over.broken.front().name == "registers");
  CHECK_FALSE(over.fits());
  CHECK(over.registers > over.registers_allowed);
  CHECK_THROWS_WITH(compile(copy<32>, few), ContainsSubstring("@copy: about 524 registers of a thread needed at once, "
                                                              "255 allowed with 32 threads") &&
                                                ContainsSubstring("over more warps"));
  CompileOptions many = few;
  many.warps = 32;
  Budget const spread = budget(copy<32>, many);
  CHECK(spread.fits());
  CHECK(spread.registers_allowed == 32);  // of two CTAs: its part of the rows is small
  CHECK(spread.threads == sm_90a.threads);
}

TEST_CASE("budget: accumulators of products in flight use as many warpgroups as they need", "[N5]") {
  Budget const wide = budget(square<256, 192>);
  INFO(wide.str());
  CHECK(wide.fits());
  CHECK(wide.threads == 384);  // two warpgroups of consumers: four would have 112 registers for 96 and the other values
  CHECK(wide.registers >= 192);
  CHECK(budget(square<256, 128>).threads == 640);
  CHECK(budget(square<192, 256>).threads == 512);
  CHECK(budget(square<256, 256>).registers < 192);  // two blocks of 128 rows
  CHECK(budget(total<256, 256>).fits());            // by other warps
  CompileOptions options;
  options.target = Target::cuda;
  options.exactly = true;
  CHECK_FALSE(budget(total<256, 256>, options).fits());
  options.facts.assign(3, TensorFacts{true, true});
  CHECK_THROWS_WITH(compile(total<256, 256>, options),
                    ContainsSubstring("accumulators of open products take 128 registers of a thread (256x256xf32 128) "
                                      "and their instructions 26 more, 128 allowed with 512 threads; take smaller"));
}
