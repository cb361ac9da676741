// Emits the loops of a nest: chooses the axis that runs in vectors, the clipped loops, and the part without checks.
#include "codegen/host/nest.hpp"
#include "codegen/host/packing.hpp"

#include <algorithm>
#include <bit>

namespace tegula::codegen::host {

namespace {

constexpr std::int64_t cache_line = 64;
/// Sets the size of a tensor that is written past the caches: most of the last cache of a desktop CPU.
constexpr std::int64_t streamed_bytes = std::int64_t{24} << 20;

}  // namespace

Nest::Nest(FunctionEmitter& emitter, Extents const& shape, std::vector<Sink> sinks)
    : e_(emitter),
      b_(emitter.b),
      shape_(shape),
      sinks_(std::move(sinks)),
      contiguous_(static_cast<std::size_t>(shape.size()), 0) {}

// --- what the nest touches -----------------------------------------------------------------------------------

void Nest::prefer(ir::Value const& tensor, Map const& map) {
  if (!map.empty() && map.back() >= 0 && e_.tensor(tensor).unit_inner)
    contiguous_[static_cast<std::size_t>(map.back())] += 1;
}

void Nest::prefer(Buffer const& buffer, Map const& map) {
  for (std::size_t axis = 0; axis < map.size(); ++axis)
    if (map[axis] >= 0 && FunctionEmitter::contiguous(buffer, static_cast<int>(axis)))
      contiguous_[static_cast<std::size_t>(map[axis])] += 1;
}

void Nest::scan_access(ir::Op const& op, Map const& map, std::vector<Bound>& bounds) {
  ir::Value const& tensor = *op.in("tensor");
  int const rank = tensor.type().rank();
  int const leading = rank - static_cast<int>(map.size());
  for (int axis = 0; axis < rank; ++axis) {
    Bound const bound{&tensor, axis, op.all("offsets")[static_cast<std::size_t>(axis)],
                      axis < leading ? -1 : map[static_cast<std::size_t>(axis - leading)]};
    if (std::find(bounds.begin(), bounds.end(), bound) == bounds.end()) bounds.push_back(bound);
  }
}

void Nest::scan(ir::Value const& value, Map const& map) {
  if (!scanned_.emplace(std::make_pair(&value, map), true).second) return;
  if (value.type().element() == Element::f64) wide_ = true;
  if (Buffer const* buffer = e_.buffer_of(value)) return prefer(*buffer, map);
  if (e_.panels_of(value) != nullptr) return;
  ir::Op const& op = *value.defining_op();
  if (reads_tensor(op)) reads_.emplace_back(&op, map);
  if (op.is<ir::CompareOp>()) comparisons_.emplace_back(&op, map);
  if (op.is<ir::LoadOp>()) {
    if (value.type().element() == Element::i64) wide_ = true;
    scan_access(op, map, bounds_);
    loads_.emplace_back(op.in<ir::LoadOp>("tensor"), map);
    prefer(*op.in<ir::LoadOp>("tensor"), map);
    return;
  }
  for (int i = 0; i < op.operand_count(); ++i)
    if (op.operand(i)->type().is_tile()) scan(*op.operand(i), operand_index(op, i, map, -1));
}

/// Returns the nest's axis for each axis of its shape; axes of extent 1 have index 0.
Nest::Map Nest::whole_map() const {
  Map whole;
  for (int axis = 0; axis < shape_.size(); ++axis) whole.push_back(shape_[axis] == 1 ? -1 : axis);
  return whole;
}

/// Scans what the sinks touch; returns the cost of their values.
int Nest::scan_sinks() {
  Map const whole = whole_map();
  int cost = 0;
  for (Sink const& sink : sinks_) {
    scan(*sink.value, whole);
    cost += e_.context.plan.cost(*sink.value);
    if (sink.kind == Sink::Kind::store) {
      scan_access(*sink.op, whole, clipped_ ? store_bounds_ : bounds_);
      prefer(*sink.op->in<ir::StoreOp>("tensor"), whole);
    } else if (sink.kind == Sink::Kind::buffer) {
      prefer(sink.target, whole);
    } else if (sink.kind == Sink::Kind::scatter) {
      for (ir::Value const* index : sink.op->all("indices"))
        if (index->type().is_tile()) scan(*index, whole);
    }
  }
  return cost;
}

/// Finds the axis that runs in vectors: the innermost one with the most adjacent accesses; -1: none.
int Nest::vector_axis() const {
  if (group_size() > 1) return 1;  // adjacent k are joined by lanes
  if (sinks_[0].kind == Sink::Kind::scatter) return shape_.size() - 1;
  int best = -1;
  for (int axis = shape_.size() - 1; axis >= 0; --axis) {
    if (shape_[axis] == 1) continue;
    if (best < 0 || (contiguous_[static_cast<std::size_t>(axis)] > contiguous_[static_cast<std::size_t>(best)] &&
                     shape_[axis] >= 4))
      best = axis;
  }
  return best;
}

/// Returns the vectors of one iteration, fewer for values of a higher cost.
int Nest::unrolling(int cost) const {
  std::int64_t const extent = shape_[axis_];
  int const wanted = cost <= 6 ? 4 : cost <= 40 ? 2 : 1;
  int result = 1;
  while (result * 2 <= wanted && result * 2 * width_ <= extent &&
         (extent % width_ != 0 || extent / width_ % (result * 2) == 0))
    result *= 2;
  return result;
}

/// Tells whether loads test the lanes of a checked vector one by one, so many that the code would be too long.
bool Nest::many_strided_loads() const {
  constexpr int max_strided = 16;
  int strided = 0;
  for (auto const& [tensor, map] : loads_)
    for (std::size_t axis = 0; axis < map.size(); ++axis)
      strided += map[axis] == axis_ && (axis + 1 != map.size() || !e_.tensor(*tensor).unit_inner);
  return strided > max_strided;
}

/// Tells whether a sink's elements along the vector axis lie one after the other, or become one.
bool Nest::takes_vectors(Sink const& sink) const {
  if (sink.kind == Sink::Kind::store)
    return whole_map().back() == axis_ && e_.tensor(*sink.op->in<ir::StoreOp>("tensor")).unit_inner;
  if (sink.kind == Sink::Kind::scatter) return true;
  bool const reduced = sink.kind == Sink::Kind::reduce && sink.op->as<ir::ReduceOp>().axis == axis_;
  return reduced || FunctionEmitter::contiguous(sink.target, axis_);
}

void Nest::choose() {
  clipped_ = sinks_.size() == 1 && sinks_[0].kind == Sink::Kind::store;
  int const cost = scan_sinks();
  axis_ = vector_axis();
  varying_.clear();
  if (axis_ < 0) return;
  find_range_masks();
  std::int64_t const extent = shape_[axis_];
  std::int64_t const native = e_.context.target.vector_bytes / (wide_ ? 8 : 4);
  width_ = static_cast<int>(
      std::min<std::int64_t>(native, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(extent)))));
  unroll_ = unrolling(cost);
  find_tail();
  scalar_tail_ = many_strided_loads() ||
                 !std::all_of(sinks_.begin(), sinks_.end(), [&](Sink const& sink) { return takes_vectors(sink); });
}

// --- loops ---------------------------------------------------------------------------------------------------

/// States the paths of the nest's loads and stores.
void Nest::record() const {
  Map every;
  for (int axis = 0; axis < shape_.size(); ++axis) every.push_back(axis);
  for (auto const& [op, map] : reads_) record_access(e_.context.paths, *op, width_of(*op, map));
  for (Sink const& sink : sinks_)
    if (sink.kind == Sink::Kind::store || sink.kind == Sink::Kind::scatter)
      record_access(e_.context.paths, *sink.op, width_of(*sink.op, every));
}

AccessWidth Nest::width_of(ir::Op const& access, Map const& map) const {
  if (access.is<ir::GatherOp>() || access.is<ir::ScatterOp>()) {
    if (runs(access, map)) return {width_, {}};
    return {1, "each element has indices of its own"};
  }
  if (axis_ < 0) return {1, "one element"};
  if (std::find(map.begin(), map.end(), axis_) == map.end()) return {1, "one element serves a whole vector"};
  if (map.back() != axis_) return {1, "vectors run along another axis than the tensor's last one"};
  if (!e_.tensor(*access.in("tensor")).unit_inner) return {1, "the last axis is not known to have stride 1"};
  return {width_, {}};
}

bool Nest::join(std::vector<Buffer> const& targets) {
  choose();
  chosen_ = true;
  int const outer = shape_.size() - 2;
  if (axis_ != outer + 1 || width_ == 1 || scalar_tail_ || shape_[outer] == 1) return false;
  joined_ = outer;
  for (std::size_t i = 0; i < sinks_.size(); ++i) sinks_[i].target = targets[i];
  return true;
}

void Nest::emit() {
  if (!chosen_) choose();
  record();
  for (int axis = 0; axis < shape_.size(); ++axis) {
    lower_.push_back(e_.i64(0));
    llvm::Value* const limit = limits_.empty() ? nullptr : limits_[static_cast<std::size_t>(axis)];
    upper_.push_back(limit == nullptr ? e_.i64(shape_[axis]) : e_.smin(limit, e_.i64(shape_[axis])));
    at_.push_back(e_.i64(0));
  }
  for (Sink const& sink : sinks_) {
    Accumulators accumulators;
    if (sink.kind == Sink::Kind::reduce && (sink.op->as<ir::ReduceOp>().axis == axis_ || axis_ < 0)) {
      llvm::Type* const type = e_.arith.register_type(sink.value->type().element());
      if (axis_ >= 0 && width_ > 1)
        for (int i = 0; i < unroll_; ++i)
          accumulators.vectors.push_back(e_.variable(llvm::FixedVectorType::get(type, static_cast<unsigned>(width_))));
      if (scalar_tail_ || accumulators.vectors.empty()) accumulators.scalar = e_.variable(type);
    } else if (sink.kind == Sink::Kind::reduce) {
      // Rows are combined in memory, starting from the identity.
      Buffer const& target = sink.target;
      std::int64_t const bytes = e_.buffer_bytes(target);
      int const size = e_.storage_bytes(target.element);
      int const lanes = static_cast<int>(cache_line) / size;  // buffers are whole cache lines
      llvm::Value* start = identity(*sink.op, lanes);
      if (target.element == Element::boolean)
        start = b_.CreateZExt(start, start->getType()->getWithNewType(b_.getInt8Ty()));
      llvm::Align const align(static_cast<std::uint64_t>(size));
      e_.loop(e_.i64(0), e_.i64(bytes / size), e_.i64(lanes), [&](llvm::Value* i) {
        llvm::Value* const to = b_.CreateGEP(e_.storage_type(target.element), target.pointer, i);
        b_.CreateAlignedStore(start, to, align);
      });
    }
    accumulators_.push_back(std::move(accumulators));
  }
  if (!clipped_) {
    outer(0);
    round_targets();
    return;
  }
  // With one store, the loops run over the part of the tile that lies inside the tensor.
  llvm::Value* some = b_.getTrue();
  for (Bound const& bound : store_bounds_) {
    llvm::Value* const offset = e_.scalar(*bound.offset);
    llvm::Value* const extent = e_.tensor(*bound.tensor).extents[static_cast<std::size_t>(bound.tensor_axis)];
    if (bound.axis < 0) {
      some = b_.CreateAnd(some, b_.CreateICmpULT(offset, extent));
      continue;
    }
    auto const axis = static_cast<std::size_t>(bound.axis);
    lower_[axis] = e_.smax(e_.i64(0), b_.CreateNeg(offset));
    upper_[axis] = e_.smax(e_.i64(0), e_.smin(e_.i64(shape_[bound.axis]), b_.CreateSub(extent, offset)));
  }
  e_.when(some, [&] { outer(0); });
}

/// Rounds, once, sums of 16-bit floats that were combined in memory in f32.
void Nest::round_targets() {
  for (std::size_t i = 0; i < sinks_.size(); ++i) {
    Sink const& sink = sinks_[i];
    bool const in_memory =
        sink.kind == Sink::Kind::reduce && accumulators_[i].vectors.empty() && accumulators_[i].scalar == nullptr;
    if (!in_memory || bits(sink.target.element) != 16) continue;
    e_.loop(e_.i64(0), e_.i64(e_.buffer_bytes(sink.target) / 4), e_.i64(1), [&](llvm::Value* at) {
      llvm::Value* const pointer = b_.CreateGEP(b_.getFloatTy(), sink.target.pointer, at);
      b_.CreateStore(e_.arith.round_to(sink.target.element, b_.CreateLoad(b_.getFloatTy(), pointer)), pointer);
    });
  }
}

void Nest::outer(std::size_t level) {
  if (level == lower_.size()) return row();
  if (static_cast<int>(level) == axis_ || shape_[static_cast<int>(level)] == 1) return outer(level + 1);
  bool const joined = static_cast<int>(level) == joined_;
  if (joined) start_rows();
  e_.loop(lower_[level], outer_end(level), e_.i64(level == 0 ? group_size() : 1), [&](llvm::Value* i) {
    at_[level] = i;
    outer(level + 1);
    at_[level] = e_.i64(0);
  });
  if (joined) finish_rows();
}

void Nest::start_rows() {
  for (std::size_t i = 0; i < sinks_.size(); ++i) {
    for (llvm::AllocaInst* vector : accumulators_[i].vectors) b_.CreateStore(identity(*sinks_[i].op, width_), vector);
    if (accumulators_[i].scalar != nullptr) b_.CreateStore(identity(*sinks_[i].op, 1), accumulators_[i].scalar);
  }
}

void Nest::finish_rows() {
  for (std::size_t i = 0; i < sinks_.size(); ++i) {
    Accumulators const& accumulators = accumulators_[i];
    if (accumulators.vectors.empty() && accumulators.scalar == nullptr) continue;
    ir::Op const& reduce = *sinks_[i].op;
    std::vector<llvm::Value*> parts;
    for (llvm::AllocaInst* vector : accumulators.vectors) parts.push_back(e_.get(vector));
    while (parts.size() > 1) {
      std::vector<llvm::Value*> half;
      for (std::size_t k = 0; k + 1 < parts.size(); k += 2) half.push_back(combine(reduce, parts[k], parts[k + 1]));
      parts = half;
    }
    llvm::Value* total = parts.empty() ? nullptr : across(reduce, parts[0]);
    if (accumulators.scalar != nullptr) {
      llvm::Value* const rest = e_.get(accumulators.scalar);
      total = total == nullptr ? rest : combine(reduce, total, rest);
    }
    Index index;
    for (std::size_t axis = 0; axis < at_.size(); ++axis)
      index.push_back(
          {static_cast<std::int64_t>(axis) == reduce.as<ir::ReduceOp>().axis ? e_.i64(0) : at_[axis], false});
    lanes_ = 1;
    store(sinks_[i].target, e_.arith.round_to(sinks_[i].value->type().element(), total), index);
  }
}

/// Emits a row of a nest without vectors: one element.
void Nest::element(Index const& index) {
  start_rows();
  for (std::size_t i = 0; i < sinks_.size(); ++i) sink(sinks_[i], i, eval(*sinks_[i].value, index), index, 0);
  finish_rows();
}

/// Computes values that do not change along the row. `index` marks the vector axis with lanes, so that operands that
/// drop it are seen.
void Nest::hoist_row(Index index) {
  std::map<std::pair<ir::Value const*, Index>, bool> seen;
  group_.clear();
  for (int i = 0; i < group_size(); ++i) group_.push_back(i == 0 ? at_[0] : b_.CreateAdd(at_[0], e_.i64(i)));
  for (llvm::Value* row : group_) {
    if (group_.size() > 1) index[0].at = row;
    for (Sink const& sink : sinks_) hoist(*sink.value, index, seen);
  }
}

/// Emits the part of the row whose loads lie inside their tensors. It is empty where another axis leads out of one.
Nest::Span Nest::unchecked_span() {
  auto const vector_axis = static_cast<std::size_t>(axis_);
  llvm::Value* safe = b_.getTrue();
  Span span{lower_[vector_axis], upper_[vector_axis]};
  for (Bound const& bound : bounds_) {
    llvm::Value* const offset = e_.scalar(*bound.offset);
    llvm::Value* const extent = e_.tensor(*bound.tensor).extents[static_cast<std::size_t>(bound.tensor_axis)];
    if (bound.axis == axis_) {
      span.from = e_.smax(span.from, b_.CreateNeg(offset));
      // Not below 0, where the distance to it would wrap.
      span.to = e_.smax(e_.i64(0), e_.smin(span.to, b_.CreateSub(extent, offset)));
    } else {
      llvm::Value* const at = bound.axis < 0 ? offset : b_.CreateAdd(offset, at_[static_cast<std::size_t>(bound.axis)]);
      safe = b_.CreateAnd(safe, b_.CreateICmpULT(at, extent));
      if (bound.axis == 0 && group_.size() > 1)
        safe = b_.CreateAnd(safe, b_.CreateICmpULT(b_.CreateAdd(at, e_.i64(group_size() - 1)), extent));
    }
  }
  if (!bounds_.empty()) span.to = b_.CreateSelect(safe, span.to, lower_[vector_axis]);
  return span;
}

/// Emits a tight loop of one branch over whole vectors of a span, from `position` on. `streams`: it is entered only
/// where the stores may bypass the caches. `settled`: it ends there.
void Nest::unchecked_loop(llvm::AllocaInst* position, Span const& span, int unroll, bool streams, bool in_masks,
                          llvm::Value* settled) {
  streams_ = streams;
  in_masks_ = in_masks;
  std::int64_t const elements = static_cast<std::int64_t>(width_) * unroll;
  llvm::Value* last = b_.CreateSub(span.to, e_.i64(elements));
  if (settled != nullptr) last = e_.smin(last, b_.CreateSub(settled, e_.i64(1)));
  llvm::Value* const start = e_.get(position);
  llvm::Value* within = b_.CreateAnd(b_.CreateICmpSGE(start, span.from), b_.CreateICmpSLE(start, last));
  if (streams) within = b_.CreateAnd(within, streamed(start));
  e_.when(within, [&] {
    e_.repeat([&] {
      llvm::Value* const x = e_.get(position);
      step(x, width_, unroll, false);
      llvm::Value* const next = b_.CreateAdd(x, e_.i64(elements));
      b_.CreateStore(next, position);
      return b_.CreateICmpSLE(next, last);
    });
  });
  streams_ = false;
  in_masks_ = false;
}

/// Emits the loops over a row: whole vectors without checks, and the rest.
void Nest::vectors() {
  auto const vector_axis = static_cast<std::size_t>(axis_);
  Span const inside = unchecked_span();
  Span in_masks = inside;
  limit_to_masks(in_masks.from, in_masks.to);
  bool const fast = shape_[axis_] >= width_ && width_ > 1;
  llvm::Value* const settled = tail_ ? tail_start() : nullptr;
  bool const slow =
      !fast || !bounds_.empty() || clipped_ || !limits_.empty() || shape_[axis_] % (width_ * unroll_) != 0;

  llvm::AllocaInst* const position = e_.variable(b_.getInt64Ty(), lower_[vector_axis]);
  llvm::BasicBlock* const head = e_.new_block("row");
  llvm::BasicBlock* const slow_block = e_.new_block("slow");
  llvm::BasicBlock* const after = e_.new_block("after");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  bool const masks = !range_masks_.empty();
  if (fast && may_stream()) unchecked_loop(position, masks ? in_masks : inside, unroll_, true, masks);
  if (fast && masks) unchecked_loop(position, in_masks, unroll_, false, true);
  if (fast) unchecked_loop(position, inside, unroll_, false, false, settled);
  // The rest may still hold whole vectors.
  if (slow && fast && unroll_ > 1) unchecked_loop(position, inside, 1, false, false, settled);
  if (settled != nullptr) {
    llvm::Value* const start = e_.get(position);
    llvm::Value* const whole = b_.CreateICmpSLE(start, b_.CreateSub(upper_[vector_axis], e_.i64(width_)));
    e_.when(b_.CreateAnd(whole, b_.CreateICmpSGE(start, settled)), [&] { tail(position); });
  }
  llvm::Value* const x = e_.get(position);
  b_.CreateCondBr(slow ? b_.CreateICmpSLT(x, upper_[vector_axis]) : b_.getFalse(), slow_block, after);
  b_.SetInsertPoint(slow_block);
  int const slow_lanes = scalar_tail_ ? 1 : width_;
  if (slow) step(x, slow_lanes, 1, true);
  b_.CreateStore(b_.CreateAdd(x, e_.i64(slow_lanes)), position);
  b_.CreateBr(head);
  b_.SetInsertPoint(after);
}

void Nest::row() {
  known_.emplace_back();
  lanes_ = 1;
  checked_ = true;
  mask_ = nullptr;
  Index index;
  for (std::size_t axis = 0; axis < at_.size(); ++axis) index.push_back({at_[axis], false});
  if (axis_ < 0) {
    element(index);
  } else {
    Index const first = index;
    index[static_cast<std::size_t>(axis_)] = {nullptr, true};
    hoist_row(std::move(index));
    if (joined_ < 0) start_rows();
    if (sinks_[0].kind == Sink::Kind::scatter) {
      e_.when(scatters_row(first), [&] { vectors(); });
    } else {
      vectors();
    }
    if (joined_ < 0) finish_rows();
  }
  known_.pop_back();
}

/// True for a nest of one store whose rows are whole cache lines, when the store may bypass the caches.
bool Nest::may_stream() const {
  if (!clipped_ || !e_.context.target.has_stream) return false;
  ir::Value const& tensor = *sinks_[0].op->in<ir::StoreOp>("tensor");
  std::int64_t const size = bytes(tensor.type().element());
  return axis_ + 1 == shape_.size() && e_.tensor(tensor).unit_inner && width_ * size >= 16 &&
         shape_[axis_] * size % (2 * cache_line) == 0 && e_.context.plan.may_stream(tensor);
}

/// Emits the test whether the row's stores, beginning at `from` on the vector axis, bypass the caches: the tensor is
/// larger than they are, and the first store begins a cache line. Such stores do not read the lines first, and memory
/// need not serve the reads of one row between the writes of another.
llvm::Value* Nest::streamed(llvm::Value* from) {
  ir::Op const& op = *sinks_[0].op;
  ir::Value const& value = *op.in<ir::StoreOp>("tensor");
  Tensor const& tensor = e_.tensor(value);
  llvm::Value* size = e_.i64(bytes(value.type().element()));
  for (llvm::Value* extent : tensor.extents) size = b_.CreateMul(size, extent);
  Index index;
  for (llvm::Value* at : at_) index.push_back({at, false});
  index[static_cast<std::size_t>(axis_)].at = from;
  int lane_axis = -1;
  llvm::Type* const memory = e_.arith.memory_type(value.type().element());
  llvm::Value* const first =
      b_.CreateGEP(memory, tensor.base, tensor_offset(tensor, coordinates(op, index, lane_axis)));
  llvm::Value* const within = b_.CreateAnd(b_.CreatePtrToInt(first, b_.getInt64Ty()), e_.i64(cache_line - 1));
  return b_.CreateAnd(b_.CreateICmpSGE(size, e_.i64(streamed_bytes)), b_.CreateICmpEQ(within, e_.i64(0)));
}

void Nest::hoist(ir::Value const& value, Index const& index, std::map<std::pair<ir::Value const*, Index>, bool>& seen) {
  if (!seen.emplace(std::make_pair(&value, index), true).second) return;
  bool const lanes = std::any_of(index.begin(), index.end(), [](Axis const& axis) { return axis.lanes; });
  if (!lanes) {
    eval(value, index);
    return;
  }
  if (e_.buffer_of(value) != nullptr || e_.panels_of(value) != nullptr) return;
  ir::Op const& op = *value.defining_op();
  if (op.is<ir::LoadOp>()) return;
  for (int i = 0; i < op.operand_count(); ++i)
    if (op.operand(i)->type().is_tile())
      hoist(*op.operand(i), operand_index(op, i, index, Axis{e_.i64(0), false}), seen);
}

void Nest::step(llvm::Value* x, int lanes, int unroll, bool checked) {
  FunctionEmitter::Scope const scope(e_);
  known_.emplace_back();
  lanes_ = lanes;
  checked_ = checked;
  mask_ = nullptr;
  auto const vector_axis = static_cast<std::size_t>(axis_);
  if (checked && lanes > 1) {
    llvm::Value* const left = e_.smin(b_.CreateSub(upper_[vector_axis], x), e_.i64(lanes));
    mask_ = b_.CreateICmpULT(lane_numbers(b_.getInt32Ty()), splat(b_.CreateTrunc(left, b_.getInt32Ty())));
  }
  for (int u = 0; u < unroll; ++u) {
    Index index;
    for (std::size_t axis = 0; axis < at_.size(); ++axis) index.push_back({at_[axis], false});
    index[vector_axis] = {u == 0 ? x : b_.CreateAdd(x, e_.i64(static_cast<std::int64_t>(u) * lanes)), lanes > 1};
    for (std::size_t i = 0; i < sinks_.size(); ++i) sink(sinks_[i], i, eval_group(*sinks_[i].value, index), index, u);
  }
  known_.pop_back();
}

/// Evaluates a value, or the word of packed panels that its rows are joined to.
llvm::Value* Nest::eval_group(ir::Value const& value, Index index) {
  if (group_.size() == 1) return eval(value, index);
  std::vector<llvm::Value*> rows;
  for (llvm::Value* row : group_) {
    index[0].at = row;
    rows.push_back(splat(eval(value, index)));
  }
  return joined(b_, rows);
}

void Nest::sink(Sink const& sink, std::size_t number, llvm::Value* value, Index const& index, int unrolled) {
  if (lanes_ > 1) value = splat(value);
  if (sink.kind == Sink::Kind::store) return store(*sink.op, value, index);
  if (sink.kind == Sink::Kind::buffer) return store(sink.target, value, index);
  if (sink.kind == Sink::Kind::scatter) return scatter_run(*sink.op, value, index);
  Accumulators const& accumulators = accumulators_[number];
  if (!accumulators.vectors.empty() || accumulators.scalar != nullptr) {
    llvm::AllocaInst* const to = lanes_ > 1 || accumulators.scalar == nullptr
                                     ? accumulators.vectors[static_cast<std::size_t>(unrolled)]
                                     : accumulators.scalar;
    llvm::Value* const old = e_.get(to);
    llvm::Value* total = combine(*sink.op, old, value);
    if (mask_ != nullptr) total = b_.CreateSelect(mask_, total, old);
    b_.CreateStore(total, to);
    return;
  }
  Index reduced = index;
  reduced[static_cast<std::size_t>(sink.op->as<ir::ReduceOp>().axis)] = {e_.i64(0), false};
  store(sink.target, combine(*sink.op, load(sink.target, reduced), value), reduced);
}

}  // namespace tegula::codegen::host
