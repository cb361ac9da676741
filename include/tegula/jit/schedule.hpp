// Chooses the order in which simulate() lets warps and asynchronous copies proceed.
#pragma once

#include <cstdint>
#include <string>

namespace tegula::schedule {

/// Holds an order as its text, which every report prints and which replays a run exactly.
struct order {
  std::string text;
};

/// Lets every warp and every copy that can proceed do so with equal probability.
order seed(std::uint64_t number);
/// Ends copies and products only when no warp can proceed.
inline order latest() { return {"latest"}; }
/// Ends copies and products as soon as they may.
inline order earliest() { return {"earliest"}; }
/// Lets one warp, by its number in the grid, proceed only when nothing else can.
order starve(std::uint64_t warp);
/// Follows virtual time: the warp or copy that is first by the cost model of the target goes first.
inline order timed() { return {"timed"}; }
/// Replays the order that a report prints after "schedule".
inline order replay(std::string text) { return {static_cast<std::string&&>(text)}; }

}  // namespace tegula::schedule
