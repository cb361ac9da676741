// Judges random products. What the compiler refuses is compared with rules stated here.
#include "fuzz/product_extents.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/budget.hpp"
#include "codegen/ptxas.hpp"
#include "compiler/compile.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "sim/block/simulate.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::fuzz {

using namespace test;

namespace {

constexpr int max_extent = 256;
constexpr GemmElements f16{Element::f16, Element::f16, Element::f16}, tf32{Element::f32, Element::f32, Element::f32},
    e4m3{Element::e4m3, Element::e4m3, Element::bf16}, i8{Element::i8, Element::i8, Element::i32};

ir::Module module_of(GemmShape const& shape) {
  auto parsed = ir::parse(gemm_text(shape));
  support::throw_internal_error(parsed.diagnostics, "product of random extents");
  return std::move(parsed.module);
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

}  // namespace

std::string text_of(GemmShape const& shape) {
  return fmt::format("{}x{}x{} of {}{}", shape.m, shape.n, shape.k, name(shape.elements.a),
                     shape.trans_b ? ", B stored N x K" : "");
}

GemmShape product(int m, int n, int k, GemmElements const& elements, bool trans_b) {
  GemmShape shape{m, n, k, 0, trans_b, elements};
  shape.stored_a = elements.a;
  return shape;
}

std::vector<GemmShape> const& all_products() {
  static std::vector<GemmShape> const list = [] {
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
  }();
  return list;
}

std::string error_of(GemmShape const& shape, bool& refused) {
  static std::string const ptxas = find_ptxas();
  refused = false;
  CompileOptions const options = gemm_options();
  CompiledKernel compiled;
  ir::Module module;
  Budget budget;
  try {
    module = compiler::lower(module_of(shape), options);
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
  GemmData data(shape.m, shape.n, 2 * shape.k + 16, shape.trans_b, shape.elements);
  sim::block::Simulation simulation(module.kernel(), data.arguments(), {});
  auto const sweep = simulation.sweep(1);
  return sweep.clean() ? data.wrong() : sweep.str();
}

std::string refusal(ir::Module const& module, CompileOptions const& options) {
  try {
    compiler::refuse_for_gpu(compiler::lower(module, options), options);
    return {};
  } catch (UserError const& error) {
    return error.what();
  }
}

std::string fitting_error(GemmShape const& shape, int warps, bool& refused) {
  ir::Module const module = module_of(shape);
  CompileOptions aligned = gemm_options(), unaligned = gemm_options();
  unaligned.facts.assign(4, {true, false});
  refused = !refusal(module, unaligned).empty();
  if (refused) return {};
  if (std::string const reason = refusal(module, aligned); !reason.empty()) return "aligned tensors: " + reason;
  aligned.warps = unaligned.warps = warps;
  std::string const asked = fmt::format("{} warps, ", warps);
  if (std::string const reason = refusal(module, aligned); !reason.empty()) return asked + "aligned tensors: " + reason;
  if (std::string const reason = refusal(module, unaligned); !reason.empty())
    return asked + "unaligned tensors: " + reason;
  return {};
}

}  // namespace tegula::fuzz
