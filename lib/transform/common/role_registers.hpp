// Shares the registers of a CTA among producer and consumer warps.
#pragma once

#include "tegula/abi/compile_options.hpp"
#include "tegula/support/extents.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::transform {

/// Warps of the producer: setmaxnreg takes whole warpgroups.
inline constexpr int producer_warps = 4;

/// Tells whether warps of their own copy for those that compute. Where the option leaves it open, they do if they can
/// hand over registers: else they would keep those that the others need.
constexpr bool copies_apart(Choice specialization, TargetInfo const& target) {
  return specialization == Choice::on || (specialization == Choice::automatic && target.has(Ability::setmaxnreg));
}

/// Returns the registers per thread of producer and consumers, within the CTA's registers at the start; 0: unchanged.
/// The producer gets at least `of_producer`.
Extents registers_of_roles(int consumer_warps, TargetInfo const& target, std::int64_t of_producer = 0);

/// Returns the registers of each thread of a CTA of so many warps. Each scheduler has its part of the registers, and
/// every fourth warp.
std::int64_t registers_of_cta(int warps, TargetInfo const& target);

/// Returns the registers of a thread that so many warps have for the sums of products. Those of mma.sync share them
/// with operands on their way. 0: wgmma has no place for them, since the warps are not whole warpgroups.
std::int64_t registers_for_sums(int consumer_warps, TargetInfo const& target);

}  // namespace tegula::transform
