// Tests products of every element of tensor cores, through the passes: clean under schedules and equal to float64.
#include "compiler/compile.hpp"
#include "sim/block/simulate.hpp"
#include "kernels/gemm_kernel.hpp"

using namespace tegula;
using namespace tegula::test;
namespace block = sim::block;

namespace {

constexpr GemmElements elements[] = {
    {Element::f16, Element::f16, Element::f16},    {Element::f32, Element::f32, Element::f32},
    {Element::e4m3, Element::e4m3, Element::bf16}, {Element::e5m2, Element::e5m2, Element::f32},
    {Element::e4m3, Element::e5m2, Element::e4m3}, {Element::e5m2, Element::e4m3, Element::e5m2},
    {Element::i8, Element::i8, Element::i32},      {Element::i8, Element::i8, Element::i8},
};

std::string named(GemmElements const& of) {
  return std::string(name(of.a)) + " x " + std::string(name(of.b)) + " -> " + std::string(name(of.c));
}

void check_run(ir::Module const& module, GemmElements const& of, std::int64_t m, std::int64_t n, std::int64_t k,
               bool trans_b) {
  GemmData data(m, n, k, trans_b, of);
  block::Simulation simulation(module.kernel(), data.arguments(), {});
  auto const sweep = simulation.sweep(2);
  INFO("m, n, k = " << m << ", " << n << ", " << k << ": " << named(of) << "\n" << sweep.str());
  CHECK(sweep.clean());
  CHECK(data.wrong() == "");
}

/// Returns the block of K of one instruction.
int depth(Element element) { return 32 / bytes(element); }

}  // namespace

TEST_CASE("products of every tensor core element use wgmma where K is adjacent in both operands", "[sim][B1][F27]") {
  for (GemmElements const& of : elements) {
    int const k = 2 * depth(of.a);
    ir::Module const module = compiler::lower(gemm_module({64, 32, k, 3, true, of}), gemm_options());
    INFO(named(of));
    REQUIRE(count(module, ir::OpKind::WgmmaOp) == 1);
    REQUIRE(count(module, ir::OpKind::WarpSpecializeOp) == 1);
    for (int const trips : {0, 1, 2, 3, 7}) check_run(module, of, 64, 32, k * trips, true);
    check_run(module, of, 80, 48, 5 * k - 16, true);
  }
}

TEST_CASE("only 16-bit elements use wgmma where an axis other than K is adjacent", "[sim][F27]") {
  for (GemmElements const& of : elements) {
    int const k = depth(of.a);
    ir::Module const module = compiler::lower(gemm_module({64, 32, k, 2, false, of}), gemm_options());
    INFO(named(of));
    CHECK(count(module, ir::OpKind::WgmmaOp) == (bytes(of.a) == 2 ? 1 : 0));
    CHECK(count(module, ir::OpKind::MmaOp) == (bytes(of.a) == 2 ? 0 : 1));
    for (int const trips : {1, 3}) check_run(module, of, 64, 64, k * trips, false);
  }
}

TEST_CASE("products with too few rows for wgmma swap their operands or use mma", "[sim][F27]") {
  for (GemmElements const& of : elements) {
    int const k = depth(of.a);
    ir::Module const swapped = compiler::lower(gemm_module({16, 64, k, 2, true, of}), gemm_options());
    ir::Module const by_warps = compiler::lower(gemm_module({32, 40, k, 2, true, of}), gemm_options());
    INFO(named(of));
    CHECK(count(swapped, ir::OpKind::WgmmaOp) >= 1);
    CHECK(count(swapped, ir::OpKind::MmaOp) == 0);
    CHECK(count(by_warps, ir::OpKind::MmaOp) == 1);
    check_run(swapped, of, 32, 64, 3 * k, true);
    check_run(by_warps, of, 48, 80, 3 * k, true);
  }
}

TEST_CASE("a converted operand stays in registers of the product's layout", "[sim][F2]") {
  for (GemmElements const& of : elements) {
    if (is_integer(of.a) || bytes(of.a) != 1) continue;
    GemmShape shape{64, 32, 2 * depth(of.a), 2, true, of};
    shape.stored_a = Element::bf16;
    ir::Module const module = compiler::lower(gemm_module(shape), gemm_options());
    GemmElements const stored{Element::bf16, of.b, of.c};
    CHECK(count(module, ir::OpKind::WgmmaOp) == 1);
    for (int const trips : {0, 1, 4}) check_run(module, stored, 64, 32, shape.k * trips, true);
  }
}

TEST_CASE("8-bit integers use wgmma in the numbers of columns that it supports", "[sim][F27]") {
  GemmElements const of{Element::i8, Element::i8, Element::i32};
  for (int const n : {8, 24, 32, 40, 272}) {
    ir::Module const module = compiler::lower(gemm_module({64, n, 32, 2, true, of}), gemm_options());
    INFO(n << " columns");
    CHECK(count(module, ir::OpKind::WgmmaOp) == (n == 40 ? 0 : 1));
    check_run(module, of, 64, n, 64, true);
  }
}

TEST_CASE("a product of f32 uses tf32 only on request", "[sim][F27]") {
  std::string text = gemm_text({64, 32, 16, 2, true, {Element::f32, Element::f32, Element::f32}});
  std::string const precision = " {precision = tf32}";
  text.replace(text.find(precision), precision.size(), "");
  ir::Module const module = compiler::lower(module_of(text), gemm_options());
  CHECK(count(module, ir::OpKind::WgmmaOp) + count(module, ir::OpKind::MmaOp) == 0);
  CHECK(count(module, ir::OpKind::FmaOp) > 0);
}
