#include "transform/placed/insert_barriers.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/hazards.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/walk.hpp"
#include "tegula/abi/budget.hpp"
#include "tegula/support/error.hpp"
#include "transform/common/named_barriers.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::transform {
namespace {

using analysis::Hazard;
using analysis::Hazards;
using analysis::Level;
using ir::Op;

/// Describes the names that barriers put in wait at: each group of warps gets one of its own.
class Names {
 public:
  explicit Names(ir::Function& function) : free_(function) {}

  /// Returns the operand of a barrier of the whole partition, or of one replica of it; null when names have run out.
  ir::Value* get(Partition const& partition, bool all_replicas) {
    auto const key = std::pair(&partition.block(), all_replicas);
    if (auto const found = ids_.find(key); found != ids_.end()) return found->second;
    std::int64_t const count = all_replicas ? 1 : partition.replicas();
    auto const first = free_.take(count);
    if (!first) return nullptr;
    ir::Builder builder = ir::Builder::before(partition.block().front());
    ir::Value* id = builder.index(*first);
    if (count > 1) id = builder.same(ir::AddOp{}, {partition.replica(), id});
    return ids_[key] = id;
  }

 private:
  NamedBarriers free_;
  std::map<std::pair<ir::Block const*, bool>, ir::Value*> ids_;
};

/// Inserts a barrier. Null, with an error, when no name is left for it.
Op* insert(Hazard const& hazard, Names& names, PassContext& context) {
  Op& before = const_cast<Op&>(*hazard.before);
  ir::Builder builder = ir::Builder::before(before);
  builder.set_where(before.where());
  if (hazard.level == Level::warp) return &builder.op(ir::WarpBarrierOp{}, {}, {});
  Partition const partition = partition_of(before);
  if (partition.specialize == nullptr) return &builder.op(ir::BarrierOp{}, {}, {});
  bool const all = hazard.level == Level::replicas;
  ir::Value* const id = names.get(partition, all);
  if (id == nullptr) {
    context.diagnostics.error("barrier: all 15 named barriers are taken, but " +
                                  std::string(hazard.later->op->info().mnemonic) + " needs one before it",
                              hazard.later->op->where());
    return nullptr;
  }
  ir::BarrierOp barrier;
  barrier.threads = warp_lanes * partition.warps() * (all ? partition.replicas() : 1);
  return &builder.op(barrier, {id}, {});
}

struct Inserted {
  Op* barrier = nullptr;
  Hazard hazard;  ///< that it was put in for
};

/// Lists the barriers that a later one may have made unneeded, the last first: one that stands on a way between the two
/// accesses.
std::vector<std::size_t> with_later_ones_between(ir::Function& function, std::vector<Inserted> const& inserted) {
  struct Interval {
    std::size_t begin = 0, end = 0;
  };
  std::map<Op const*, Interval> places;  // in the order of the text
  std::size_t next = 0;
  ir::walk_pre_order(function, [&](Op& op) {
    places[&op] = {next, next};
    for (Op const* around = op.parent_op(); around != nullptr; around = around->parent_op()) places[around].end = next;
    ++next;
    return ir::Walk::advance;
  });
  std::vector<std::size_t> result;
  std::set<std::size_t> later;
  for (std::size_t i = inserted.size(); i-- > 0;) {
    auto const& [barrier, hazard] = inserted[i];
    Interval way{places[hazard.earlier->op].begin, places[hazard.later->op].end};
    for (Op const* loop : {hazard.turn, hazard.found_in})
      if (loop != nullptr) way = {std::min(way.begin, places[loop].begin), std::max(way.end, places[loop].end)};
    auto const first = later.lower_bound(way.begin);
    if (first != later.end() && *first <= way.end) result.push_back(i);
    later.insert(places[barrier].begin);
  }
  return result;
}

}  // namespace

PassResult insert_barriers(ir::Function& function, PassContext& context) {
  Hazards hazards(function, context.analyses.uniformity(), context.analyses.replica_uniformity());
  Names names(function);
  std::vector<Inserted> inserted;
  std::size_t max = 0;
  ir::walk_pre_order(function, [&](Op&) { return ++max, ir::Walk::advance; });
  bool const in_partitions = analysis::runs_in_partitions(function);
  hazards.close_all([&](Hazard const& hazard) -> Op const* {
    if (in_partitions && hazard.level != Level::warp) {
      context.diagnostics.error(
          "call: @" + function.name() + " needs a barrier of its warps, but is called in a partition; inline it",
          hazard.later->op->where());
      return nullptr;
    }
    if (inserted.size() > max) throw InternalError("insert-barriers: a barrier does not close a hazard");
    Op* const barrier = insert(hazard, names, context);
    if (barrier != nullptr) inserted.push_back({barrier, hazard});
    return barrier;
  });
  if (context.diagnostics.has_errors()) return PassResult::changed;
  for (std::size_t const i : with_later_ones_between(function, inserted)) {
    Op& barrier = *inserted[i].barrier;
    auto at = barrier.parent()->begin();
    while (&*at != &barrier) ++at;
    Op& next = *++at;
    std::unique_ptr<Op> taken = barrier.parent()->remove(barrier);
    if (!hazards.none()) next.parent()->insert_before(next, std::move(taken));
  }
  return result_of(!inserted.empty());
}

}  // namespace tegula::transform
