// Tests the PTX of descriptors that a kernel builds for slices: a pool in global memory, replaced fields, fences in
// their order, and that ptxas assembles it.
#include "codegen/nvptx/nvptx.hpp"
#include "codegen/ptxas.hpp"
#include "compiler/compile.hpp"
#include "support/file_check.hpp"
#include "kernels/gemm_kernel.hpp"
#include "support/module.hpp"
#include "kernels/sliced_text.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("descriptors of slices are replaced, released and acquired in PTX", "[D7]") {
  for (Choice const specialization : {Choice::on, Choice::off}) {
    CompileOptions options = gemm_options();
    options.specialization = specialization;
    CompiledKernel const compiled = compiler::compile(module_of(sliced_text), options);
    CHECK(compiled.tensor_maps.size() == 3);  // by value: of A, B and C
    auto const checked = file_check(compiled.image, R"(
CHECK: .version 8.
CHECK: .global .align 128 .b8 tegula_tensor_maps
CHECK: atom.acquire.gpu.global.or.b32
CHECK: tensormap.replace.tile.global_dim.global.b1024.b32 [{{.*}}], 1,
CHECK: tensormap.replace.tile.global_dim.global.b1024.b32 [{{.*}}], 0,
CHECK: tensormap.replace.tile.global_address.global.b1024.b64
CHECK: fence.proxy.tensormap::generic.release.gpu;
CHECK: bar.sync
CHECK: fence.proxy.tensormap::generic.acquire.gpu [{{.*}}], 128;
CHECK: cp.async.bulk.tensor.2d.shared::cluster.global
CHECK: cp.async.bulk.tensor.2d.global.shared::cta
CHECK: atom.release.gpu.global.and.b32
)");
    INFO(checked.message);
    CHECK(checked.ok);
    std::string const ptxas = find_ptxas();
    if (ptxas.empty()) TEGULA_SKIP("no ptxas on this machine: only the text was checked");
    CHECK(ptxas_complaints(assemble(ptxas, compiled.image)) == "");
  }
}

TEST_CASE("a descriptor of a slice that no pass built is refused", "[D7]") {
  ir::Module const module = module_of(R"(tegula-ir 1

kernel @k(%x: in tensor<?x?xf32> {unit_inner, aligned_16}, %n: i64) warps = 1 {
  %one = constant {value = 1 : i64} : i64
  grid %one
  %s = slice %x, %one, %n : tensor<?x?xf32>
  %m = tensor_map %s {box = [8, 32]} : tensor_map<8x32xf32>
  return
}
)");
  CHECK_THROWS_WITH(codegen::emit_ptx(module, gemm_options()), ContainsSubstring("run build-tensor-maps"));
}
