// Proves by deletion: the simulator must report a kernel without any one of its synchronising ops.
#pragma once

#include <cstdio>

#include "sim/block/simulate.hpp"
#include "support/catch.hpp"
#include "support/mutate.hpp"
#include "kernels/simulated.hpp"

namespace tegula::test {

namespace detail {

inline bool has(ir::Module const& module, ir::OpKind kind) {
  auto const ops = all_ops(module);
  return std::any_of(ops.begin(), ops.end(), [&](ir::Op const* op) { return op->kind() == kind; });
}

/// Tells whether a kernel is clean under every schedule that is tried. A persistent grid has one CTA, which takes all
/// tiles.
inline bool runs_clean(ir::Module const& module, TargetArguments arguments, bool dependent) {
  sim::block::Options options;
  if (has(module, ir::OpKind::MultiprocessorsOp)) options.grid = sim::Grid{1, 1, 1};
  options.dependent = dependent;
  options.max_reports = 1;
  return sim::block::Simulation(module.kernel(), simulated(arguments), options).sweep(20).bad_runs == 0;
}

}  // namespace detail

/// At all `launches` (extents of at most two wraps of each ring) the kernel is clean. Without any one op that orders
/// accesses it is not at one of them. Without those that only shape the schedule it still is. Returns how many ops were
/// taken out.
inline std::size_t check_each_op_counts(ir::Module const& module, std::vector<TargetArguments> const& launches) {
  bool const dependent = detail::has(module, ir::OpKind::WaitDependenciesOp);
  auto const clean = [&](ir::Module const& kernel) {
    return std::all_of(launches.begin(), launches.end(),
                       [&](TargetArguments const& launch) { return detail::runs_clean(kernel, launch, dependent); });
  };
  CHECK(clean(module));
  auto const all = mutations(module);
  for (Mutation const& mutation : all) {
    bool const reported = !clean(mutation.module);
    INFO("without " << mutation.without);
    CHECK(reported);
  }
  CHECK(clean(without_schedule(module)));
  std::printf("%s: %zu ops\n", module.kernel().name().c_str(), all.size());
  return all.size();
}

}  // namespace tegula::test
