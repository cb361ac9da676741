// One copied tile read by two products, as k and as trans(k): copied once, by wgmma where it can, right at every trip.
#include "codegen/ptxas.hpp"
#include "compiler/compile.hpp"
#include "ir/core/walk.hpp"
#include "sim/block/simulate.hpp"
#include "kernels/chained_products.hpp"

using namespace tegula;
using namespace tegula::test;
namespace block = sim::block;

namespace {

CompileOptions dense_options() {
  CompileOptions options;
  options.target = tegula::Target::cuda;
  options.architecture = "sm_90a";
  options.facts.assign(3, {true, true});
  return options;
}

void check_chain(ir::Module const& module, ChainShape const& shape, std::int64_t queries, std::int64_t keys) {
  ChainData data(queries, keys, shape);
  block::Simulation simulation(module.kernel(), data.arguments(), {});
  auto const sweep = simulation.sweep(2);
  INFO(queries << " queries, " << keys << " keys\n" << sweep.str());
  CHECK(sweep.clean());
  CHECK(data.wrong() == "");
}

/// Returns the reason that products go warp by warp; empty: none does.
std::string by_warps(ir::Module const& module) {
  std::string why;
  ir::walk(module.kernel(), [&](ir::Op& op) {
    if (op.is<ir::MmaOp>()) why += op.as<ir::MmaOp>().by_warps.view();
  });
  return why;
}

}  // namespace

TEST_CASE("one copied tile is read by wgmma as k and as trans(k)", "[sim][B1]") {
  std::string const ptxas = find_ptxas();
  for (Element const element : {Element::bf16, Element::f16})
    for (int const stages : {1, 2, 3}) {
      ChainShape const shape{64, 32, 64, stages, element};
      ir::Module const module = compiler::lower(module_of(chain_text(shape)), dense_options());
      INFO(name(element) << ", " << stages << " stages");
      CHECK(count(module, ir::OpKind::MmaOp) == 0);
      CHECK(count(module, ir::OpKind::WarpSpecializeOp) == 1);
      if (!ptxas.empty())
        CHECK(ptxas_complaints(assemble(ptxas, compiler::emit(module, dense_options()).image), false) == "");
      for (int const trips : {0, 1, stages, stages + 1, 2 * stages + 1})
        check_chain(module, shape, 64, std::int64_t{32} * trips);
      check_chain(module, shape, 100, 32 * stages + 7);
    }
}

TEST_CASE("wgmma reads a tile of 8- or 32-bit elements only as trans(k), for a true reason", "[sim][F27]") {
  for (Element const element : {Element::e4m3, Element::f32}) {
    ChainShape const shape{64, 32, 64, 2, element};
    ir::Module const module = compiler::lower(module_of(chain_text(shape)), dense_options());
    INFO(name(element));
    CHECK(count(module, ir::OpKind::WgmmaOp) >= 1);
    CHECK_THAT(by_warps(module), ContainsSubstring("transposed("));
    for (std::int64_t const keys : {0, 32, 71, 128}) check_chain(module, shape, 72, keys);
  }
}
