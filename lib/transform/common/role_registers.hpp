// Shares the registers of a CTA among producer and consumer warps.
#pragma once

#include "tegula/support/extents.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::transform {

/// Warps of the producer: setmaxnreg takes whole warpgroups.
inline constexpr int producer_warps = 4;

/// Returns the registers per thread of producer and consumers, within the CTA's registers at the start; 0: unchanged.
/// The producer gets at least `of_producer`.
Extents registers_of_roles(int consumer_warps, TargetInfo const& target, std::int64_t of_producer = 0);

/// Returns the registers of a thread that so many warps have for the sums of products. Those of mma.sync share them
/// with operands on their way. 0: wgmma has no place for them, since the warps are no whole warpgroups.
std::int64_t registers_for_sums(int consumer_warps, TargetInfo const& target);

}  // namespace tegula::transform
