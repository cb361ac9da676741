// Makes the parts of a kernel around a loop whose iterations overlap; ir::LoopRegion names them.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"

namespace tegula::transform {

/// Finds the first op of a kernel's body that has an effect: after facts of the launch, buffers and computed values.
ir::Op& first_effect(ir::Function const& function);

/// Tells whether a loop stands in the block, at any depth.
bool holds_a_loop(ir::Block const& block);

/// Names the part that a loop, a branch or an elected region belongs to; other ops have no name.
void mark(ir::Op& op, ir::LoopRegion region);

/// Makes the region in which one lane works before or after a pipelined loop: `elect {region = ...} { fill, yield }`.
template <class Fill>
ir::Op& elected(ir::Builder& builder, ir::LoopRegion region, Fill&& fill) {
  ir::Op& elect = builder.op(ir::ElectOp{}, {}, {});
  mark(elect, region);
  ir::Builder inside(elect.add_block());
  fill(inside);
  inside.op(ir::YieldOp{}, {}, {});
  return elect;
}

/// Pairs an op of a loop's body with its stage: the op runs that many turns after stage 0 of its iteration.
struct StagedOp {
  ir::Op* op = nullptr;
  int stage = 0;
};

/// Chooses where the last iterations run, whose early stages ran in the turns before.
enum class Tail : std::uint8_t {
  epilogue,    ///< code of their own, without the early stages
  predicated,  ///< turns of the main loop, whose early stages are under a test
};

/// Overlaps the iterations of a loop: turn t runs stage s of iteration t - s.
///
///   for %i = 0 to n { a; b }   with a in stage 0, b in stage D:
///
///     if 0 < n { a(0) } ... if D-1 < n { a(D-1) }       prologue
///     for %i = 0 to n - D { b(i); a(i + D) }            main, in the order that is given
///     for %i = (where that stopped) to n { b(i) }       epilogue; without it main runs to n,
///                                                       and a(i + D) under a test
///
/// The main loop carries values that ops of a later stage read. Ops that are not listed are pure, and are computed
/// again in each stage that needs them. So are counters: carried values to which an iteration adds a constant. With
/// more than two stages in use, or values between stages, the epilogue's turns are straight-line code instead of a
/// loop. If the trip count is a constant, no tests are emitted.
class LoopPipeline {
 public:
  /// Takes the listed ops in the `order` in which a turn of the main loop runs them. Ops of one stage keep their order
  /// in the body.
  LoopPipeline(ir::Op& loop, std::vector<StagedOp> order);

  /// Explains why the stages cannot be taken apart; empty: they can.
  [[nodiscard]] std::string const& error() const { return error_; }
  /// Replaces the loop. Requires that error() is empty.
  void rewrite(Tail tail);

  /// Returns the constant that one iteration adds to carried value `carry`; nothing if it adds anything else.
  static std::optional<std::int64_t> counts_by(ir::Loop const& loop, int carry);

 private:
  /// Holds a value that an iteration passes to the next one.
  struct Carry {
    ir::Value* argument = nullptr;
    ir::Value* next = nullptr;
    int home = 0;  ///< the stage that computes it
    std::optional<std::int64_t> by;
  };
  /// Holds a value that later stages of the same iteration read, up to `turns` turns later.
  struct Crossing {
    ir::Value* value = nullptr;
    int home = 0;
    int turns = 0;
  };
  /// Holds the values between two turns.
  struct State {
    std::vector<ir::Value*> carried;               ///< of each Carry, after the last iteration that computed it
    std::vector<std::vector<ir::Value*>> history;  ///< of each Crossing, that of one turn ago first
  };
  /// Describes one turn: stage s runs for the iteration that is `ahead - s` behind the base.
  struct Turn {
    ir::Value* base = nullptr;
    std::vector<ir::Value*> counters;  ///< of each Carry at the base
    int ahead = 0;
    int first = 0, last = 0;  ///< stages that run
    int guarded_below = 0;    ///< stages under a test of the trip count
    ir::LoopRegion region = ir::LoopRegion::none;
  };
  using Group = std::vector<ir::Op*>;

  [[nodiscard]] ir::Block& body() const { return loop_.body(); }
  [[nodiscard]] bool listed(ir::Op const& op) const { return stage_.count(&op) != 0; }
  [[nodiscard]] bool home_op(ir::Value const& value) const;
  void analyse();
  void need(ir::Value& value, int stage, std::string const& subject);
  void need_operands(ir::Op& op, int stage);
  void cross(ir::Value& value, int from, int to);
  void refuse(std::string text);

  static ir::Value* offset(ir::Builder& builder, ir::Value* base, ir::Value* by);
  void run_turn(ir::Builder& builder, Turn const& turn, State& state);
  void run_group(ir::Builder& builder, Turn const& turn, State& state, int stage, Group const& group,
                 bool last_of_stage, ir::ValueMap& values);
  void emit(ir::Builder& builder, ir::Op& op, ir::ValueMap& values, ir::LoopRegion region);
  void materialise_operands(ir::Builder& builder, ir::Op& op, ir::ValueMap& values);
  ir::Value* materialise(ir::Builder& builder, ir::Value& value, ir::ValueMap& values);
  [[nodiscard]] bool leaves_group(ir::Value const& value, int stage, Group const& group, bool last_of_stage) const;
  void loop_of_turns(ir::Builder& builder, ir::Value* lower, ir::Value* upper, State& state, Turn turn);

  ir::Loop loop_;
  std::vector<StagedOp> order_;
  std::unordered_map<ir::Op const*, int> stage_;
  int depth_ = 0;  ///< the last stage
  std::vector<Carry> carries_;
  std::vector<Crossing> crossings_;
  std::set<std::pair<ir::Op const*, int>> seen_;  ///< ops that are not listed, and the stages that need them
  std::string error_;
  std::vector<ir::Value*> steps_;  ///< the loop's step, so many times; none of 0
};

}  // namespace tegula::transform
