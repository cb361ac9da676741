// Runs one warp of a simulated kernel: its values, its place in the IR, and the lanes that execute.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "sim/block/engine.hpp"

namespace tegula::sim::block {

/// Tells how an op goes on.
enum class Progress : std::uint8_t {
  done,   ///< nothing
  turn,   ///< nothing, but other agents may go first
  again,  ///< other agents may go first, then the op goes on with its next step
};

/// Allocates the registers of a warp, in bytes of its register space; they are released when the last value in them
/// ends.
class RegisterFile {
 public:
  struct Piece {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  /// Takes the piece that begins at `home`, if it is free and of that size. Otherwise takes the last released piece of
  /// that size, or a fresh one.
  std::shared_ptr<Piece const> take(std::uint64_t bytes, std::uint64_t home = none);
  static constexpr std::uint64_t none = ~std::uint64_t{0};

 private:
  struct Pool {
    std::map<std::uint64_t, std::vector<std::uint64_t>> free;
    std::uint64_t next = 0;
  };
  std::shared_ptr<Pool> pool_ = std::make_shared<Pool>();
};
using Registers = std::shared_ptr<RegisterFile::Piece const>;

/// Holds the properties of a value besides its elements.
struct Handle {
  View view;                           ///< of a shared buffer
  std::uint32_t mbarrier = 0;          ///< byte offset of the first object
  ir::Op const* tensor_map = nullptr;  ///< the op that gave it
  Registers registers;                 ///< of a value that tensor cores touch
  machine::Time ready = 0;
};

/// Names the warps that run a block together: the CTA, or one group of a partition.
struct Group {
  int first = 0;  ///< in the CTA
  int warps = 1;
  bool specialized = false;
};

class WarpProgram final : public machine::Program {
 public:
  /// Begins with `cta` in the machine, which is `block` of the grid.
  WarpProgram(Engine& engine, machine::Warp warp, int cta, int block, int index);
  bool step() override;

  // --- what ops act on -----------------------------------------------------------------------------------------------
  [[nodiscard]] Engine& engine() { return engine_; }
  [[nodiscard]] Plan const& plan() const { return engine_.plan(); }
  [[nodiscard]] machine::Warp& warp() { return warp_; }
  [[nodiscard]] Agent& agent() { return agent_; }
  [[nodiscard]] int cta() const { return cta_; }
  [[nodiscard]] machine::Lanes lanes() const { return frames_.back().lanes; }
  [[nodiscard]] Group const& group() const { return frames_.back().group; }
  /// Returns the number of this warp in its group.
  [[nodiscard]] int index() const { return index_ - group().first; }
  [[nodiscard]] machine::ActionSite const& site() const { return plan_of_op_->site; }
  /// Counts the turns of an op that takes several, from 0.
  [[nodiscard]] int turn() const { return turn_; }
  /// Returns the data that an op keeps from its first turn to its last.
  template <class Kept>
  [[nodiscard]] Kept& kept() {
    if (!kept_) kept_ = std::make_shared<Kept>();
    return *static_cast<Kept*>(kept_.get());
  }

  [[nodiscard]] Handle& handle(ir::Value const& value) {
    return handles_[static_cast<std::size_t>(engine_.launch().number(value))];
  }
  [[nodiscard]] View const& view(ir::Value const& value) { return handle(value).view; }
  [[nodiscard]] machine::MbarrierAddress mbarrier(ir::Value const& value) { return {cta_, handle(value).mbarrier}; }
  [[nodiscard]] Value const& value(ir::Value const& value) const { return agent_.value(value); }
  void set(ir::Value const& value, Value contents) { agent_.set(value, std::move(contents)); }
  /// Returns an integer or boolean scalar.
  [[nodiscard]] std::int64_t integer(ir::Value const& value) const;
  /// Returns the integers that these operands hold.
  [[nodiscard]] Extents integers(std::span<ir::Value* const> values) const;
  /// Returns the CTA of a rank in the cluster; nothing, with a report, if there is none.
  [[nodiscard]] std::optional<int> peer(ir::Value const& rank);
  /// Returns this warp's fragment of a tile type.
  [[nodiscard]] Fragment const& fragment(ir::Type const& type);
  /// Returns the fragment of another warp of the group.
  [[nodiscard]] Fragment const& fragment(ir::Type const& type, int warp);
  /// Returns the place in the CTA's shared memory where the buffer or the exchange of an op begins. Throws UserError in
  /// a device function whose shared memory no pass has placed.
  [[nodiscard]] std::uint32_t shared_place(ir::Op const& user) const;
  [[nodiscard]] std::byte* shared_bytes() { return engine_.shared_bytes(cta_); }

  /// Returns the registers of a value that a tensor core touches; they are taken on first use.
  Registers const& registers(ir::Value const& value);
  /// Gives `to` the value, handle and registers of `from`.
  void pass(ir::Value const& from, ir::Value const& to);

  // --- control
  // ---------------------------------------------------------------------------------------------------------
  struct Frame {
    ir::Block const* block = nullptr;
    ir::Block::iterator at = ir::Block::iterator({});
    ir::Op const* owner = nullptr;  ///< null for the kernel's body
    machine::Lanes lanes = machine::all_lanes;
    Group group;
    std::int64_t index = 0;  ///< of a for
    std::int64_t upper = 0;
    std::int64_t step = 0;
  };
  /// Enters a block of `owner` with the lanes and group of the frame above, unless said otherwise.
  Frame& enter(ir::Block const& block, ir::Op const& owner);
  [[nodiscard]] Frame& frame() { return frames_.back(); }
  /// Leaves the block; the values that end with the op around it are forgotten.
  void leave();
  void finish() { frames_.clear(); }
  /// Forgets the values that end with an op.
  void forget(OpPlan const& plan);
  void forget(ir::Value const& value);

  /// Holds a value with all that belongs to it, on its way to another name.
  struct Carried {
    Value value;
    Handle handle;
  };
  /// Takes a value to pass it on at `op`. If the value lives on, a copy in other registers is passed on.
  Carried take(ir::Op const& op, ir::Value const& value);
  void give(ir::Value const& to, Carried carried);

 private:
  /// Lets virtual time pass until the op's operands are ready and its instructions have started.
  void pass_time(ir::Op const& op, OpCost const& cost);
  void before(OpPlan const& plan);
  void after(OpPlan const& plan);

  Engine& engine_;
  machine::Warp warp_;
  Agent agent_;
  int cta_;
  int index_;
  RegisterFile file_;
  std::vector<Handle> handles_;
  /// Holds, by value, the first register that it took last: as with PTX's registers, a value keeps its registers from
  /// iteration to iteration.
  std::vector<std::uint64_t> homes_;
  std::vector<Frame> frames_;
  ir::Op const* op_ = nullptr;  ///< under way
  OpPlan const* plan_of_op_ = nullptr;
  int turn_ = 0;
  machine::Time ready_ = 0;  ///< of the op's results
  std::shared_ptr<void> kept_;
};

}  // namespace tegula::sim::block
