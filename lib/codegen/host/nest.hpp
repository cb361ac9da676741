// Emits one fused loop nest over a tile's index space. Private to this folder.
#pragma once

#include <optional>
#include <set>

#include "codegen/host/emitter.hpp"
#include "codegen/host/paths.hpp"

namespace tegula::codegen::host {

/// Says how a nest uses one value at every index of its shape.
struct Sink {
  enum class Kind : std::uint8_t { store, buffer, reduce, scatter };
  Kind kind = Kind::buffer;
  ir::Value const* value = nullptr;
  ir::Op const* op = nullptr;  ///< of store, reduce and scatter
  Buffer target;               ///< of buffer and reduce
};

/// Emits the loops: outer axes one by one, one axis in vectors, unrolled. One part does not need bounds checks, another
/// does. Values that do not change along the vector axis are computed once per row.
class Nest {
 public:
  Nest(FunctionEmitter& emitter, Extents const& shape, std::vector<Sink> sinks);
  void emit();
  /// Asks for the first elements along each axis alone; null: all.
  void limit(std::vector<llvm::Value*> limits) { limits_ = std::move(limits); }
  /// Asks for sums over the axis ahead of the reduced one too, into these targets, one for each sink. Returns false
  /// where the nest's loops do not allow it.
  bool join(std::vector<Buffer> const& targets);
  /// True for a nest of one scatter whose places run along the last axis.
  bool scatters_runs();

 private:
  /// Holds `0 <= offset + (index along axis, or 0) < extent` of one axis of a tensor.
  struct Bound {
    ir::Value const* tensor;
    int tensor_axis;
    ir::Value const* offset;
    int axis;  ///< of the nest; -1: none
    friend auto operator<=>(Bound const&, Bound const&) = default;
  };
  using Map = std::vector<int>;  ///< nest axis per tile axis, -1: index 0

  /// Holds a comparison that is true for a run of the vector axis: operand `moving` grows by 1 from lane to lane, the
  /// other one is the same in a row.
  struct RangeMask {
    ir::Op const* op;
    Map map;
    int moving;
    ir::Predicate predicate;  ///< with operand `moving` on the left
  };

  [[nodiscard]] bool varies(ir::Value const& value, Map const& map) const;
  [[nodiscard]] bool counts(ir::Value const& value, Map const& map) const;
  /// True where the values are too many to emit their code once more for a part of the row.
  [[nodiscard]] bool is_long() const { return scanned_.size() > 200; }
  void find_range_masks();
  /// Holds the place where a range mask changes: false or true from `at` on. Not `exact`: it may change elsewhere too.
  struct MaskEdge {
    llvm::Value *at, *exact;
  };
  MaskEdge edge_of(RangeMask const& mask);
  /// True for a mask that is false behind its edge.
  static bool ends(RangeMask const& mask) {
    return mask.predicate == ir::Predicate::lt || mask.predicate == ir::Predicate::le;
  }
  /// Returns the range mask of an op; null: it is none.
  [[nodiscard]] RangeMask const* range_mask(ir::Op const& op) const;
  /// Holds the loads and range masks on which a value depends that settles: it is the same everywhere behind them.
  struct Settling {
    std::set<ir::Op const*> loads, masks;
    std::map<std::pair<ir::Value const*, Map>, bool> seen;
  };
  bool settles(ir::Value const& value, Map const& map, Settling& needs) const;
  bool op_settles(ir::Op const& op, Map const& map, Settling& needs) const;
  /// Finds whether all sinks' values settle along the vector axis.
  void find_tail();
  llvm::Value* tail_start();
  bool is_zero_behind(ir::Value const& value, Map const& map, std::set<ir::Op const*>& loads) const;
  llvm::Value* outer_end(std::size_t level);
  /// Emits the whole vectors of the row from `position` on, where the values are settled.
  void tail(llvm::AllocaInst* position);
  void tail_sink(std::size_t number, llvm::Value* value, llvm::Value* from, llvm::Value* to);
  void limit_to_masks(llvm::Value*& from, llvm::Value*& to);
  void scan(ir::Value const& value, Map const& map);
  void scan_access(ir::Op const& op, Map const& map, std::vector<Bound>& bounds);
  void prefer(ir::Value const& tensor, Map const& map);
  void prefer(Buffer const& buffer, Map const& map);
  void choose();
  [[nodiscard]] Map whole_map() const;
  int scan_sinks();
  [[nodiscard]] int vector_axis() const;
  [[nodiscard]] int unrolling(int cost) const;
  [[nodiscard]] bool many_strided_loads() const;
  [[nodiscard]] bool takes_vectors(Sink const& sink) const;
  void record() const;
  [[nodiscard]] AccessWidth width_of(ir::Op const& access, Map const& map) const;
  void outer(std::size_t level);
  void row();
  void element(Index const& index);
  void hoist_row(Index index);
  /// Holds the ends of a part of a row along the vector axis.
  struct Span {
    llvm::Value *from, *to;
  };
  Span unchecked_span();
  void unchecked_loop(llvm::AllocaInst* position, Span const& span, int unroll, bool streams, bool in_masks,
                      llvm::Value* settled = nullptr);
  void vectors();
  void hoist(ir::Value const& value, Index const& index, std::map<std::pair<ir::Value const*, Index>, bool>& seen);
  void step(llvm::Value* x, int lanes, int unroll, bool checked);
  void sink(Sink const& sink, std::size_t number, llvm::Value* value, Index const& index, int unrolled);
  [[nodiscard]] int group_size() const { return sinks_.size() == 1 ? sinks_[0].target.group() : 1; }
  llvm::Value* eval_group(ir::Value const& value, Index index);
  void start_rows();
  void finish_rows();
  void round_targets();

  llvm::Value* eval(ir::Value const& value, Index const& index);
  llvm::Value* evaluate(ir::Value const& value, Index const& index);
  llvm::Value* by_one_instruction(ir::Op const& op, Index const& index);
  llvm::Value* iota(ir::Op const& op, Index const& index);
  llvm::Value* table(ir::Op const& op, Index const& index);
  llvm::Value* load(ir::Op const& op, Index const& index);
  llvm::Value* gather(ir::Op const& op, Index const& index);
  [[nodiscard]] bool runs(ir::Op const& op, Map const& map) const;
  /// Holds adjacent elements of a tensor, one a lane: `before` lanes lie ahead of it, and those from `left` on behind.
  struct Run {
    llvm::Value *first, *all, *inside, *before, *left;
  };
  llvm::Value* valid_lanes(Run const& run);
  llvm::Value* scatters_row(Index const& index);
  Run run_at(ir::Op const& op, Index const& index);
  llvm::Value* gather_run(ir::Op const& op, Index const& index);
  void scatter_run(ir::Op const& op, llvm::Value* value, Index const& index);
  llvm::Value* load(Buffer const& buffer, Index const& index);
  void store(ir::Op const& op, llvm::Value* value, Index const& index);
  void store(Buffer const& buffer, llvm::Value* value, Index const& index);
  [[nodiscard]] bool may_stream() const;
  llvm::Value* streamed(llvm::Value* from);
  llvm::Value* held(Buffer const& buffer, llvm::Value* value);
  llvm::Value* combine(ir::Op const& reduce, llvm::Value* x, llvm::Value* y);
  llvm::Value* identity(ir::Op const& reduce, int lanes);
  llvm::Value* across(ir::Op const& reduce, llvm::Value* vector);
  llvm::Value* tensor_offset(Tensor const& tensor, std::vector<llvm::Value*> const& coordinates);
  std::vector<llvm::Value*> coordinates(ir::Op const& op, Index const& index, int& lane_axis);
  llvm::Value* inside(Tensor const& tensor, std::vector<llvm::Value*> const& coordinates, int lane_axis);
  llvm::Value* splat(llvm::Value* value);
  llvm::Type* vector_of(llvm::Type* scalar) {
    return llvm::FixedVectorType::get(scalar, static_cast<unsigned>(lanes_));
  }
  llvm::Value* lane_numbers(llvm::Type* type);
  llvm::Value* per_lane(llvm::Type* type, std::function<llvm::Value*(int)> const& pointer);

  FunctionEmitter& e_;
  llvm::IRBuilder<>& b_;
  Extents shape_;
  std::vector<Sink> sinks_;
  std::vector<Bound> bounds_;        ///< that loads (and unclipped stores) need to hold
  std::vector<Bound> store_bounds_;  ///< of the single store that clips the loops
  std::map<std::pair<ir::Value const*, Map>, bool> scanned_;
  std::vector<std::pair<ir::Op const*, Map>> reads_;     ///< of tensors
  std::vector<std::pair<ir::Value const*, Map>> loads_;  ///< tensors that load reads
  std::vector<int> contiguous_;                          ///< adjacent accesses, per axis
  bool wide_ = false;                                    ///< some element has 8 bytes
  bool chosen_ = false;
  int joined_ = -1;  ///< axis that the accumulators live through, besides the vectors'; -1: none
  bool clipped_ = false;
  std::vector<llvm::Value*> limits_;
  std::vector<std::pair<ir::Op const*, Map>> comparisons_;
  std::vector<RangeMask> range_masks_;
  bool in_masks_ = false;                                             ///< range masks hold in the code being emitted
  mutable std::map<std::pair<ir::Value const*, Map>, bool> varying_;  ///< answers of varies()
  std::optional<Settling> tail_;
  bool in_tail_ = false;  ///< values are settled in the code being emitted
  bool streams_ = false;  ///< the stores being emitted bypass the caches
  int axis_ = -1;         ///< in vectors; -1: none
  int width_ = 1;         ///< lanes of the vectors
  int unroll_ = 1;
  std::vector<llvm::Value*> group_;  ///< rows whose elements one word holds: only of a single sink of packed panels
  bool scalar_tail_ = false;
  int lanes_ = 1;                ///< of the code being emitted
  bool checked_ = true;          ///< loads being emitted test bounds
  llvm::Value* mask_ = nullptr;  ///< active lanes of the code being emitted; null: all
  std::vector<llvm::Value*> lower_, upper_, at_;
  std::vector<std::map<std::pair<ir::Value const*, Index>, llvm::Value*>> known_;
  struct Accumulators {
    std::vector<llvm::AllocaInst*> vectors;
    llvm::AllocaInst* scalar = nullptr;
  };
  std::vector<Accumulators> accumulators_;  ///< per sink; of reductions along axis_
};

}  // namespace tegula::codegen::host
