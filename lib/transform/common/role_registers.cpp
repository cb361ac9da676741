#include "transform/common/role_registers.hpp"

#include <algorithm>

namespace tegula::transform {

Extents registers_of_roles(int consumer_warps, TargetInfo const& target, std::int64_t of_producer) {
  constexpr std::int64_t max_registers = 240;
  if (consumer_warps % target.warps_per_group != 0 || !target.has(Ability::setmaxnreg)) return {0, 0};
  int const groups = consumer_warps / target.warps_per_group;
  std::int64_t const threads = target.lanes * (consumer_warps + producer_warps);
  std::int64_t const all = target.registers / threads / target.register_step * target.register_step * threads;
  std::int64_t const min = std::max<std::int64_t>(groups <= 2 ? 40 : groups == 3 ? 32 : 24, of_producer);
  std::int64_t const rest =
      std::min((all - min * target.lanes * producer_warps) / (target.lanes * consumer_warps) / 8 * 8, max_registers);
  std::int64_t const left =
      std::min((all - rest * target.lanes * consumer_warps) / (target.lanes * producer_warps) / 8 * 8, max_registers);
  return {left, rest};
}

std::int64_t registers_of_cta(int warps, TargetInfo const& target) {
  int const schedulers = target.costs.schedulers;
  return target.registers_at_start((warps + schedulers - 1) / schedulers * schedulers);
}

std::int64_t registers_for_sums(int consumer_warps, TargetInfo const& target) {
  if (!target.has(Ability::wgmma))
    return std::max<std::int64_t>(target.registers_at_start(consumer_warps) - target.tuning.max_operand_registers -
                                      target.tuning.address_registers,
                                  0);
  return std::max<std::int64_t>(registers_of_roles(consumer_warps, target)[1] - target.wgmma.extra_registers, 0);
}

}  // namespace tegula::transform
