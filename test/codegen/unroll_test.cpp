// Tests the registers of loops: unrolling, its option, and tiles from outside.
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "analysis/register_pressure.hpp"
#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/machine.hpp"
#include "codegen/ptxas.hpp"
#include "compiler/compile.hpp"
#include "ir/text/text.hpp"
#include "runtime/cuda/ptxas_log.hpp"
#include "kernels/gemm_kernel.hpp"
#include "support/module.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

constexpr char rows[] =
    "tegula-ir 1\n\n"
    "kernel @rows(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>, %n: i64) {\n"
    "  %zero = constant {value = 0 : i64} : i64\n"
    "  %one = constant {value = 1 : i64} : i64\n"
    "  %size = constant {value = 1024 : i64} : i64\n"
    "  %rows = extent %x : i64\n"
    "  grid %rows\n"
    "  %row = block_index : i64\n"
    "  %none = constant {value = 0 : f32} : tile<1024xf32>\n"
    "  %sum = for %i = %zero to %n step %one carry (%s = %none) : tile<1024xf32> {\n"
    "    %at = mul %i, %size : i64\n"
    "    %a = load %x, %row, %at : tile<1024xf32>\n"
    "    %t = add %s, %a : tile<1024xf32>\n"
    "    yield %t\n"
    "  }\n"
    "  store %y, %sum, %row, %zero\n"
    "  return\n"
    "}\n";

/// Multiplies rows of bf16 by a scale that every iteration reads.
constexpr char scaled[] =
    "tegula-ir 1\n\n"
    "kernel @scaled(%x: in tensor<?x?xf32>, %s: in tensor<?xbf16>, %y: out tensor<?x?xf32>, %n: i64) {\n"
    "  %zero = constant {value = 0 : i64} : i64\n"
    "  %one = constant {value = 1 : i64} : i64\n"
    "  %ctas = multiprocessors : i64\n"
    "  grid %ctas\n"
    "  %cta = block_index : i64\n"
    "  %narrow = load %s, %zero : tile<8192xbf16>\n"
    "  for %i = %cta to %n step %ctas {\n"
    "    %scale = cast %narrow : tile<8192xf32>\n"
    "    %a = load %x, %i, %zero : tile<8192xf32>\n"
    "    %b = mul %a, %scale : tile<8192xf32>\n"
    "    store %y, %b, %i, %zero\n"
    "    yield\n"
    "  }\n"
    "  return\n"
    "}\n";

CompileOptions unrolled(int factor) {
  CompileOptions options = gemm_options();
  options.facts.resize(3);
  options.unroll = factor;
  return options;
}

/// Returns LLVM IR as LLVM's passes receive it.
std::string llvm_of(ir::Module const& lowered) {
  llvm::LLVMContext context;
  llvm::Module module("k", context);
  auto const machine = codegen::nvptx::make_target_machine(sm_90a, sm_90a.ptx_version);
  codegen::nvptx::prepare_module(module, *machine);
  codegen::nvptx::Emitter(module, lowered.kernel(), sm_90a).emit_kernel();
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return stream.str();
}

int count(std::string const& text, std::string const& word) {
  int result = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++result;
  return result;
}

}  // namespace

// Protects the factor that the kernel states: without metadata LLVM chooses one, and registers grow.
TEST_CASE("LLVM metadata of a loop states its unroll factor", "[ptx][B28]") {
  std::string const rolled = llvm_of(compiler::lower(module_of(rows), unrolled(0)));
  CHECK(count(rolled, "!\"llvm.loop.unroll.disable\"") == 1);
  CHECK(count(rolled, "llvm.loop.unroll.count") == 0);
  std::string const four = llvm_of(compiler::lower(module_of(rows), unrolled(4)));
  CHECK(count(four, "!\"llvm.loop.unroll.count\", i32 4}") == 1);
  CHECK(count(four, "llvm.loop.unroll.disable") == 0);
}

// Protects loops with barriers and copies from duplication, and the prologue from a loop of tests.
TEST_CASE("the prologue of a pipelined loop is unrolled, its main loop is not", "[ptx][B28]") {
  CompileOptions options = gemm_options();
  options.persistence = options.specialization = Choice::off;
  for (int const factor : {0, 2}) {  // 2 is requested: barriers and copies stand in a loop once all the same
    options.unroll = factor;
    ir::Module const lowered = compiler::lower(gemm_module({64, 16, 16, 4}), options);
    std::string const text = llvm_of(lowered);
    CHECK(count(text, "!\"llvm.loop.unroll.disable\"}") == 1);
    CHECK(count(text, "!llvm.loop") == 2);
    CHECK(count(text, "llvm.loop.unroll.count") == 0);
    CHECK(count(compiler::emit(lowered, options).image, "cp.async.bulk.tensor.2d.shared") == 2 * 4);
  }
}

// Protects loops in which threads share a scalar that one of them loaded: LLVM must not double the shuffle.
TEST_CASE("a loop that loads scalars is not unrolled, and compiles", "[ptx][B28]") {
  for (char const* place : {"%zero", "%i"})
    for (char const* direction : {"inout", "in"}) {
      std::string const text = std::string("tegula-ir 1\n\nkernel @flagged(%p: ") + direction +
                               R"( tensor<?xi32>, %y: out tensor<?xi32>, %n: i64) {
  %zero = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %six = constant {value = 6 : i64} : i64
  for %i = %zero to %six step %one {
    %a = load %p, )" + place + R"( : i32
    %b = splat %a : tile<1xi32>
    %at = cast %a : i64
    store %y, %b, %at
    yield
  }
  return
}
)";
      INFO(text);
      for (int const factor : {0, 2, 3, 6}) {
        std::string ptx;
        REQUIRE_NOTHROW(ptx = compiler::compile(module_of(text), unrolled(factor)).image);
        CHECK(count(ptx, "shfl.sync.idx") == 1);
      }
    }
}

// Protects loads ahead of their use: a shuffle would wait for the load.
TEST_CASE("a scalar that only fills tiles is not shuffled", "[ptx][B28]") {
  for (char const* direction : {"inout", "in"}) {
    std::string const text = std::string("tegula-ir 1\n\nkernel @filled(%p: ") + direction +
                             R"( tensor<?xf32>, %y: out tensor<?xf32>, %n: i64) {
  %zero = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %none = constant {value = 0 : f32} : f32
  %total = for %i = %zero to %n step %one carry (%sum = %none) : f32 {
    %a = load %p, %i : f32
    %next = add %sum, %a : f32
    yield %next
  }
  %b = splat %total : tile<1xf32>
  store %y, %b, %zero
  return
}
)";
    INFO(text);
    // Lanes might see different numbers of memory that is written.
    CHECK(count(compiler::compile(module_of(text), unrolled(0)).image, "shfl.sync.idx") ==
          (std::string(direction) == "inout" ? 1 : 0));
  }
}

TEST_CASE("unrolling does not use registers for addresses", "[ptx][B29]") {
  std::string const ptxas = find_ptxas();
  int rolled = 0;
  for (int const factor : {1, 4, 8}) {
    ir::Module const lowered = compiler::lower(module_of(rows), unrolled(factor));
    CHECK(analysis::register_pressure(lowered.kernel()) <= 32);
    std::string const ptx = compiler::emit(lowered, unrolled(factor)).image;
    CHECK(count(ptx, "ld.global") >=
          2 * factor);  // the loop is unrolled, so the registers below are of the unrolled one
    if (ptxas.empty()) continue;
    int const registers = runtime::cuda::parse_assembly_log(assemble(ptxas, ptx)).registers;
    if (factor == 1) rolled = registers;
    INFO("unrolled " << factor << " times: " << registers << " registers, rolled " << rolled);
    CHECK(registers <= rolled + 16);
  }
  if (ptxas.empty()) WARN("no ptxas: registers are estimated only");
}

// Protects registers: LLVM would unpack the elements ahead of the loop, into twice as many.
TEST_CASE("16-bit tiles that a loop reads stay pairs of registers", "[ptx][B29]") {
  CompileOptions options = gemm_options();
  options.warps = 4;  // 64 elements to a thread
  ir::Module const lowered = compiler::lower(module_of(scaled), options);
  std::string const llvm = llvm_of(lowered);
  CHECK(count(llvm, "asm \"\", \"=r,0\"") == 32);
  std::string const ptxas = find_ptxas();
  if (ptxas.empty()) {
    WARN("no ptxas: registers are not counted");
    return;
  }
  std::string const ptx = compiler::emit(lowered, options).image;
  CHECK(runtime::cuda::parse_assembly_log(assemble(ptxas, ptx)).registers <= 168);
}
