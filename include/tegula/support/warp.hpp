// Counts the lanes of a warp. All NVIDIA GPUs have as many, and layouts, IR and simulators are made for them.
#pragma once

namespace tegula {

inline constexpr int warp_lanes = 32;
inline constexpr int warp_lane_bits = 5;  ///< of a lane's number

}  // namespace tegula
