// Tests products of every extent that tensor cores count in, through the passes, ptxas and the simulator. Each is
// right, or refused for a reason that this file confirms by itself.
//
// A fixed list of corners runs always, and a sample drawn from TEGULA_FUZZ_SEED. TEGULA_PRODUCT_EXTENTS=N draws N
// instead, TEGULA_PRODUCT_EXTENTS=all takes every one; TEGULA_PRODUCT_PART=i/n the i-th of n parts of them.
#include <cstdio>
#include <cstdlib>

#include "analysis/budget.hpp"
#include "codegen/ptxas.hpp"
#include "compiler/compile.hpp"
#include "ir/verifier.hpp"
#include "sim/block/simulate.hpp"
#include "support/gemm_kernel.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/target_info.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

constexpr int max_extent = 256;
constexpr GemmElements f16{Element::f16, Element::f16, Element::f16}, tf32{Element::f32, Element::f32, Element::f32},
    e4m3{Element::e4m3, Element::e4m3, Element::bf16}, i8{Element::i8, Element::i8, Element::i32};

std::string text_of(GemmShape const& shape) {
  return std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k) + " of " +
         std::string(name(shape.elements.a)) + (shape.trans_b ? ", B stored N x K" : "");
}

/// Tells whether no tensor core supports a product of these extents, either way round: lanes multiply and add.
bool goes_by_lanes(GemmShape const& shape) {
  int const size = bytes(shape.elements.a);
  bool const by_rows = shape.m % 16 == 0 && shape.n % 8 == 0, by_columns = shape.n % 16 == 0 && shape.m % 8 == 0;
  return shape.k * size % 32 != 0 || (!by_rows && !by_columns);
}
/// Tells whether a product may be unsupported: a thread's part of the result fills its registers, or a stage of the
/// operands shared memory.
bool may_be_refused(GemmShape const& shape) {
  int const row_bytes = shape.k * bytes(shape.elements.a);
  bool const large = shape.m * shape.n > 208 * 224;  // more than 46 of 64 thousand registers hold the result
  // Turned round, the result goes back through shared memory beside two stages of the operands.
  bool const turned = shape.m % 16 != 0 && 2 * (shape.m + shape.n) * row_bytes + 4 * shape.m * shape.n > 220 * 1024;
  int const copies = goes_by_lanes(shape) ? 2 : 1;  // lanes read operands that lie dense
  // Threads share parts of an axis that are powers of two, four columns each.
  int const threads = std::max((shape.m & -shape.m) * (shape.n & -shape.n) / 4, 1);
  bool const thick = goes_by_lanes(shape) && shape.m * shape.n / threads > 32;
  return large || turned || thick || copies * (shape.m + shape.n) * row_bytes > 200 * 1024;
}

/// Names the error of the product; empty: none. `refused` says whether there is none.
std::string error(GemmShape const& shape, std::string const& ptxas, bool simulated, bool& refused) {
  refused = false;
  CompileOptions const options = gemm_options();
  CompiledKernel compiled;
  ir::Module module;
  Budget budget;
  try {
    module = compiler::lower(gemm_module(shape), options);
    if (auto const diagnostics = ir::verify(module); diagnostics.has_errors()) return "verifier: " + diagnostics.str();
    budget = analysis::budget(module.kernel(), sm_90a);
    compiled = compiler::emit(module, options);
  } catch (UserError const& error) {
    refused = true;
    if (!may_be_refused(shape)) return std::string("refused, but could run: ") + error.what();
    if (!budget.broken.empty() && budget.fits()) return std::string("budget says it fits, but: ") + error.what();
    return {};
  }
  if (!budget.fits()) return "budget says it does not fit, but it compiles";
  if (!ptxas.empty()) {
    // Spills cost time, nothing else.
    std::string const output = assemble(ptxas, compiled.image);
    for (char const* word : {"ptxas failed", "C75", "C76", "fatal"})
      if (output.find(word) != std::string::npos) return output;
  }
  if (!simulated) return {};
  GemmData data(shape.m, shape.n, 2 * shape.k + 16, shape.trans_b, shape.elements);
  sim::block::Simulation simulation(module.kernel(), data.arguments(), {});
  auto const sweep = simulation.sweep(1);
  return sweep.clean() ? data.wrong() : sweep.str();
}

struct Product {
  GemmShape shape;
  std::string name;
};

GemmShape product(int m, int n, int k, GemmElements const& elements = {}, bool trans_b = false) {
  GemmShape shape{m, n, k, 0, trans_b, elements};
  shape.stored_a = elements.a;
  return shape;
}

/// Lists each way in which a product was refused or became another one.
std::vector<GemmShape> corners() {
  return {product(32, 96, 48),       product(96, 96, 48),           product(48, 48, 48),
          product(16, 48, 16),       product(48, 80, 32, {}, true), product(8, 48, 32),
          product(40, 16, 64),       product(24, 40, 32),           product(72, 64, 64),
          product(8, 256, 64),       product(200, 64, 32),          product(256, 192, 64),
          product(192, 256, 64),     product(256, 256, 64),         product(256, 144, 32),
          product(240, 240, 16),     product(64, 248, 16),          product(32, 96, 64, tf32, true),
          product(48, 96, 64, e4m3), product(80, 48, 64, i8, true), product(16, 96, 32, tf32),
          product(32, 184, 128),     product(136, 192, 64, tf32)};
}

/// Lists all of them, in an order that does not change.
std::vector<GemmShape> all() {
  std::vector<GemmShape> result;
  for (int m = 8; m <= max_extent; m += 8)
    for (int n = 8; n <= max_extent; n += 8)
      for (int const k : {16, 32, 48, 64, 128}) {
        int const turn = m / 8 + n / 8 + k / 16;
        result.push_back(product(m, n, k, turn % 3 == 0 ? f16 : GemmElements{}, turn % 2 == 0));
        if (turn % 5 == 0)
          result.push_back(product(m, n, k, turn % 3 == 0 ? tf32 : turn % 3 == 1 ? e4m3 : i8, m / 8 % 2 == 0));
      }
  return result;
}

std::string variable(char const* name) {
  char const* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

/// Draws few rows or columns, as of vectors and of decoding, as often as all others.
std::vector<GemmShape> drawn(std::size_t count) {
  std::string const seed = variable("TEGULA_FUZZ_SEED");
  std::mt19937_64 random(seed.empty() ? 1 : std::stoull(seed));
  std::vector<GemmShape> const from = all();
  std::vector<GemmShape> result;
  while (result.size() < count) {
    GemmShape const& one = from[random() % from.size()];
    bool const few = one.m <= 48 || one.n <= 48;
    if (few || random() % 2 == 0) result.push_back(one);
  }
  return result;
}

void check_all(std::vector<GemmShape> const& shapes, bool reported) {
  std::string const ptxas = find_ptxas();
  int count = 0, refusals = 0, wrong = 0;
  for (GemmShape const& shape : shapes) {
    bool refused = false;
    std::string reason;
    try {
      reason = error(shape, ptxas, true, refused);
    } catch (std::exception const& error) {
      reason = error.what();
    }
    ++count, refusals += refused ? 1 : 0, wrong += reason.empty() ? 0 : 1;
    if (reported && !reason.empty())
      std::printf("%s: %s\n", text_of(shape).c_str(), reason.c_str()), std::fflush(stdout);
    INFO(text_of(shape));
    CHECK(reason == "");
  }
  if (reported) std::printf("%d products: %d refused, %d wrong\n", count, refusals, wrong);
}

}  // namespace

TEST_CASE("products of extents at every corner are right, or refused for a true reason", "[sim][B1][F27]") {
  check_all(corners(), false);
}

TEST_CASE("products that nearly fill registers or shared memory are right", "[sim][B1]") {
  // 15 warps share both axes of the transposed result.
  check_all({product(200, 144, 16), product(200, 144, 32, f16), product(200, 144, 32, tf32), product(200, 144, 48),
             product(200, 144, 64)},
            false);
  // One stage of the operands fits, two do not.
  check_all({product(128, 168, 128, tf32, true), product(64, 232, 128, tf32, true), product(192, 104, 128, tf32, true),
             product(256, 40, 128, tf32, true)},
            false);
  // Two stages leave little for the staging of the result.
  check_all({product(192, 224, 128, f16, true), product(192, 240, 128, {}, true)}, false);
}

TEST_CASE("products whose stages do not fit get fewer of them", "[sim][B19]") {
  auto const with = [](GemmShape shape, int stages) {
    shape.stages = stages;
    return shape;
  };
  // The ring alone is too large, then the ring beside the staging of the result.
  check_all(
      {with(product(192, 104, 128, tf32, true), 2), with(product(128, 256, 64), 8), with(product(64, 384, 128), 8),
       with(product(256, 128, 64, f16, true), 4), with(product(200, 192, 96, f16), 8)},
      false);
}

TEST_CASE("products of extents drawn from TEGULA_FUZZ_SEED are right, or refused for a true reason", "[sim][B1][N2]") {
  std::string const wanted = variable("TEGULA_PRODUCT_EXTENTS"), part = variable("TEGULA_PRODUCT_PART");
  if (wanted != "all") return check_all(drawn(wanted.empty() ? 24 : std::stoul(wanted)), !wanted.empty());
  std::size_t index = 0, parts = 1;
  if (!part.empty()) index = std::stoul(part), parts = std::stoul(part.substr(part.find('/') + 1));
  std::vector<GemmShape> mine;
  std::vector<GemmShape> const shapes = all();
  for (std::size_t i = index; i < shapes.size(); i += parts) mine.push_back(shapes[i]);
  check_all(mine, true);
}
