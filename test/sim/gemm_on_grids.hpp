// Defines a product on grids of other extents than its own.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "ir/core/walk.hpp"
#include "sim/block/simulate.hpp"
#include "support/catch.hpp"
#include "kernels/gemm_kernel.hpp"
#include "support/module.hpp"
#include "support/mutate.hpp"

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

/// Runs a lowered kernel under schedules, on all clusters of its grid and, if it is persistent, on one that takes all
/// tiles: clean, and every element right.
inline void check_on_clusters(ir::Module const& module, std::int64_t m, std::int64_t n, std::int64_t k,
                              std::uint64_t seeds = 3) {
  bool const is_persistent = count(module, ir::OpKind::MultiprocessorsOp) != 0;
  for (bool const one : {false, true}) {
    if (one && !is_persistent) continue;
    GemmData data(m, n, k);
    sim::block::Options options;
    if (one) options.grid = sim::Grid{module.kernel().cluster, 1, 1};
    auto const sweep = sim::block::Simulation(module.kernel(), data.arguments(), options).sweep(seeds);
    INFO("m, n, k = " << m << ", " << n << ", " << k << (one ? " on one cluster\n" : "\n") << sweep.str());
    CHECK(sweep.clean());
    CHECK(data.wrong() == "");
  }
}

/// Runs a lowered kernel without each of the ops, then as it is: some of the products shows a fault under some of 20
/// schedules, and none does with all ops.
template <class Data>
void check_each_is_missed(ir::Module const& module, std::vector<Mutation> const& all,
                          std::initializer_list<Data*> products, sim::block::Options const& run) {
  sim::block::Options reports = run;
  reports.max_reports = 1;
  for (Mutation const& mutation : all) {
    INFO("without " << mutation.without);
    CHECK(std::any_of(products.begin(), products.end(), [&](Data* inputs) {
      return sim::block::Simulation(mutation.module.kernel(), inputs->arguments(), reports).sweep(20).bad_runs != 0;
    }));
  }
  for (Data* inputs : products)
    CHECK(sim::block::Simulation(module.kernel(), inputs->arguments(), run).sweep(20).clean());
}

/// Counts the copies that arrive in several CTAs.
inline int multicasts(ir::Module const& module) {
  int found = 0;
  ir::walk(module.kernel(),
           [&](ir::Op& op) { found += op.is<ir::TmaLoadOp>() && op.as<ir::TmaLoadOp>().multicast != 0 ? 1 : 0; });
  return found;
}

}  // namespace tegula::test
