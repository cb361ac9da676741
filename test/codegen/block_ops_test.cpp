// Tests block ops as PTX: patterns in the text, ptxas's report, the launcher's data, and refusals.
#include <fmt/format.h>

#include "codegen/nvptx/nvptx.hpp"
#include "codegen/ptx_cases.hpp"
#include "codegen/ptxas.hpp"
#include "compiler/compile.hpp"
#include "support/file_check.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

CompiledKernel compile_text(std::string const& text) {
  ir::Module const module = read_module(text);
  return compiler::compile(module, cuda_options(text, module.kernel().parameter_count()));
}

/// Returns the error of verifying or compiling a kernel of this body, with parameters %x and %y and a constant %zero.
std::string refusal(std::string const& body, int warps = 4) {
  std::string const text = fmt::format(
      "tegula-ir 1\n"
      "\n"
      "kernel @k(%x: in tensor<?x?xbf16>, %y: out tensor<?x?xf32>) warps = {} {{\n"
      "  %zero = constant {{value = 0 : i64}} : i64\n"
      "{}  return\n"
      "}}\n",
      warps, body);
  auto const parsed = ir::parse(text);
  INFO(parsed.diagnostics.str());
  REQUIRE(parsed.ok());
  if (auto const found = ir::verify(parsed.module); found.has_errors()) return found.str();
  try {
    compile_text(text);
  } catch (UserError const& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("PTX of every block op has the promised patterns", "[block-ptx]") {
  for (std::string const& file : kernel_files("codegen/block")) {
    INFO(file);
    std::string const text = read_file(file);
    CompiledKernel const compiled = compile_text(text);
    CHECK(compiled.image_kind == ImageKind::ptx);
    auto const result = file_check(compiled.image, text);
    INFO(compiled.image);
    INFO(result.message);
    CHECK(result.ok);
  }
}

TEST_CASE("ptxas takes every kernel of block ops without a note, spills or stack", "[block-ptx]") {
  std::string const ptxas = find_ptxas();
  if (ptxas.empty()) TEGULA_SKIP("no ptxas on this machine");
  std::vector<std::string> files = kernel_files("codegen/block");
  for (std::string const& file : kernel_files("ir/target")) files.push_back(file);
  for (std::string const& file : files) {
    INFO(file);
    std::string const output = assemble(ptxas, compile_text(read_file(file)).image);
    INFO(output);
    CHECK(output.find(" 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads") != std::string::npos);
    CHECK(ptxas_complaints(output) == "");
  }
}

TEST_CASE("the compiled kernel lists tensor maps, cluster and dependence for the launcher", "[block-ptx]") {
  CompiledKernel const gemm = compile_text(read_file(std::string(TEGULA_TEST_DIR) + "/ir/target/gemm.tir"));
  REQUIRE(gemm.tensor_maps.size() == 3);
  for (int i = 0; i < 3; ++i) {
    CHECK(gemm.tensor_maps[static_cast<std::size_t>(i)].parameter == i);
    CHECK(gemm.tensor_maps[static_cast<std::size_t>(i)].swizzle == Swizzle::b128);
  }
  CHECK(gemm.tensor_maps[0].box == Extents{128, 64});
  CHECK(gemm.tensor_maps[2].box == Extents{64, 64});
  CHECK(gemm.cluster == 1);
  CHECK(gemm.dependent_launch);
  CHECK(gemm.threads_per_cta == 384);
  CHECK(gemm.shared_bytes == 229440);
  CompiledKernel const pair = compile_text(read_file(std::string(TEGULA_TEST_DIR) + "/codegen/block/cluster.tir"));
  CHECK(pair.cluster == 2);
  CHECK_FALSE(pair.dependent_launch);
  CHECK(pair.tensor_maps.empty());
}

// Protects the passing of maps by value: a copy of a map in other memory needs a fence before its use.
TEST_CASE("tensor maps are by-value parameters of the kernel and nothing else", "[block-ptx][D1][D3][B14]") {
  std::string const text = read_file(std::string(TEGULA_TEST_DIR) + "/ir/target/gemm.tir");
  ir::Module const module = read_module(text);
  CompileOptions const options = cuda_options(text, module.kernel().parameter_count());
  std::string const ptx = compiler::compile(module, options).image;
  INFO(ptx);
  auto const count = [](std::string const& in, std::string const& part) {
    int found = 0;
    for (std::size_t at = in.find(part); at != std::string::npos; at = in.find(part, at + 1)) ++found;
    return found;
  };
  CHECK(count(ptx, ".param .align 64 .b8 ") == 3);
  CHECK(count(ptx, "[128]") == 3);
  CHECK(count(ptx, "cvta.param.u64") == 3);
  for (char const* elsewhere : {".local", ".const", ".global .align", "__local_depot"})
    CHECK(count(ptx, elsewhere) == 0);

  std::string const llvm = codegen::emit_device_llvm(compiler::lower(module, options), options);
  INFO(llvm);
  CHECK(count(llvm, "byval([128 x i8]) align 64") == 3);
  CHECK(count(llvm, "\"nvvm.grid_constant\"") == 3);
  CHECK(count(llvm, "\"nvvm.maxntid\"=\"384\"") == 1);
  CHECK(count(llvm, "\"nvvm.minctasm\"=\"1\"") == 1);
}

TEST_CASE("block ops without an instruction are refused with values and a remedy", "[block-ptx]") {
  CHECK_THAT(refusal("  warp_specialize {warps = [4, 4], replicas = [1, 2], registers = [40, 240]} (%p: i64) {\n"
                     "    warp_barrier\n    yield\n  } and (%c: i64) {\n    yield\n  }\n",
                     12),
             ContainsSubstring("registers: 66560 needed (128 x 40, 256 x 240), 64512 allowed"));
  CHECK_THAT(refusal("  elect {warp = 4} {\n    bulk_commit\n    yield\n  }\n"),
             ContainsSubstring("warp 4 of 4 executing ones"));
  CHECK_THAT(refusal("  %s = buffer_alloc {align = 1024} : shared<64x128xbf16, swizzled(128)>\n"
                     "  %m = tensor_map %x {box = [64, 32], swizzle = b64} : tensor_map<64x32xbf16>\n"
                     "  %b = buffer_alloc {align = 8} : mbarrier\n"
                     "  elect {\n    tma_load %m, %s, %b, %zero, %zero\n    yield\n  }\n"),
             ContainsSubstring("tma_load: a copy with swizzle 64 and box 64x32 puts element"));
  CHECK_THAT(refusal("  %s = buffer_alloc {align = 1024} : shared<64x128xbf16, swizzled(128)>\n"
                     "  elect {\n    bulk_store %x, %s, %zero, %zero\n    yield\n  }\n"),
             ContainsSubstring("a bulk copy moves adjacent bytes"));
  CHECK_THAT(refusal("  %a = buffer_alloc {align = 1024} : shared<64x64xbf16, swizzled(128)>\n"
                     "  %b = buffer_alloc {align = 1024} : shared<64x64xbf16, swizzled(128)>\n"
                     "  %d = wgmma %a, %b : pending<64x64xf32, mma>\n  wgmma_commit\n"
                     "  %r = wgmma_wait %d : tile<64x64xf32, mma>\n  store %y, %r, %zero, %zero\n",
                     8),
             ContainsSubstring("not in the one that 8 warps need"));
  CHECK_THAT(refusal("  warp_specialize {warps = [4, 4], replicas = [1, 1], registers = [0, 0]} (%p: i64) {\n"
                     "    %t = load %x, %zero, %zero : tile<64x64xbf16, wgmma_a>\n"
                     "    %c = convert_layout %t {scratch = 0} : tile<64x64xbf16, [register (0,1) (0,2) (0,4) (16,0) "
                     "(32,0), lane (0,8) (0,16) (0,32) (1,0) (2,0), warp (4,0) (8,0)]>\n"
                     "    %f = cast %c : tile<64x64xf32, [register (0,1) (0,2) (0,4) (16,0) (32,0), lane (0,8) (0,16) "
                     "(0,32) (1,0) (2,0), warp (4,0) (8,0)]>\n"
                     "    store %y, %f, %zero, %zero\n"
                     "    yield\n  } and (%c2: i64) {\n    yield\n  }\n",
                     8),
             ContainsSubstring("needs a barrier of all threads of the CTA"));
}
