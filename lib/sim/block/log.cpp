// Implements the logs of warps.
#include "sim/log.hpp"

#include "sim/block/meaning.hpp"

namespace tegula::sim::block {

using namespace ir;

namespace {

/// Gives the time at which the warp stands.
LogTime now(WarpProgram& warp) { return steps_of(warp.engine().launch()); }

}  // namespace

Progress perform(WarpProgram&, Op const&, RecordOp const&) { return Progress::done; }

Progress perform(WarpProgram& warp, Op const& op, ProfileBeginOp const&) {
  begin_log(warp.agent(), op, warp.index(), now(warp));
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
