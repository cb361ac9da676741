// The order in which simulate() lets warps and asynchronous copies go on.
#pragma once

#include <cstdint>
#include <string>

namespace tegula::schedule {

/// By its text, which every report prints and which replays a run exactly.
struct order {
  std::string text;
};

/// Every warp and every copy that can go on is equally likely.
inline order seed(std::uint64_t number) { return {"seed:" + std::to_string(number)}; }
/// Copies and products end only when no warp can go on.
inline order latest() { return {"latest"}; }
/// Copies and products end as soon as they may.
inline order earliest() { return {"earliest"}; }
/// One warp, by its number in the grid, goes on only when nothing else can.
inline order starve(std::uint64_t warp) { return {"starve:" + std::to_string(warp)}; }
/// What a report says behind "schedule".
inline order replay(std::string text) { return {static_cast<std::string&&>(text)}; }

}  // namespace tegula::schedule
