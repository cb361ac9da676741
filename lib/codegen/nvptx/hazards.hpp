// Where threads of a CTA must meet: shared scratch that is reused, and a tensor that a block both reads and writes, or
// writes twice. Decides at which ops of structured IR a CTA barrier is due; emits nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/op.hpp"

namespace tegula::codegen::nvptx {

/// Accesses since the last barrier.
class Hazards {
 public:
  Hazards() = default;
  /// `scratch_only`: the IR states all barriers, except between exchanges that allocation gave the same scratch.
  explicit Hazards(bool scratch_only) : scratch_only_(scratch_only) {}

  /// True when `op` may touch what an access since the last barrier touched in another thread, one of the two writing.
  [[nodiscard]] bool barrier_before(ir::Op const& op) const;
  /// Records an op, after the barrier before it if one was due. Regions are recorded by their own ops.
  void record(ir::Op const& op);
  /// What may be pending at the start of an iteration of `loop`, given this before it.
  [[nodiscard]] Hazards at_loop_start(ir::Op const& loop) const;
  /// Joins what is pending on two paths.
  void join(Hazards const& other);
  /// What is pending after all ops of a block, its barriers included.
  [[nodiscard]] Hazards after(ir::Block const& block) const;

 private:
  struct Access {
    ir::Op const* op;
    ir::Op const* loop;  ///< the outermost loop of which it belongs to an earlier turn; null: none
    friend bool operator==(Access const&, Access const&) = default;
  };
  struct Interval {
    std::int64_t begin, end;
    friend bool operator==(Interval const&, Interval const&) = default;
  };
  [[nodiscard]] bool tracked(ir::Op const& op) const;

  std::vector<Access> global_;
  std::vector<Interval> shared_;
  bool scratch_only_ = false;
};

}  // namespace tegula::codegen::nvptx
