// Defines a product on grids of other extents than its own.
#pragma once

#include <initializer_list>

#include "sim/block/simulate.hpp"
#include "support/catch.hpp"
#include "support/gemm_kernel.hpp"

namespace tegula::test {

/// Runs a lowered kernel on each grid, with fresh tensors of m x n x k: clean, and every element right.
inline void check_on_grids(ir::Module const& module, std::int64_t m, std::int64_t n, std::int64_t k,
                           std::initializer_list<sim::Grid> grids) {
  for (sim::Grid const& grid : grids) {
    GemmData data(m, n, k);
    sim::block::Options options;
    options.grid = grid;
    auto const result = sim::block::run(module.kernel(), data.arguments(), sim::machine::Schedule::seed(1), options);
    INFO(result.str());
    CHECK(result.clean());
    CHECK(data.wrong() == "");
  }
}

}  // namespace tegula::test
