// Tests the paths of loads, stores and products that facts(kernel), host_paths(kernel) and explain() name.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "abi/host_plan.hpp"
#include "runtime/argument_check.hpp"
#include "runtime/explain.hpp"
#include "support/catch.hpp"
#include "tegula/dsl/dsl.hpp"
#include "tegula/jit/launch.hpp"
#include "tegula/target/tma_rules.hpp"

using namespace tegula;
using test::ContainsSubstring;

namespace {

constexpr std::uint32_t line_of_sum = __LINE__ + 3;
inline constexpr auto vadd = kernel("vadd", [](in<float, 1> a, in<float, 1> b, out<float, 1> c) {
  auto g = grid_over(c, shape<1024>);
  store(c, shape<1024>, load(a, shape<1024>, g[0]) + load(b, shape<1024>, g[0]), g[0]);
});

constexpr std::uint32_t line_of_dot = __LINE__ + 6;
template <class T, int BM, int BN, int BK, int depth>
inline constexpr auto gemm = kernel("gemm", [](in<T, 2> A, in<T, 2> B, out<float, 2> C) {
  auto g = grid_over(C, shape<BM, BN>);
  tile acc = loop(
      ceil_div(A.extent(1), BK), zeros<float>(shape<BM, BN>),
      [&](auto k, auto sum) { return dot(load(A, shape<BM, BK>, g[0], k), load(B, shape<BK, BN>, k, g[1]), sum); },
      stages<depth>);
  store(C, shape<BM, BN>, acc, g[0], g[1]);
});

inline constexpr auto row_sum = kernel("row_sum", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 1000>);
  tile v = load(x, shape<1, 1000>, g[0], 0);
  store(y, shape<1, 1000>, v - sum(v, axis<1>), g[0], 0);
});

inline constexpr auto histogram =
    kernel("histogram", [](in<std::int32_t, 1> keys, in<float, 1> table, inout<float, 1> bins) {
      auto g = grid_over(keys, shape<256>);
      tile at = load(keys, shape<256>, g[0], pad(-1));
      atomic_add(bins, gather(table, at), at);
    });

/// The facts of tensors without any.
CompileOptions strided(std::size_t parameters) {
  CompileOptions options;
  options.facts.resize(parameters);
  return options;
}

}  // namespace

TEST_CASE("paths: loads and stores of vectors go through pointers, with the width and its reason", "[N14]") {
  KernelFacts const dense = facts(vadd);
  REQUIRE(dense.loads.size() == 2);
  REQUIRE(dense.stores.size() == 1);
  for (AccessPath const& access : {dense.loads[0], dense.loads[1], dense.stores[0]}) {
    CHECK(access.path == Path::pointer);
    CHECK(access.bytes == 16);
    CHECK(access.tile == "1024xf32");
    CHECK_THAT(access.where.file(), ContainsSubstring("paths_test.cpp"));
    CHECK(access.where.line() == line_of_sum);
    CHECK_THAT(access.reason, !ContainsSubstring("at once"));
  }
  CHECK(dense.loads[0].memory != dense.loads[1].memory);
  CHECK(dense.dots.empty());
  CHECK(dense.rings.empty());
  CHECK_THAT(dense.str(), ContainsSubstring("pointer of 1024xf32, 16 bytes at once"));

  KernelFacts const narrow = facts(vadd, strided(3));
  CHECK(narrow.loads.at(0).bytes == 4);
  CHECK_THAT(narrow.loads.at(0).reason, ContainsSubstring("not known to have stride 1"));
}

TEST_CASE("paths: a product of bf16 in a loop with stages goes through TMA, a ring and wgmma", "[N14]") {
  KernelFacts const found = facts(gemm<bf16, 128, 128, 64, 4>);
  REQUIRE(found.dots.size() == 1);
  CHECK(found.dots[0].path == Path::wgmma);
  CHECK(found.dots[0].tiles == "128x128x64xbf16");
  CHECK(found.dots[0].where.line() == line_of_dot);
  REQUIRE(found.loads.size() == 2);
  for (AccessPath const& load : found.loads) CHECK(load.path == Path::tma);
  CHECK(found.stores.at(0).path == Path::tma);
  REQUIRE(found.rings.size() == 1);
  CHECK(found.rings[0].written == 4);
  CHECK(found.rings[0].used == 4);
  CHECK(found.rings[0].stage_bytes == (128 * 64 + 64 * 128) * 2);
  CHECK(found.rings[0].reason.empty());
}

TEST_CASE("paths: a product that wgmma does not take says why, and what helps", "[N14]") {
  SECTION("by pointers: TMA's rule is named") {
    KernelFacts const found = facts(gemm<bf16, 64, 64, 64, 3>, strided(3));
    REQUIRE(found.loads.size() == 2);
    CHECK(found.loads[0].path == Path::pointer);
    CHECK_THAT(found.loads[0].reason, ContainsSubstring("tma: contiguous"));
    CHECK_THAT(found.loads[0].fix, ContainsSubstring("stride 1"));
    CHECK_THAT(found.str(), ContainsSubstring("remedy: "));
  }
  SECTION("32 rows: mma") {
    KernelFacts const found = facts(gemm<bf16, 32, 32, 64, 3>);
    CHECK(found.dots.at(0).path == Path::mma);
    CHECK_THAT(found.dots[0].reason, ContainsSubstring("multiples of 64 rows, not 32"));
    CHECK_THAT(found.dots[0].fix, ContainsSubstring("64 rows"));
  }
  SECTION("f32 in full: lanes") {
    KernelFacts const found = facts(gemm<float, 32, 32, 32, 3>);
    REQUIRE(found.dots.size() == 1);
    CHECK(found.dots[0].path == Path::lanes);
    CHECK(found.dots[0].tiles == "32x32x32xf32");
    CHECK_THAT(found.dots[0].reason, ContainsSubstring("precision tf32"));
    CHECK_THAT(found.dots[0].fix, ContainsSubstring("dot(a, b, tf32)"));
  }
}

TEST_CASE("paths: a ring shows the stages that were written and those that fit", "[N14]") {
  KernelFacts const found = facts(gemm<bf16, 128, 256, 64, 12>);
  REQUIRE(found.rings.size() == 1);
  CHECK(found.rings[0].written == 12);
  CHECK(found.rings[0].used < 12);
  CHECK(found.rings[0].used >= 3);
  CHECK_THAT(found.rings[0].reason, ContainsSubstring("does not fit"));
  CHECK_THAT(found.str(), ContainsSubstring("12 stages written"));
}

TEST_CASE("paths: a ring that needs more stages than are written says why; exactly one is one", "[N14]") {
  KernelFacts const found = facts(gemm<bf16, 128, 128, 64, 1>);
  REQUIRE(found.rings.size() == 1);
  CHECK(found.rings[0].written == 1);
  CHECK(found.rings[0].used == 2);
  CHECK_THAT(found.rings[0].reason, ContainsSubstring("products end in the next iteration"));
  CHECK_THAT(found.str(), ContainsSubstring("1 stage written, 2 used"));

  CompileOptions options;
  options.stages = 1;
  options.exactly = true;
  KernelFacts const exact = facts(gemm<bf16, 128, 128, 64, 1>, options);
  REQUIRE(exact.rings.size() == 1);
  CHECK(exact.rings[0].used == 1);
  CHECK(exact.rings[0].reason.empty());
}

TEST_CASE("paths: padded extents are shown as written and as used", "[N14]") {
  KernelFacts const rows = facts(row_sum);
  REQUIRE(rows.padded.size() == 2);
  for (PaddedTile const& tile : rows.padded) {
    CHECK(tile.written == "1x1000");
    CHECK(tile.used == "1x1024");
  }
  CHECK_THAT(rows.padded[0].tile, ContainsSubstring("load"));
  KernelFacts const product = facts(gemm<bf16, 1, 64, 20, 1>);
  auto const dot = std::find_if(product.padded.begin(), product.padded.end(),
                                [](PaddedTile const& tile) { return tile.tile == "dot"; });
  REQUIRE(dot != product.padded.end());
  CHECK(dot->written == "1x64x20");
  CHECK(product.dots.at(0).tiles == "1x64x20xbf16");
}

TEST_CASE("paths: gathers and atomics are listed by themselves", "[N14]") {
  KernelFacts const found = facts(histogram);
  REQUIRE(found.indexed.size() == 2);
  CHECK(found.indexed[0].kind == AccessPath::Kind::gather);
  CHECK(found.indexed[1].kind == AccessPath::Kind::atomic);
  CHECK_THAT(found.indexed[0].reason, ContainsSubstring("indices of its own"));
  CHECK(found.loads.size() == 1);
}

namespace {

/// Adds rows to rows that `at` names, or replaces those.
template <bool adds>
constexpr auto rows_at = kernel("rows_at", [](in<float, 2> rows, in<int, 1> at, inout<float, 2> table) {
  auto g = grid(ceil_div(rows.extent(0), 8));
  tile x = load(rows, shape<8, 256>, g[0], 0);
  tile row = expand_dims(load(at, shape<8>, g[0]), axis<1>);
  tile column = iota<int>(shape<1, 256>, axis<1>);
  if constexpr (adds) atomic_add(table, x, row, column);
  if constexpr (!adds) scatter(table, x, row, column);
});

/// Multiplies weights of 8 bits with scales of a byte for each column of 32 rows.
constexpr auto scaled = kernel("scaled", [](in<bf16, 2> X, in<e4m3, 2> W, in<e4m3, 2> scales, out<bf16, 2> Y) {
  auto g = grid_over(Y, shape<64, 64>);
  tile acc = loop(ceil_div(X.extent(1), 32), zeros<float>(shape<64, 64>), [&](auto k, auto sum) {
    tile w = cast<float>(load(W, shape<32, 64>, k, g[1])) * cast<float>(load(scales, shape<1, 64>, k, g[1]));
    return dot(load(X, shape<64, 32>, g[0], k), cast<bf16>(w), sum);
  });
  store(Y, shape<64, 64>, cast<bf16>(acc), g[0], g[1]);
});

}  // namespace

TEST_CASE("paths: rows that are scattered or added at indices go by 16 bytes", "[N14]") {
  for (KernelFacts const& found : {facts(rows_at<false>), facts(rows_at<true>)}) {
    REQUIRE(found.indexed.size() == 1);
    CHECK(found.indexed[0].bytes == 16);
    CHECK_THAT(found.indexed[0].reason, ContainsSubstring("adjacent indices"));
  }
}

TEST_CASE("paths: rows of 64 bytes beside products are copied, without stages asked for", "[N14]") {
  KernelFacts const found = facts(scaled);
  REQUIRE(found.loads.size() == 3);
  for (AccessPath const& load : found.loads) CHECK(load.path == Path::tma);
}

TEST_CASE("paths: the host names vectors, single elements and contractions", "[N14]") {
  KernelPaths const added = host_paths(vadd);
  REQUIRE(added.loads.size() == 2);
  CHECK(added.loads[0].path == Path::vector);
  CHECK(added.loads[0].bytes >= 16);
  CHECK(added.stores.at(0).path == Path::vector);
  KernelPaths const apart = host_paths(vadd, strided(3));
  CHECK(apart.loads.at(0).path == Path::element);
  CHECK(apart.loads[0].bytes == 4);
  CHECK_THAT(apart.loads[0].reason, ContainsSubstring("stride 1"));

  KernelPaths const product = host_paths(gemm<float, 32, 32, 32, 1>);
  REQUIRE(product.dots.size() == 1);
  CHECK(product.dots[0].path == Path::contraction);
  CHECK_THAT(product.dots[0].reason, ContainsSubstring("ahead of the blocks"));
  auto const alone = kernel("alone", [](in<float, 2> a, in<float, 2> b, out<float, 2> c) {
    auto g = grid_over(c, shape<32, 32>);
    store(c, shape<32, 32>, dot(load(a, shape<32, 32>, g[0], 0), load(b, shape<32, 32>, 0, g[1])), g[0], g[1]);
  });
  CHECK(host_paths(alone).dots.at(0).path == Path::product);
  KernelPaths const counted = host_paths(histogram);
  REQUIRE(counted.indexed.size() == 2);
  CHECK(counted.indexed[0].path == Path::element);
}

TEST_CASE("paths: explain says how the host does a launch", "[N14]") {
  std::vector<float> a(100, 1.0F), b(100, 2.0F), c(100);
  std::string const text = explain(vadd, a, b, c);
  CHECK_THAT(text, ContainsSubstring("vector of 1024xf32"));
  CHECK_THAT(text, ContainsSubstring(fmt::format("paths_test.cpp:{}", line_of_sum)));
}

namespace {

/// Returns a bf16 matrix at an address.
Argument matrix(std::int64_t rows, std::int64_t columns, Element element, std::uintptr_t address) {
  Argument argument;
  argument.element = element;
  argument.space = DeviceKind::cuda;
  argument.rank = 2;
  argument.address = reinterpret_cast<void*>(address);
  argument.extents[0] = rows;
  argument.extents[1] = argument.strides[0] = columns;
  argument.strides[1] = 1;
  return argument;
}

}  // namespace

TEST_CASE("plan: tensors reach a kernel through descriptors or by pointer, with the reason", "[H3]") {
  HostPlan const product = facts(gemm<bf16, 128, 128, 64, 4>).plan;
  CHECK(product.kernel == "gemm");
  REQUIRE(product.arguments.size() == 3);
  REQUIRE(product.descriptors.size() == 3);
  for (ArgumentPlan const& argument : product.arguments) {
    CHECK(argument.descriptors.size() == 1);
    CHECK(argument.pointer.empty());
    CHECK(argument.type.rank == 2);
  }
  CHECK(product.descriptors[0].map.box == Extents{128, 64});
  CHECK(product.descriptors[0].map.swizzle == Swizzle::b128);
  CHECK_THAT(product.str(),
             ContainsSubstring("argument 1: in %in0 ?x?xbf16; facts used: unit_inner, aligned_16, whole_16\n"
                               "  -> descriptor 1: box 128x64, swizzle of 128 bytes -> gemm\n"));
  CHECK_THAT(facts(gemm<bf16, 128, 128, 64, 4>).str(), ContainsSubstring("-> descriptor 1"));

  HostPlan const strided_product = facts(gemm<bf16, 64, 64, 64, 3>, strided(3)).plan;
  CHECK(strided_product.descriptors.empty());
  REQUIRE(strided_product.arguments[0].pointer.size() == 1);
  CHECK_THAT(strided_product.arguments[0].pointer[0], ContainsSubstring("contiguous"));

  HostPlan const counted = facts(histogram).plan;
  CHECK_THAT(counted.arguments.at(1).pointer.at(0), ContainsSubstring("indices of its own"));
  CHECK_THAT(counted.str(),
             ContainsSubstring("argument 2: in %in1 ?xf32") && ContainsSubstring("-> pointer -> histogram: "));
}

TEST_CASE("plan: a launch shows the tensors, and the descriptors that share an encoding", "[H3]") {
  CompileOptions options;
  options.target = Target::cuda;
  options.facts.assign(3, {true, true});
  CompiledKernel const compiled = compile(gemm<bf16, 64, 64, 64, 4>, options);
  HostPlan const before = abi::host_plan(compiled);
  Argument const square = matrix(512, 512, Element::bf16, 0x1000);
  Argument const shifted = matrix(512, 512, Element::bf16, 0x1000 + 128);
  Argument const out = matrix(512, 512, Element::f32, 0x200000);
  auto const plan_with = [&](Argument const& a, Argument const& b) {
    HostPlan plan = before;
    Argument const arguments[] = {a, b, out};
    runtime::add_arguments(plan, compiled, arguments);
    return plan;
  };
  HostPlan const same = plan_with(square, square);
  REQUIRE(same.descriptors.size() >= 2);
  CHECK(same.descriptors[0].equal_to == -1);
  CHECK(same.descriptors[1].equal_to == 0);  // equal tensor, box and swizzle
  CHECK_THAT(same.str(2), ContainsSubstring("  argument 2: in 512x512xbf16 strides (512, 1); facts used: unit_inner, "
                                            "aligned_16\n    -> descriptor 2: box 64x64, swizzle of 128 bytes, shares "
                                            "the encoding of descriptor 1 -> gemm\n"));
  CHECK(plan_with(square, shifted).descriptors[1].equal_to == -1);
}

TEST_CASE("plan: explain shows the host's tensors by pointer", "[H3]") {
  std::vector<float> a(100, 1.0F), b(100, 2.0F), c(100);
  CHECK_THAT(explain(vadd, a, b, c), ContainsSubstring("argument 3: out %out2 100xf32 strides (1); facts used: ") &&
                                         ContainsSubstring("\n    -> pointer -> vadd: the host has no TMA\n"));
}

TEST_CASE("a tensor with an extent beyond 2^31 takes a build with 64-bit offsets in place of TMA", "[N9]") {
  auto const facts_with = [&](std::int64_t rows) {
    CompileOptions options;
    Argument const arguments[] = {matrix(rows, 512, Element::bf16, 0x1000), matrix(512, 512, Element::bf16, 0x1000),
                                  matrix(rows, 512, Element::f32, 0x200000)};
    options.facts = runtime::facts_of(arguments);
    return options;
  };
  CompileOptions const fits = facts_with(tma_rule::max_extent), beyond = facts_with(tma_rule::max_extent + 1);
  CHECK(fits.facts[0].aligned_16);
  CHECK_FALSE(beyond.facts[0].aligned_16);
  CHECK(beyond.facts[1].aligned_16);
  HostPlan const by_tma = facts(gemm<bf16, 64, 64, 64, 4>, fits).plan;
  CHECK(by_tma.arguments[0].descriptors.size() == 1);
  HostPlan const by_pointer = facts(gemm<bf16, 64, 64, 64, 4>, beyond).plan;
  CHECK(by_pointer.arguments[0].descriptors.empty());
  CHECK(by_pointer.arguments[0].pointer.size() == 1);
  CHECK(by_pointer.arguments[2].descriptors.empty());
  // The launch never runs the one for the other.
  CHECK_FALSE(runtime::satisfies(beyond.facts[0], fits.facts[0]));
  CHECK(runtime::satisfies(fits.facts[0], beyond.facts[0]));
}
