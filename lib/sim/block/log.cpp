// Implements the logs of warps.
#include "sim/log.hpp"

#include <cmath>

#include "sim/block/meaning.hpp"

namespace tegula::sim::block {

using namespace ir;

namespace {

/// Returns the time at which the warp stands. No row begins at 0, which means that it was not written.
LogTime now(WarpProgram& warp) {
  CostModel const* const costs = warp.warp().costs();
  if (costs == nullptr) return steps_of(warp.engine().launch());
  machine::Time const clocks = warp.warp().now();
  double const ns = static_cast<double>(clocks) / costs->clocks_per_ns;
  return {1 + static_cast<std::uint64_t>(std::llround(ns)), static_cast<std::uint32_t>(clocks)};
}

}  // namespace

Progress perform(WarpProgram&, Op const&, RecordOp const&) { return Progress::done; }

Progress perform(WarpProgram& warp, Op const& op, ProfileBeginOp const&) {
  begin_log(warp.agent(), op, warp.index(), warp.engine().target().warps_per_group, now(warp));
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, ProfileAppendOp const&) {
  append_to_log(warp.agent(), op, now(warp));
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, ProfileEndOp const&) {
  end_log(warp.agent(), op, now(warp));
  return Progress::done;
}

}  // namespace tegula::sim::block
