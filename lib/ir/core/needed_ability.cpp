#include "ir/core/needed_ability.hpp"

#include <algorithm>
#include <optional>

#include "ir/core/match.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::ir {
namespace {

using Need = std::optional<Ability>;

template <class... OpStruct>
auto needs(Ability ability) {
  return on<OpStruct...>([ability] { return Need(ability); });
}

Need needed_ability(Op const& op) {
  return match<Need>(
      op,
      needs<TmaLoadOp, TmaStoreOp, TmaPrefetchOp, PrefetchTensorMapOp, PrefetchOp, BulkLoadOp, BulkStoreOp>(
          Ability::tma),
      needs<TensorMapOp, BuildTensorMapOp, DeviceTensorMapOp, AcquireTensorMapOp, ReleaseTensorMapsOp>(Ability::tma),
      needs<FenceProxyAsyncOp, BulkCommitOp, BulkWaitOp>(Ability::tma), needs<TmaReduceOp>(Ability::bulk_reductions),
      needs<MbarrierExpectOp>(Ability::expect_tx),
      needs<PeerStoreOp, ClusterArriveOp, ClusterWaitOp, ClusterRankOp>(Ability::clusters),
      needs<WgmmaOp, WgmmaFenceOp, WgmmaCommitOp, WgmmaWaitOp>(Ability::wgmma),
      needs<LaunchDependentsOp, WaitDependenciesOp>(Ability::dependent_launch),
      needs<CpAsyncOp, CpAsyncGatherOp, CpAsyncCoverOp, CpAsyncCommitOp, CpAsyncWaitOp>(Ability::cp_async),
      needs<MbarrierInitOp, MbarrierInvalOp, CpAsyncArriveOp>(Ability::mbarrier),
      on<MbarrierArriveOp>([](Op const& arrive) {
        return Need(arrive.all<MbarrierArriveOp>("rank").empty() ? Ability::mbarrier : Ability::clusters);
      }),
      on<MbarrierWaitOp>([](Op const& wait) {
        return Need(wait.as<MbarrierWaitOp>().scope == MemoryScope::cluster ? Ability::clusters : Ability::mbarrier);
      }),
      on<WarpSpecializeOp>([](Op const& split) {
        Extents const& registers = split.as<WarpSpecializeOp>().registers;
        bool const hands =
            std::any_of(registers.begin(), registers.end(), [](std::int64_t count) { return count != 0; });
        return hands ? Need(Ability::setmaxnreg) : Need();
      }),
      on<AtomicUpdateOp>([](Op const& update) {
        return update.as<AtomicUpdateOp>().vector > 1 ? Need(Ability::vector_atomics) : Need();
      }));
}

}  // namespace

std::string why_not_on(Op const& op, TargetInfo const& target) {
  Need const need = needed_ability(op);
  if (need && !target.has(*need)) return std::string(target.architecture) + " has no " + std::string(name(*need));
  if (op.is<MmaOp>() && !target.multiplies(op.lhs()->type().element()))
    return std::string(target.architecture) + " does not multiply " + std::string(name(op.lhs()->type().element())) +
           " on tensor cores";
  return {};
}

}  // namespace tegula::ir
