// Defines the inside of the interpreter: the data of one launch, and an agent, the unit that a schedule picks. Here an
// agent is one block of the grid and runs to its end. Its state is a stack of frames, so that ops which wait can let
// others run.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/block_order.hpp"
#include "sim/interpreter.hpp"
#include "sim/shadow.hpp"

namespace tegula::sim {

class Agent;

/// Holds the buffers in global memory, by the op that allocates each.
using GlobalBuffers = std::map<ir::Op const*, std::vector<std::byte>>;

/// Holds one launch.
class Launch {
 public:
  Launch(ir::Function const& kernel, Arguments const& arguments, Options const& options);

  void run_blocks();
  [[nodiscard]] Result take_result();

  [[nodiscard]] Options const& options() const { return options_; }
  [[nodiscard]] Precision precision() const { return options_.precision; }
  [[nodiscard]] ir::Function const& kernel() const { return kernel_; }
  [[nodiscard]] Arguments const& arguments() const { return arguments_; }
  [[nodiscard]] Grid const& grid() const { return result_.grid; }
  [[nodiscard]] int number(ir::Value const& value) const { return numbers_.at(&value); }
  [[nodiscard]] int value_count() const { return static_cast<int>(numbers_.size()); }
  void count_step() { ++result_.steps; }
  [[nodiscard]] std::int64_t steps() const { return result_.steps; }
  /// Returns the bytes of a buffer in global memory: zero at first, one for all blocks.
  [[nodiscard]] std::vector<std::byte>& buffer(ir::Op const& alloc);
  /// Keeps these buffers in another place, which outlives the launch.
  void keep_buffers_in(GlobalBuffers& buffers) { buffers_ = &buffers; }
  void count_block() { ++result_.blocks; }
  void set_grid(Grid const& grid) { result_.grid = grid; }
  /// Numbers the results of an op that was appended after the launch began.
  void number(ir::Op const& op);

  /// Tells whether places follow from an integer.
  [[nodiscard]] bool is_index(ir::Value const& value);

  /// Files a report; further ones of its kind at the same two ops are counted. `text` is called for the first only.
  template <class Text>
  void report(ReportKind kind, ir::Op const* op, ir::Op const* other, Grid const& block, Grid const& other_block,
              Text&& text) {
    if (Report* known = find(kind, op, other))
      ++known->times;
    else
      add(kind, op, other, block, other_block, text());
  }

  /// Notes an access for race detection.
  void note_store(Agent const& agent, ir::Op const& op, int tensor, void const* address,
                  std::int64_t const* coordinates);
  void note_load(Agent const& agent, ir::Op const& op, int tensor, void const* address,
                 std::int64_t const* coordinates);
  /// Follows the order that an atomic of an element makes between blocks.
  void follow(Agent const& agent, void const* address, ir::MemoryOrder order);
  /// Counts an op that changes memory.
  void note_change() {
    ++changes_;
    acquired_in_vain_ = 0;
  }
  /// Counts an atomic that acquires and changes nothing: a block that goes on doing that waits for another one.
  void note_vain_acquire(ir::Op const& op) {
    ++acquired_in_vain_;
    last_acquire_ = op.where();
  }
  /// True if loads of the tensor must be noted: something written overlaps it.
  [[nodiscard]] bool loads_noted(int tensor) const { return loads_noted_[static_cast<std::size_t>(tensor)]; }
  [[nodiscard]] std::string element_text(int tensor, std::int64_t const* coordinates) const;

 private:
  friend class Agent;
  void number_block(ir::Block const& block);
  void check_arguments() const;
  void find_overlaps();
  /// Visits the parts of an argument's element at an address. Tensors that overlap part their elements alike.
  template <class Visit>
  void each_part(int argument, void const* address, Visit const& visit) const;
  void find_unwritten();
  Report* find(ReportKind kind, ir::Op const* op, ir::Op const* other);
  void add(ReportKind kind, ir::Op const* op, ir::Op const* other, Grid const& block, Grid const& other_block,
           std::string text);
  /// Tells whether an access, or none, comes before another one.
  [[nodiscard]] bool ordered(Shadow::Access const& earlier, Shadow::Access const& later) const;
  void race(ReportKind kind, Agent const& agent, ir::Op const& op, Shadow::Access const& earlier, int tensor,
            std::int64_t const* coordinates);

  ir::Function const& kernel_;
  Arguments const& arguments_;
  Options options_;
  Result result_;
  std::unordered_map<ir::Value const*, int> numbers_;
  std::optional<std::set<ir::Value const*>> indices_;  ///< found when first asked for
  std::vector<bool> loads_noted_;                      ///< by argument
  std::vector<std::int64_t> part_bytes_;               ///< by argument
  Shadow shadow_;
  BlockOrder order_;
  GlobalBuffers own_buffers_;
  GlobalBuffers* buffers_ = &own_buffers_;
  int acquired_in_vain_ = 0;  ///< acquires in a row that changed no element
  std::int64_t changes_ = 0;  ///< stores and changes by atomics
  location last_acquire_;
  struct Filed {
    ReportKind kind;
    ir::Op const* op;
    ir::Op const* other;
    std::size_t at;  ///< in result_.reports; npos: left out
  };
  std::vector<Filed> filed_;
  Report left_out_;  ///< stands for those beyond the most that are kept
};

/// Points into one block of ops. The frame below a called function's is the caller's.
struct Frame {
  ir::Block const* block;
  ir::Block::iterator at;
  ir::Op const* owner;     ///< the for, if or call that entered; null for the kernel's body
  std::int64_t index = 0;  ///< of a for
  std::int64_t upper = 0;
  std::int64_t step = 0;
};

/// Names the values that an agent holds: those of a whole block, or of one warp of it. Tiles of a warp are fragments of
/// 32 times as many elements as their layout has registers.
enum class Holds : std::uint8_t { tiles, fragments };

/// Executes one block of the grid, or holds the values of one of its warps (lib/sim/block).
class Agent {
 public:
  Agent(Launch& launch, std::int64_t linear_block, Holds holds = Holds::tiles);

  /// Executes the next op.
  void step();
  /// Executes an op.
  void execute(ir::Op const& op);
  /// Makes room for values that were numbered since.
  void make_room() { slots_.resize(static_cast<std::size_t>(launch_.value_count())); }
  [[nodiscard]] bool finished() const { return frames_.empty(); }

  [[nodiscard]] Launch& launch() const { return launch_; }
  [[nodiscard]] Precision precision() const { return launch_.precision(); }
  [[nodiscard]] Grid const& block() const { return block_; }
  [[nodiscard]] std::int64_t linear_block() const { return linear_block_; }

  [[nodiscard]] Value const& value(ir::Value const& value) const {
    return slots_[static_cast<std::size_t>(launch_.number(value))].value;
  }
  void set(ir::Value const& value, Value contents) {
    slots_[static_cast<std::size_t>(launch_.number(value))].value = std::move(contents);
  }
  [[nodiscard]] std::int64_t index(ir::Value const& value) const { return *this->value(value).data<std::int64_t>(); }
  [[nodiscard]] bool condition(ir::Value const& value) const { return *this->value(value).data<std::uint8_t>() != 0; }
  /// Makes a fresh value of the type of op's result.
  [[nodiscard]] Value fresh(ir::Op const& op) const { return fresh(op.result()->type()); }
  [[nodiscard]] Value fresh(ir::Type const& type) const;
  void set_index(ir::Value const& value, std::int64_t number);

  /// Returns the number of a tensor value: that of the argument, or a larger one for a view of it.
  [[nodiscard]] int tensor(ir::Value const& value) const {
    return slots_[static_cast<std::size_t>(launch_.number(value))].tensor;
  }
  /// Makes the value a slice of tensor `of`: the elements begin .. end - 1 of an axis, which lie in it.
  void set_slice(ir::Value const& value, int of, int axis, std::int64_t begin, std::int64_t end);
  /// Makes the value a view of tensor `of` whose axis i is axis permutation[i] of it.
  void set_permuted(ir::Value const& value, int of, Extents const& permutation);
  /// Returns the extents, strides and address of a tensor by its number.
  [[nodiscard]] Tensor const& view(int tensor) const {
    auto const number = static_cast<std::size_t>(tensor), arguments = launch_.arguments().size();
    return number < arguments ? launch_.arguments()[number].tensor : views_[number - arguments].view;
  }
  /// Returns the argument whose memory a tensor names.
  [[nodiscard]] int argument(int tensor) const {
    auto const number = static_cast<std::size_t>(tensor), arguments = launch_.arguments().size();
    return number < arguments ? tensor : views_[number - arguments].argument;
  }
  /// Names an element of a tensor as one of its argument.
  [[nodiscard]] std::string element_text(int tensor, std::int64_t const* coordinates) const;
  /// Gives `to` the contents of `from`, tensor or not.
  void copy(ir::Value const& from, ir::Value const& to);
  [[nodiscard]] bool is_index(ir::Value const& value) { return launch_.is_index(value); }
  /// Forgets a value that is not used again.
  void forget(ir::Value const& value) { slots_[static_cast<std::size_t>(launch_.number(value))].value = {}; }

  void enter(Frame const& frame) { frames_.push_back(frame); }
  [[nodiscard]] Frame& frame() { return frames_.back(); }
  void leave() { frames_.pop_back(); }
  /// Ends the agent.
  void finish() { frames_.clear(); }

  template <class Text>
  void report(ReportKind kind, ir::Op const& op, Text&& text) {
    launch_.report(kind, &op, nullptr, block_, block_, std::forward<Text>(text));
  }

 private:
  struct Slot {
    Value value;
    int tensor = -1;
  };
  struct ViewOfArgument {
    Tensor view;
    int argument = -1;
    Extents origin;  ///< in the argument, by its axes
    Extents axes;    ///< of the argument, by those of the view
  };
  /// Returns the view that tensor `of` is.
  [[nodiscard]] ViewOfArgument view_of(int of) const;
  void set_view(ir::Value const& value, ViewOfArgument view);
  Launch& launch_;
  std::int64_t linear_block_;
  Holds holds_;
  Grid block_;
  std::vector<Slot> slots_;
  std::vector<ViewOfArgument> views_;
  std::vector<Frame> frames_;
};

/// Prints "(3, 0, 1)".
std::string block_text(Grid const& block);

/// Returns the place in the grid of a linear block number: axis 0 fastest.
Grid block_of(std::int64_t linear, Grid const& grid);
/// Throws UserError for more blocks than a run counts.
std::int64_t block_count(ir::Function const& kernel, Grid const& grid);

}  // namespace tegula::sim
