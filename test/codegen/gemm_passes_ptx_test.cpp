// The PTX of a product of tiles: what the passes made of it is assembled without a complaint, and computes the product
// on the CPU.
#include "codegen/ptxas.hpp"
#include "codegen/run_target.hpp"
#include "compiler/compile.hpp"
#include "support/gemm_kernel.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

TargetArguments arguments_of(GemmData& data) {
  TargetArguments result;
  for (HostTensor* tensor : {&data.a, &data.b, &data.bias, &data.c}) {
    TargetArgument made;
    made.element = tensor->element();
    made.extents = tensor->extents();
    auto const* const bytes_of = static_cast<std::byte const*>(tensor->data());
    made.data.assign(bytes_of, bytes_of + tensor->count() * bytes(tensor->element()));
    result.push_back(std::move(made));
  }
  return result;
}

}  // namespace

TEST_CASE("products of tiles of many shapes assemble without spills or serialised products", "[block-ptx]") {
  std::string const ptxas = find_ptxas();
  if (ptxas.empty()) TEGULA_SKIP("ptxas is not installed");
  for (GemmShape const& shape :
       {GemmShape{128, 256, 64, 4}, GemmShape{128, 128, 64, 4}, GemmShape{64, 256, 64, 4}, GemmShape{256, 128, 64, 4},
        GemmShape{128, 256, 64, 3, true}, GemmShape{64, 64, 32, 2}}) {
    CompiledKernel const compiled = compiler::compile(gemm_module(shape), gemm_options());
    INFO(shape.m << "x" << shape.n << "x" << shape.k << (shape.trans_b ? " transposed" : ""));
    CHECK(ptxas_complaints(assemble(ptxas, compiled.image), false) == "");
  }
}

TEST_CASE("PTX of a product of tiles computes it on the CPU at every trip count", "[block-ptx][B2]") {
  ir::Module const module = gemm_module({64, 32, 16, 2});
  CompiledKernel const compiled = compiler::compile(module, gemm_options());
  CHECK(compiled.tensor_maps.size() == 3);
  for (std::int64_t const trips : {0, 1, 2, 3, 5}) {
    GemmData data(136, 40, 16 * trips);
    TargetArguments arguments = arguments_of(data);
    AsyncMachine machine(compiled.image);
    REQUIRE(run_target(machine, compiled, compiler::lower(module, gemm_options()).kernel(), arguments) == "");
    std::memcpy(data.c.data(), arguments[3].data.data(), arguments[3].data.size());
    CHECK(data.wrong() == "");
  }
}
