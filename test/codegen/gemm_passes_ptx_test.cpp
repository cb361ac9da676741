// Tests the PTX of a product of tiles after the passes: ptxas assembles it without a complaint, and it computes the
// product on the CPU.
#include "codegen/ptxas.hpp"
#include "codegen/run_target.hpp"
#include "compiler/compile.hpp"
#include "kernels/gemm_kernel.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

TargetArguments arguments_of(GemmData& data) {
  TargetArguments result;
  for (HostTensor* tensor : {&data.a, &data.b, &data.bias, &data.c}) {
    TargetArgument argument;
    argument.element = tensor->element();
    argument.extents = tensor->extents();
    auto const* const bytes_of = static_cast<std::byte const*>(tensor->data());
    argument.data.assign(bytes_of, bytes_of + tensor->count() * bytes(tensor->element()));
    result.push_back(std::move(argument));
  }
  return result;
}

/// Runs a lowered product's PTX on the CPU.
void check_machine(ir::Module const& module, std::int64_t m, std::int64_t n, std::int64_t k) {
  CompiledKernel const compiled = compiler::compile(module, gemm_options());
  GemmData data(m, n, k);
  TargetArguments arguments = arguments_of(data);
  AsyncMachine machine(compiled.image);
  REQUIRE(run_target(machine, compiled, compiler::lower(module, gemm_options()).kernel(), arguments) == "");
  std::memcpy(data.c.data(), arguments[3].data.data(), arguments[3].data.size());
  CHECK(data.wrong() == "");
}

}  // namespace

TEST_CASE("products of tiles of many shapes assemble without spills or serialised products", "[block-ptx]") {
  std::string const ptxas = find_ptxas();
  if (ptxas.empty()) TEGULA_SKIP("ptxas is not installed");
  for (GemmShape const& shape : {GemmShape{128, 256, 64, 4}, GemmShape{128, 128, 64, 4}, GemmShape{64, 256, 64, 4},
                                 GemmShape{256, 128, 64, 4}, GemmShape{128, 256, 64, 3, true}, GemmShape{64, 64, 32, 2},
                                 GemmShape{32, 96, 48, 2}, GemmShape{48, 96, 48, 3}, GemmShape{72, 64, 64, 2}}) {
    CompiledKernel const compiled = compiler::compile(gemm_module(shape), gemm_options());
    INFO(shape.m << "x" << shape.n << "x" << shape.k << (shape.trans_b ? " transposed" : ""));
    CHECK(ptxas_complaints(assemble(ptxas, compiled.image), false) == "");
  }
}

TEST_CASE("products whose rows are an odd number of 16 bytes assemble without serialised products", "[block-ptx]") {
  std::string const ptxas = find_ptxas();
  if (ptxas.empty()) TEGULA_SKIP("ptxas is not installed");
  for (int const columns : {8, 24, 72, 136, 168}) {  // no chunk is a swizzled row
    std::string text = gemm_text({128, columns, 64, 4});
    std::string const result = "cast %relu";
    text.replace(text.find(result), result.size(), "cast %acc");
    CompiledKernel const compiled = compiler::compile(module_of(text), gemm_options());
    INFO("tiles of 128x" << columns);
    REQUIRE(compiled.image.find("cp.async.bulk.tensor.2d.global") != std::string::npos);
    CHECK(ptxas_complaints(assemble(ptxas, compiled.image), false) == "");
  }
}

TEST_CASE("products whose results threads store assemble without serialised products", "[block-ptx][N17]") {
  std::string const ptxas = find_ptxas();
  if (ptxas.empty()) TEGULA_SKIP("ptxas is not installed");
  for (GemmShape const& shape :
       {GemmShape{128, 128, 64, 4, true}, GemmShape{64, 64, 64, 4, true}, GemmShape{128, 256, 64, 4, true},
        GemmShape{256, 128, 64, 4}, GemmShape{64, 192, 64, 4}}) {
    CompileOptions options = gemm_options();
    options.facts.back() = {true, false};  // rows of the result begin at any element
    std::string text = gemm_text(shape);
    std::string const result = "cast %relu";
    text.replace(text.find(result), result.size(), "cast %acc");
    CompiledKernel const compiled = compiler::compile(module_of(text), options);
    INFO("tiles of " << shape.m << "x" << shape.n << (shape.trans_b ? " transposed" : ""));
    REQUIRE(compiled.image.find("cp.async.bulk.tensor.2d.global") == std::string::npos);
    REQUIRE(compiled.image.find("wgmma") != std::string::npos);
    CHECK(ptxas_complaints(assemble(ptxas, compiled.image), false) == "");
  }
}

TEST_CASE("products of every tensor core element have their own instructions and assemble", "[block-ptx][F27]") {
  std::string const ptxas = find_ptxas();
  struct Case {
    GemmElements elements;
    char const *wgmma, *mma;
  };
  for (Case const& one :
       {Case{{Element::f16, Element::f16, Element::f16}, "k16.f32.f16.f16", "k16.row.col.f32.f16.f16.f32"},
        Case{{Element::f32, Element::f32, Element::f32}, "k8.f32.tf32.tf32", "k8.row.col.f32.tf32.tf32.f32"},
        Case{{Element::e4m3, Element::e4m3, Element::bf16}, "k32.f32.e4m3.e4m3", "k32.row.col.f32.e4m3.e4m3.f32"},
        Case{{Element::e5m2, Element::e4m3, Element::e5m2}, "k32.f32.e5m2.e4m3", "k32.row.col.f32.e5m2.e4m3.f32"},
        Case{{Element::i8, Element::i8, Element::i8}, "k32.s32.s8.s8", "k32.row.col.s32.s8.s8.s32"}}) {
    int const k = 128 / bytes(one.elements.a);
    struct Form {
      GemmShape shape;
      std::string instruction;
    };
    for (Form const& form : {Form{{128, 256, k, 4, true, one.elements}, std::string("m64n256") + one.wgmma},
                             Form{{64, 128, k, 2, true, one.elements}, std::string("m64n128") + one.wgmma},
                             Form{{32, 40, k, 2, true, one.elements}, std::string("m16n8") + one.mma}}) {
      CompiledKernel const compiled = compiler::compile(gemm_module(form.shape), gemm_options());
      INFO(form.instruction << " in a tile of " << form.shape.m << "x" << form.shape.n);
      CHECK(compiled.image.find(form.instruction) != std::string::npos);
      if (!ptxas.empty()) CHECK(ptxas_complaints(assemble(ptxas, compiled.image), false) == "");
    }
    GemmShape converted{128, 128, k, 2, true, one.elements};
    converted.stored_a = Element::f32;
    if (bytes(one.elements.a) != 1) continue;
    CompiledKernel const compiled = compiler::compile(gemm_module(converted), gemm_options());
    INFO(name(one.elements.a) << " made of f32 in registers");
    if (!ptxas.empty()) CHECK(ptxas_complaints(assemble(ptxas, compiled.image), false) == "");
    // Four that are converted one by one are converted as pairs.
    if (is_f8(one.elements.a)) CHECK(compiled.image.find(".f32 \t%rs") == std::string::npos);
  }
}

TEST_CASE("PTX of a product of tiles computes it on the CPU at every trip count", "[block-ptx][B2]") {
  ir::Module const module = gemm_module({64, 32, 16, 2});
  CHECK(compiler::compile(module, gemm_options()).tensor_maps.size() == 3);
  for (std::int64_t const trips : {0, 1, 2, 3, 5}) check_machine(module, 136, 40, 16 * trips);
}

TEST_CASE("PTX of products by three warps and in columns of 48 computes them on the CPU", "[block-ptx]") {
  for (GemmShape const& shape : {GemmShape{48, 96, 16, 2}, GemmShape{16, 48, 16, 2}, GemmShape{8, 48, 32, 2}})
    check_machine(gemm_module(shape), 56, 104, 40);
}
