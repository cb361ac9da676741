// Finds how long the stage that holds a fetched tile is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/core/op.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::transform {

/// Marks where the readers of a fetched tile begin and where all of them have ended. Places are ops of the fetch's own
/// block.
struct StageLifetime {
  ir::Op* first_reader = nullptr;  ///< the op that reads, or holds the reader
  ir::Op* last = nullptr;          ///< after it nothing reads the tile any more
  bool next_turn = false;          ///< `last` stands in the next iteration of the loop around
  ir::Op* after = nullptr;         ///< next_turn: the op after the loop that plays its part after the last iteration
  bool generic = false;            ///< some reader is an ordinary load of all threads
  std::string error;               ///< why there is no such place; empty: there is
};

/// Follows views to readers, and asynchronous products to the wgmma_wait that covers them. A wait covers a product if
/// it leaves at most the groups open that were committed after it.
StageLifetime stage_lifetime(ir::Op& fetch);

/// Counts the stages that the loop asks for, or needs for its distance; 0: it leaves them open.
std::int64_t requested_stages(ir::Op const& loop);
/// Returns the min stages: a stage that the next iteration releases is still in use when that iteration's copy has to
/// arrive.
inline std::int64_t min_stages(StageLifetime const& life) { return life.next_turn ? 2 : 1; }
/// Counts the places for a tile in a stage of a ring: the tile lies in the first one. The others are padding, so that
/// the next stage begins where a copy may write.
std::int64_t places_of_stage(ir::Type const& tile);
/// Returns the bytes from one stage of a tile to the next.
std::int64_t stage_bytes(ir::Type const& tile);
/// Returns the bytes of shared memory that rings leave: Tuning::shared_reserve, and buffers that stand in the text.
std::int64_t bytes_beside_rings(ir::Function& function, TargetInfo const& target);
/// Returns the min bytes of shared memory that all fetches need.
std::int64_t min_bytes_of_rings(ir::Function& function);
/// Returns the bytes of all fetches with two stages each at most: one is read while the next one is filled.
std::int64_t bytes_of_two_stages(ir::Function& function);
/// Returns the bytes of all fetches with one stage each: what is left where shared memory has no room for more.
std::int64_t bytes_of_single_stages(ir::Function& function);

/// Finds the op of `block` that is `op` or holds it.
ir::Op* ancestor_in(ir::Op& op, ir::Block const& block);
/// Tells whether a stands before b in their common block.
bool stands_before(ir::Op const& a, ir::Op const& b);

}  // namespace tegula::transform
