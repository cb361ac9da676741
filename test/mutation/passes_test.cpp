// Proves by deletion that the passes' synchronising ops are needed in the kernels of samples/ and test/ir/tiles, and in
// variants of them.
#include "../../samples/image_kernels.hpp"
#include "../../samples/kernels.hpp"
#include "compiler/compile.hpp"
#include "support/deletion.hpp"
#include "kernels/gathered_rows.hpp"
#include "kernels/gemm_kernel.hpp"
#include "support/golden.hpp"
#include "support/module.hpp"
#include "trace/traced_kernel.hpp"

using namespace tegula;
using namespace tegula::test;
using namespace tegula::test::target_detail;

namespace {

/// Compiles as the launcher does for dense, aligned tensors.
ir::Module lowered(ir::Module const& module, CompileOptions options = gemm_options()) {
  options.facts.assign(static_cast<std::size_t>(module.kernel().parameter_count()), {true, true});
  return compiler::lower(module, options);
}
template <class K>
ir::Module lowered(K const& kernel, CompileOptions const& options = gemm_options()) {
  return lowered(trace::module(kernel.trace()), options);
}

/// Reads a module from a file below the folder above test/.
ir::Module from_file(std::string const& file) {
  return module_of(read_file(std::string(TEGULA_TEST_DIR) + "/../" + file));
}

/// Computes C (m, n) = A (m, k) * B (k, n) + bias (n).
TargetArguments biased(Extents const& shape, GemmShape const& like) {
  std::int64_t const m = shape[0], n = shape[1], k = shape[2];
  return {input("A", like.stored_a, {m, k}, 1, -4, 4),
          input("B", like.elements.b, like.trans_b ? Extents{n, k} : Extents{k, n}, 2, -4, 4),
          input("bias", like.elements.sum(), {n}, 5), tensor("C", like.elements.c, {m, n}, true)};
}

TargetArguments one_head(std::int64_t queries, std::int64_t keys, std::int64_t width) {
  return {input("Q", Element::bf16, {1, queries, width}, 1, -2, 2),
          input("K", Element::bf16, {1, keys, width}, 2, -2, 2), input("V", Element::bf16, {1, keys, width}, 3),
          tensor("O", Element::bf16, {1, queries, width}, true),
          number("scale", 1.4426950408889634 / std::sqrt(static_cast<double>(width)))};
}
/// Makes the same with keys that grow, so that rows outgrow their reference in every block and accumulators are scaled.
TargetArguments growing(TargetArguments head) {
  TargetArgument& keys = head[1];
  for (std::int64_t i = 0, count = keys.extents.product(); i < count; ++i)
    keys.set_number(i, keys.number(i) * (1 + 30 * static_cast<double>(i) / static_cast<double>(count)));
  return head;
}
/// Returns heads with keys for all loops, for the masked one alone, or without keys. Without keys nothing comes through
/// the rings that would keep stores after the previous grid.
std::vector<TargetArguments> heads(std::int64_t width) {
  return {growing(one_head(300, 600, width)), one_head(300, 600, width), one_head(300, 200, width),
          one_head(300, 0, width)};
}

/// Runs every row by itself, and persistent CTAs that process several.
void check_rows(ir::Module const& module, TargetArguments (*arguments)(Extents const&, std::uint64_t), int columns) {
  for (Choice const persistence : {Choice::off, Choice::on}) {
    CompileOptions options = gemm_options();
    options.persistence = persistence;
    options.stages = persistence == Choice::on ? 3 : 0;
    check_each_op_counts(lowered(module, options), {arguments({7, columns}, 1), arguments({1, columns}, 1)});
  }
}

/// Counts, ranks, takes and puts in a loop each: the next iteration uses the same shared memory.
inline constexpr auto placed_tiles = kernel("placed_tiles", [](in<int, 1> x, out<int, 1> counts, out<int, 2> y) {
  grid(1);
  tile place = iota<int>(shape<256>, axis<0>) ^ 100;
  auto steps = ceil_div(x.extent(0), 256);
  auto digits = [&](auto k) { return let(load(x, shape<256>, k) & 15); };
  auto put = [&](auto row, auto k, auto const& value) { store(y, shape<1, 256>, expand_dims(value, axis<0>), row, k); };
  tile all =
      loop(steps, zeros<int>(shape<16>), [&](auto k, auto so_far) { return so_far + bin_counts(digits(k), bins<16>); });
  store(counts, shape<16>, all, 0);
  loop(steps, [&](auto k) { put(0, k, let(ranks(digits(k), all))); });
  loop(steps, [&](auto k) { put(1, k, let(take_at(all + cast<int>(k), digits(k)))); });
  loop(steps, [&](auto k) { put(2, k, let(put_at(digits(k), place))); });
});

// A gated unit: two products read one left operand in one loop.
template <int BM, int BN, int BK>
inline constexpr auto gated = kernel("gated", [](in<bf16, 2> a, in<bf16, 2> up, in<bf16, 2> gate, out<bf16, 2> c) {
  auto g = grid_over(c, shape<BM, BN>);
  auto [u, v] = loop(
      ceil_div(a.extent(1), BK), carry(zeros<float>(shape<BM, BN>), zeros<float>(shape<BM, BN>)),
      [&](auto k, auto x, auto y) {
        tile left = load(a, shape<BM, BK>, g[0], k);
        return carry(dot(left, load(up, shape<BK, BN>, k, g[1]), x), dot(left, load(gate, shape<BK, BN>, k, g[1]), y));
      },
      stages<3>);
  store(c, shape<BM, BN>, cast<bf16>(u * (v / (1 + exp(-v)))), g[0], g[1]);
});

// Exchanges between warps in a function that stays, and around its calls: bytes of both are used again.
constexpr auto centred = function(
    "centred",
    [](auto v) {
      tile d = v - sum(v, axis<1>) / 4096;
      return d / max(d, axis<1>);
    },
    noinline);
constexpr auto calls = kernel("calls", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 4096>);
  tile v = load(x, shape<1, 4096>, g[0], 0);
  tile once = centred(v) * min(v, axis<1>);
  tile twice = centred(once) + sum(once, axis<1>);
  store(y, shape<1, 4096>, twice / max(twice, axis<1>), g[0], 0);
});

}  // namespace

TEST_CASE("deletion: row kernels need each synchronising op that the passes insert", "[sim][block][N1]") {
  check_rows(trace::module(samples::softmax<1024>.trace()), softmax, 1000);
  check_rows(from_file("test/ir/tiles/softmax_tiles.tir"), softmax, 4000);
  check_rows(from_file("test/ir/tiles/layernorm_tiles.tir"), layernorm, 4000);
  check_each_op_counts(lowered(from_file("test/ir/tiles/softmax_rows.tir")),
                       {softmax({7, 1000}, 1), softmax({1, 8}, 1)});
}

TEST_CASE("deletion: pointwise kernels and kernels with noinline functions need each synchronising op",
          "[sim][block][N1][F16]") {
  check_each_op_counts(lowered(samples::vadd),
                       {{input("a", Element::f32, {5003}, 1), input("b", Element::f32, {5003}, 2),
                         tensor("c", Element::f32, {5003}, true)}});
  Extents const picture = {3, 40, 150};
  auto const weights = samples::gaussian(1.6);
  check_each_op_counts(lowered(samples::blur_rows<16, 64>(weights)),
                       {{input("x", Element::f32, picture, 1), tensor("y", Element::f32, picture, true)}});
  check_each_op_counts(lowered(samples::sharpen<16, 64>(weights)),
                       {{input("x", Element::f32, picture, 1), input("rows", Element::f32, picture, 2),
                         tensor("y", Element::f32, picture, true), number("amount", 0.8)}});
  CHECK(check_each_op_counts(lowered(calls), {softmax({2, 4096}, 1)}) > 0);
}

TEST_CASE("deletion: counts, ranks and elements at places need each synchronising op", "[sim][block][N1][W13]") {
  CompileOptions options = gemm_options();
  options.warps = 4;
  TargetArguments const arguments = {input("x", Element::i32, {600}, 1, 0, 1000),
                                     tensor("counts", Element::i32, {16}, true),
                                     tensor("y", Element::i32, {3, 600}, true)};
  CHECK(check_each_op_counts(lowered(placed_tiles, options), {arguments}) >= 4);
}

TEST_CASE("deletion: products need each synchronising op that the passes insert", "[sim][block][N1]") {
  // Two tiles for one CTA, two wraps of the rings; without a step nothing comes through them that would keep stores
  // after the grid before.
  CHECK(check_each_op_counts(lowered(samples::gemm<128, 256, 64>(samples::bias_relu)),
                             {biased({256, 256, 512}, {}), biased({256, 256, 0}, {})}) > 30);
  CHECK(check_each_op_counts(lowered(from_file("test/ir/tiles/gemm_tiles.tir")),
                             {gemm({256, 256, 512}, 1), gemm({256, 256, 0}, 1)}) > 30);
  CHECK(check_each_op_counts(lowered(from_file("test/ir/tiles/gemm_m16_tiles.tir")),
                             {gemm({16, 128, 2048}, 1), gemm({16, 128, 0}, 1)}) > 15);
}

TEST_CASE("deletion: two products of one left operand need each synchronising op", "[sim][block][N1]") {
  auto const arguments = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return TargetArguments{input("A", Element::bf16, {m, k}, 1), input("U", Element::bf16, {k, n}, 2),
                           input("G", Element::bf16, {k, n}, 3), tensor("C", Element::bf16, {m, n}, true)};
  };
  CHECK(check_each_op_counts(lowered(gated<64, 64, 64>), {arguments(128, 128, 512), arguments(128, 128, 0)}) > 20);
}

TEST_CASE("deletion: products of gathered rows need each synchronising op", "[sim][block]") {
  auto const arguments = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return TargetArguments{input("a", Element::bf16, {100, k}, 1), input("b", Element::bf16, {100, k}, 2),
                           input("left", Element::i32, {m}, 3, -5, 110), input("right", Element::i32, {n}, 4, 0, 99),
                           tensor("c", Element::f32, {m, n}, true)};
  };
  for (Choice const specialization : {Choice::automatic, Choice::off}) {
    CompileOptions options = gemm_options();
    options.specialization = specialization;
    auto const check = [&](auto const& kernel) {
      return check_each_op_counts(lowered(kernel, options), {arguments(128, 128, 384), arguments(128, 128, 0)});
    };
    CHECK(check(rows_of_operands<bf16, true, false>) > 10);
    CHECK(check(rows_of_operands<bf16, false, true>) > 10);
    CHECK(check(rows_of_operands<bf16, true, true>) > 10);
  }
  auto const converted = [](std::int64_t k) {
    return TargetArguments{input("a", Element::e4m3, {100, k}, 1), input("b", Element::bf16, {k, 128}, 2),
                           input("left", Element::i32, {128}, 3, -5, 110), tensor("c", Element::f32, {128, 128}, true)};
  };
  CHECK(check_each_op_counts(lowered(converted_rows), {converted(384), converted(0)}) > 10);
  // Rows that change in every iteration.
  auto const over = [](std::int64_t length) {
    return TargetArguments{input("p", Element::bf16, {128, length}, 1), input("v", Element::bf16, {80, 128}, 2),
                           input("list", Element::i32, {length}, 4, 0, 79),
                           tensor("o", Element::f32, {128, 128}, true)};
  };
  CHECK(check_each_op_counts(lowered(summed_rows<bf16, false>), {over(384), over(0)}) > 10);
}

TEST_CASE("deletion: products of all warp counts and stages need each synchronising op", "[sim][block][N1]") {
  struct Case {
    GemmShape shape;
    Choice persistence = Choice::automatic, specialization = Choice::automatic, epilogue = Choice::automatic;
  };
  constexpr Choice on = Choice::on, off = Choice::off;
  constexpr GemmElements of_f32{Element::f32, Element::f32, Element::f32},
      of_i8{Element::i8, Element::i8, Element::i32}, of_f8{Element::e4m3, Element::e5m2, Element::bf16};
  GemmShape converted{64, 32, 64, 2, true, of_f8};
  converted.stored_a = Element::bf16;
  for (Case const& one :
       {Case{{128, 64, 16, 2}}, Case{{128, 192, 16, 2}}, Case{{64, 32, 16, 3, true}}, Case{{32, 32, 16, 2}},
        Case{{16, 64, 32, 3}}, Case{{64, 16, 16, 4}, off}, Case{{64, 16, 16, 4}, off, off, on},
        Case{{64, 16, 16, 3}, off, off, off}, Case{{64, 16, 16, 2}, on, off}, Case{{64, 16, 16, 4}, on, off},
        Case{{64, 16, 16, 3}, on, off, off}, Case{{128, 192, 16, 3}, on, off}, Case{{16, 64, 32, 4}, on, off},
        Case{{64, 32, 16, 3, true, of_f32}}, Case{{128, 32, 64, 2, true, of_i8}},
        Case{{64, 48, 64, 2, true, of_f8}, on, off}, Case{{64, 32, 32, 2, false, of_i8}}, Case{converted}}) {
    CompileOptions options = gemm_options();
    options.persistence = one.persistence, options.specialization = one.specialization, options.epilogue = one.epilogue;
    std::int64_t const m = 2 * one.shape.m, n = one.shape.n, k = 2 * one.shape.stages * one.shape.k;
    INFO(one.shape.m << "x" << n << "x" << one.shape.k << ", " << one.shape.stages << " stages, persistence "
                     << static_cast<int>(one.persistence) << ", specialization " << static_cast<int>(one.specialization)
                     << ", epilogue " << static_cast<int>(one.epilogue));
    check_each_op_counts(lowered(gemm_module(one.shape), options),
                         {biased({m, n, k}, one.shape), biased({m, n, 0}, one.shape)});
  }
}

TEST_CASE("deletion: attention needs each synchronising op that the passes insert", "[sim][block][N1]") {
  CHECK(check_each_op_counts(lowered(samples::attention<128, 128, 64>), heads(64)) > 40);
  CHECK(check_each_op_counts(lowered(from_file("test/ir/tiles/attention_tiles.tir")), heads(128)) > 40);
  CompileOptions exact = gemm_options();
  exact.exact = true;
  CHECK(check_each_op_counts(lowered(samples::attention<128, 128, 64>, exact), heads(64)) > 40);
}

TEST_CASE("deletion: causal attention needs each synchronising op that the passes insert", "[sim][block][N1]") {
  CHECK(check_each_op_counts(lowered(from_file("test/ir/tiles/attention_causal_tiles.tir")),
                             {growing(one_head(600, 600, 128)), one_head(600, 600, 128), one_head(200, 200, 128)}) >
        40);
  CHECK(check_each_op_counts(lowered(from_file("test/ir/tiles/attention_causal.tir")),
                             {growing(one_head(300, 300, 64)), one_head(300, 300, 64), one_head(100, 100, 64)}) > 40);
}

#ifdef TEGULA_HAS_PROFILER
TEST_CASE("deletion: kernels with records by the compiler need each synchronising op", "[sim][block][N1][P12]") {
  for (ProfileStrategy const strategy : {ProfileStrategy::shared, ProfileStrategy::device}) {
    CompileOptions options = gemm_options();
    options.profile.user = options.profile.compiler = true;
    options.profile.strategy = strategy;
    GemmShape const shape{128, 64, 16, 2};
    ir::Module const module = lowered(gemm_module(shape), options);
    CHECK(ir::print(module).find("about = wait_full") != std::string::npos);
    check_each_op_counts(module, {biased({256, 64, 64}, shape), biased({256, 64, 0}, shape)});
  }
}
#endif
