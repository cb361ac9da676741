// Computes when each user of a function's shared memory holds data.
//
//   position   op                      %a   %b   scratch
//      0       buffer_store %a         |
//      1       tma_store %a            |              read until the wait
//      2       buffer_store %b         |    |
//      3       bulk_wait {read}        |    |
//      4       reduce                       |    |
//      5       buffer_load %b               |
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/uniformity.hpp"
#include "ir/memory/shared_frame.hpp"

namespace tegula::analysis {

/// Spans a user's first access to the end of its last one. Positions count the ops of the function's text, outer ones
/// first. An asynchronous access ends at the wait that completes it, or at the function's end. Memory that a loop
/// touches lives through the loop, unless Reuse::in_loops is asked for and each iteration begins with a store to all of
/// it. Memory that one lane or only some warps of a group touch lives through the op around
/// it: elect, divergent branches and loops. The group cannot meet inside. An mbarrier lives until it is invalidated,
/// memory that peers write through the whole function.
struct LiveRange {
  int first = 0;
  int last = -1;  ///< below first: never
  /// Partitions of warp_specialize that touch it: they run beside each other at any positions.
  std::map<ir::Op const*, std::set<int>> partitions;
};

/// Says whether memory of an iteration may be used again in the same iteration, which costs barriers.
enum class Reuse : std::uint8_t { beside_loops, in_loops };

/// Asynchronous accesses of a device function are over when it returns: its callers' buffers may lie there next.
class Liveness {
 public:
  Liveness(ir::Function const& function, Uniformity const& uniformity, Reuse reuse = Reuse::beside_loops);

  [[nodiscard]] std::vector<ir::SharedUser> const& users() const { return users_; }
  [[nodiscard]] LiveRange const& range(std::size_t user) const { return ranges_[user]; }
  /// Tells whether both hold data at one time.
  [[nodiscard]] bool together(std::size_t a, std::size_t b) const;
  /// Returns a lower bound of the bytes of all allocations.
  [[nodiscard]] std::int64_t max_live_bytes() const;
  /// Prints one line per user: its kind, name, bytes, offset once decided, and range.
  [[nodiscard]] std::string str() const;

 private:
  struct Span {
    int first = 0;
    int last = 0;
  };
  int number(ir::Block const& block, int next);
  [[nodiscard]] Span span(ir::Block const& block) const;
  struct Touch {
    ir::Op const* from = nullptr;
    ir::Op const* to = nullptr;  ///< null: the function's end
  };
  [[nodiscard]] ir::Op const* loop_of_values(std::size_t user) const;
  void touch(std::size_t user, Touch const& at, ir::Op const* fresh);
  void lift(LiveRange& range, ir::Op const& op, bool through_loops, ir::Op const* fresh) const;
  void find_touches(ir::Block const& block);
  void end_barriers();
  void keep_for_peers();

  ir::Function const& function_;
  Uniformity const& uniformity_;
  std::vector<ir::SharedUser> users_;
  std::map<ir::Op const*, std::size_t> user_of_;
  std::vector<LiveRange> ranges_;
  std::vector<std::vector<Touch>> touches_;  ///< by user
  std::map<ir::Op const*, Span> spans_;
  int end_ = 0;
};

}  // namespace tegula::analysis
