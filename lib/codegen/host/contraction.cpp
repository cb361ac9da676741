// Emits a loop that only accumulates a dot as one product. Operands are packed chunk by chunk of the loop. A separate
// phase ahead of the blocks packs those that blocks can share; else the block does.
#include "codegen/host/contraction.hpp"

#include <algorithm>
#include <numeric>

#include "codegen/host/packing.hpp"
#include "codegen/host/paths.hpp"
#include "ir/core/loop.hpp"
#include "ir/values/constant_of.hpp"

namespace tegula::codegen::host {

namespace {

/// Returns the depth of a chunk. A block of rows of A stays in the first cache; where registers hold few rows, a panel
/// of B must stay there too.
std::int64_t chunk_depth(HostTarget const& target) { return target.vector_registers >= 32 ? 384 : 256; }
constexpr std::int64_t alignment = 64;

/// Tells whether blocks that differ along an axis of the grid use the same elements.
bool many_blocks_share(BlockDependence const& dependence, std::size_t grid_axes) {
  bool used_by_many = false;
  bool in_grid = true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    used_by_many = used_by_many || (!dependence.axes[axis] && axis < grid_axes);
    in_grid = in_grid && (!dependence.axes[axis] || axis < grid_axes);
  }
  return used_by_many && in_grid;
}

}  // namespace

SharedOperands::SharedOperands(ir::Function const& kernel, Plan const& plan) {
  ir::Op const* grid = nullptr;
  ir::Op const* loop = nullptr;
  for (ir::Op const& op : kernel.body()) {
    if (op.is<ir::GridOp>()) grid = &op;
    if (loop == nullptr && plan.contraction(op) != nullptr) loop = &op;
  }
  if (grid == nullptr || loop == nullptr) return;
  ir::Loop const bounds(*loop);
  for (ir::Value const* value : {bounds.lower(), bounds.upper(), bounds.step()})
    if (!is_launch_expression(*value)) return;
  for (ir::Value const* extent : grid->operands()) {
    if (!is_launch_expression(*extent)) return;
    grid_.push_back(extent);
  }
  Contraction const& found = *plan.contraction(*loop);
  for (int side = 0; side < 2; ++side) {
    std::optional<BlockDependence> const dependence = block_dependence(found.factor(side), bounds.counter());
    if (!dependence) continue;
    if (many_blocks_share(*dependence, grid_.size())) operands_[side] = dependence;
  }
  if (any()) contraction_ = &found;
}

ContractionLayout::ContractionLayout(FunctionEmitter& e, Contraction const& contraction) {
  ir::Type const& left = contraction.dot->lhs()->type();
  ir::Type const& right = contraction.dot->rhs()->type();
  depth = left.shape()[1];
  iterations = std::max<std::int64_t>(1, chunk_depth(e.context.target) / depth);
  std::int64_t const k = iterations * depth;
  Element const element = contraction.dot->result()->type().element();
  step = step_of(e.context.target, left, right);
  a = e.rows_layout(step == Step::one ? element : left.element(), Extents{left.shape()[0], k});
  a.strides = Extents{k, 1};
  a.exact = depth % (e.context.target.vector_bytes / 4) != 0;
  a.packed = packed_bits(step);
  a.flipped = flips_left(left, right, step);
  b = e.panels_layout(step == Step::one ? element : right.element(), Extents{k, right.shape()[1]}, packed_bits(step));
  auto const aligned = [](std::int64_t size) { return (size + alignment - 1) / alignment * alignment; };
  known[0] = aligned(left.shape()[0] * k * e.storage_bytes(a));
  known[1] = e.buffer_bytes(b);
  std::int64_t const columns = (right.shape()[1] + b.panel - 1) / b.panel * b.panel;
  bool const least = step == Step::bf16_pairs;
  bytes[0] = known[0] + (least ? alignment : 0);
  bytes[1] = known[1] + (least ? alignment : a.flipped ? aligned(columns * 4) : 0);
}

FunctionEmitter::Trip FunctionEmitter::trip(Contraction const& contraction, ContractionLayout const& layout) {
  Range const over = range(ir::Loop(*contraction.loop));
  Trip trip;
  trip.lower = over.lower;
  trip.step = over.step;
  llvm::Value* const length = b.CreateSub(over.upper, over.lower);
  llvm::Value* const up = b.CreateAdd(smax(length, i64(0)), b.CreateSub(trip.step, i64(1)));
  trip.count = b.CreateUDiv(up, trip.step);
  trip.chunks = b.CreateUDiv(b.CreateAdd(trip.count, i64(layout.iterations - 1)), i64(layout.iterations));
  return trip;
}

void FunctionEmitter::pack_chunk(Contraction const& contraction, ContractionLayout const& layout, Trip const& trip,
                                 int side, llvm::Value* chunk, llvm::Value* to) {
  llvm::Value* const first = b.CreateMul(chunk, i64(layout.iterations));
  llvm::Value* const count = smin(i64(layout.iterations), b.CreateSub(trip.count, first));
  ir::Value const& value = contraction.factor(side);
  loop(i64(0), count, i64(1), [&](llvm::Value* i) {
    llvm::Value* const index = b.CreateAdd(trip.lower, b.CreateMul(b.CreateAdd(first, i), trip.step));
    set_scalar(*ir::Loop(*contraction.loop).counter(), index);
    Buffer target = side == 0 ? layout.a : layout.b;
    std::int64_t const step = layout.depth * (side == 0 ? 1 : layout.b.panel);
    target.pointer = b.CreateGEP(storage_type(target), to, b.CreateMul(i, i64(step / target.group())));
    target.shape = value.type().shape();
    materialise(value, target);
  });
  llvm::Value* const words = b.CreateMul(count, i64(layout.depth / group_of(layout.step)));
  llvm::Value* const known = b.CreateConstGEP1_64(b.getInt8Ty(), to, static_cast<std::uint64_t>(layout.known[side]));
  if (layout.step == Step::bf16_pairs) {
    std::int64_t const multiple = layout.depth / 2;
    if (side == 0) {
      store_min(to, known, layout.a.shape[0], layout.a.strides[0] / 2, words, multiple);
    } else {
      std::int64_t const panels = (layout.b.shape[1] + layout.b.panel - 1) / layout.b.panel;
      store_min(to, known, panels, layout.b.panel_stride, b.CreateMul(words, i64(layout.b.panel)),
                multiple * layout.b.panel);
    }
  } else if (side == 1 && layout.a.flipped) {
    Buffer panels = layout.b;
    panels.pointer = to;
    store_starts(panels, words, layout.step, known);
  }
}

/// Returns the place of the packed operands of one launch in the workspace.
FunctionEmitter::Shared FunctionEmitter::shared(Contraction const& contraction, ContractionLayout const& layout,
                                                Trip const& trip) {
  (void)contraction;
  Shared result;
  llvm::Value* offset = i64(0);
  for (int side = 0; side < 2; ++side) {
    auto const& dependence = context.shared->operand(side);
    if (!dependence) continue;
    llvm::Value* instances = i64(1);
    llvm::Value* uses = i64(1);
    for (std::size_t axis = 0; axis < context.shared->grid().size(); ++axis) {
      llvm::Value*& product = dependence->axes[axis] ? instances : uses;
      product = b.CreateMul(product, smax(scalar(*context.shared->grid()[axis]), i64(0)));
    }
    result.offset[side] = offset;
    result.many[side] = b.CreateICmpSGT(uses, i64(1));
    result.units[side] = b.CreateSelect(result.many[side], b.CreateMul(instances, trip.chunks), i64(0));
    offset = b.CreateAdd(offset, b.CreateMul(result.units[side], i64(layout.bytes[side])));
  }
  result.bytes = offset;
  return result;
}

namespace {

/// Collects the stores to which alone a tile goes, element by element; false if others need it.
bool only_stored(ir::Value const& value, std::vector<ir::Op const*>& stores, int& budget) {
  for (ir::Use const& use : value.uses()) {
    ir::Op const& user = *use.user;
    if (--budget < 0) return false;
    if (user.is<ir::StoreOp>()) {
      stores.push_back(&user);
    } else if (!user.is(ir::Family::elementwise) || user.result()->type().shape() != value.type().shape() ||
               !only_stored(*user.result(), stores, budget)) {
      return false;
    }
  }
  return true;
}

/// True where the op stands in the block, or in a region of one of its ops.
bool is_within(ir::Op const& op, ir::Block const* block) {
  for (ir::Op const* at = &op; at != nullptr; at = at->parent_op())
    if (at->parent() == block) return true;
  return false;
}

/// True for a scalar that can be computed where the op stands.
bool known_at(ir::Value const& value, ir::Op const& place, int& budget) {
  ir::Op const* const op = value.defining_op();
  if (op == nullptr) return is_within(place, value.owner_block()) || value.owner_block()->parent_function() != nullptr;
  if (--budget < 0 || !op->pure() || op->block_count() != 0 || gives_item(*op)) return false;
  return std::all_of(op->operands().begin(), op->operands().end(),
                     [&](ir::Value const* operand) { return known_at(*operand, place, budget); });
}

/// Returns the coordinate along k of a tensor from which on an operand is 0 in every iteration, as tensor and its axis.
/// The operand is a load padded with zeros, but for casts and transposes. Its offset is the loop's counter times the
/// depth.
struct PaddedDepth {
  ir::Value const* tensor;
  std::size_t axis;
};
std::optional<PaddedDepth> padded_depth(Contraction const& contraction, int side, std::int64_t depth) {
  ir::Value const* value = &contraction.factor(side);
  int axis = 1 - side;
  for (ir::Op const* op = value->defining_op(); op->is<ir::CastOp>() || op->is<ir::TransOp>();
       op = value->defining_op()) {
    if (op->is<ir::TransOp>()) axis = static_cast<int>(op->as<ir::TransOp>().permutation[axis]);
    value = op->operand();
    if (value->defining_op() == nullptr) return std::nullopt;
  }
  ir::Op const* const load = value->defined_by<ir::LoadOp>();
  if (load == nullptr || load->as<ir::LoadOp>().pad.bits != 0) return std::nullopt;
  ir::Value const* const tensor = load->in<ir::LoadOp>("tensor");
  if (tensor->defining_op() != nullptr) return std::nullopt;  // a slice, whose extents the block computes
  auto const of_tensor = static_cast<std::size_t>(tensor->type().rank() - value->type().rank() + axis);
  ir::Op const* const offset = load->all("offsets")[of_tensor]->defined_by<ir::MulOp>();
  ir::Loop const loop(*contraction.loop);
  if (offset == nullptr || !ir::is_constant(*loop.step(), 1) || !ir::is_constant(*loop.lower(), 0)) return std::nullopt;
  auto const scaled = [&](ir::Value const* counter, ir::Value const* factor) {
    return counter == loop.counter() && ir::is_constant(*factor, static_cast<double>(depth));
  };
  if (!scaled(offset->lhs(), offset->rhs()) && !scaled(offset->rhs(), offset->lhs())) return std::nullopt;
  return PaddedDepth{tensor, of_tensor};
}

}  // namespace

llvm::Value* FunctionEmitter::stored(ir::Value const& value, ir::Op const& place, int axis) {
  std::vector<ir::Op const*> stores;
  int budget = 64;
  if (!only_stored(value, stores, budget)) return nullptr;
  llvm::Value* result = i64(0);
  for (ir::Op const* store : stores) {
    ir::Value const& to = *store->in<ir::StoreOp>("tensor");
    auto const of_tensor = static_cast<std::size_t>(to.type().rank() - value.type().rank() + axis);
    ir::Value const* const offset = store->all("offsets")[of_tensor];
    if (!known_at(to, place, budget) || !known_at(*offset, place, budget)) return nullptr;
    result = smax(result, b.CreateSub(tensor(to).extents[of_tensor], scalar(*offset)));
  }
  return result;
}

llvm::Value* FunctionEmitter::nonzero_depth(Contraction const& contraction, std::int64_t depth) {
  llvm::Value* result = i64(0);
  for (int side = 0; side < 2; ++side) {
    std::optional<PaddedDepth> const found = padded_depth(contraction, side, depth);
    if (!found) return nullptr;
    result = smax(result, tensor(*found->tensor).extents[found->axis]);
  }
  return result;
}

void FunctionEmitter::contract(Contraction const& contraction) {
  ContractionLayout const layout(*this, contraction);
  Buffer const c = target_of(*contraction.loop->result(), contraction.loop);
  std::int64_t const used = scratch_used_;
  Trip const trip = this->trip(contraction, layout);
  ir::Value const& init = *ir::Loop(*contraction.loop).init(0);
  bool const from_zero = ir::is_zero(init);
  if (from_zero) {
    when(b.CreateICmpSLE(trip.chunks, i64(0)), [&] { materialise(init, c); });
  } else {
    materialise(init, c);
  }
  llvm::Value* const rows = from_zero ? stored(*contraction.loop->result(), *contraction.loop, 0) : nullptr;
  llvm::Value* const columns = from_zero ? stored(*contraction.loop->result(), *contraction.loop, 1) : nullptr;
  llvm::Value* const nonzero = from_zero ? nonzero_depth(contraction, layout.depth) : nullptr;
  llvm::Value* const own[2] = {scratch(layout.bytes[0], contraction.dot), scratch(layout.bytes[1], contraction.dot)};

  // Packed ahead when this launch has a workspace of the planned size and this block lies in the planned grid.
  bool const planned = context.shared != nullptr && context.shared->contraction() == &contraction;
  std::string how =
      planned ? "operands that blocks share are packed once, ahead of the blocks" : "each block packs its operands";
  if (layout.step != Step::one) how += std::string("; ") + instruction(layout.step);
  record_product(context.paths, *contraction.dot, Path::contraction, how);
  llvm::Value* ready = b.getFalse();
  llvm::Value* shared_by[2] = {nullptr, nullptr};
  llvm::Value* packed[2] = {nullptr, nullptr};
  if (planned) {
    Shared const ahead = shared(contraction, layout, trip);
    ready = b.CreateAnd(b.CreateICmpNE(workspace_, llvm::ConstantPointerNull::get(b.getPtrTy())),
                        b.CreateICmpSLE(ahead.bytes, i64(workspace_limit)));
    for (int side = 0; side < 2; ++side) {
      auto const& dependence = context.shared->operand(side);
      if (!dependence) continue;
      llvm::Value* instance = i64(0);
      for (std::size_t axis = context.shared->grid().size(); axis-- > 0;) {
        if (!dependence->axes[axis]) continue;
        llvm::Value* const extent = scalar(*context.shared->grid()[axis]);
        llvm::Value* const index = block_index_[axis] == nullptr ? i64(0) : block_index_[axis];
        ready = b.CreateAnd(ready, b.CreateICmpSLT(index, extent));
        instance = b.CreateAdd(b.CreateMul(instance, extent), index);
      }
      llvm::Value* const start =
          b.CreateAdd(ahead.offset[side], b.CreateMul(b.CreateMul(instance, trip.chunks), i64(layout.bytes[side])));
      packed[side] = b.CreateGEP(b.getInt8Ty(), workspace_, start);
      shared_by[side] = ahead.many[side];
    }
  }
  loop(i64(0), trip.chunks, i64(1), [&](llvm::Value* chunk) {
    llvm::Value* operands[2] = {own[0], own[1]};
    for (int side = 0; side < 2; ++side) {
      auto const here = [&] { pack_chunk(contraction, layout, trip, side, chunk, own[side]); };
      if (packed[side] == nullptr) {
        here();
        continue;
      }
      llvm::Value* const done = b.CreateAnd(ready, shared_by[side]);
      when(
          done, [] {}, here);
      llvm::Value* const there = b.CreateGEP(b.getInt8Ty(), packed[side], b.CreateMul(chunk, i64(layout.bytes[side])));
      operands[side] = b.CreateSelect(done, there, own[side]);
    }
    llvm::Value* const first = b.CreateMul(chunk, i64(layout.iterations));
    llvm::Value* const count = smin(i64(layout.iterations), b.CreateSub(trip.count, first));
    int const group = group_of(layout.step);
    Panels panels;
    panels.step = layout.step;
    panels.a = operands[0];
    panels.lda = layout.a.strides[0] / group;
    panels.b = operands[1];
    panels.panel = layout.b.panel;
    panels.panel_stride = layout.b.panel_stride;
    panels.c = c;
    panels.k = b.CreateMul(count, i64(layout.depth / group));
    panels.k_multiple = layout.depth / group;
    if (nonzero != nullptr) {
      // Whole steps of the micro-kernel: the packed operands hold zeros up to the end of their iteration.
      llvm::Value* const left = b.CreateSub(nonzero, b.CreateMul(first, i64(layout.depth)));
      std::int64_t const unit = std::gcd<std::int64_t>(layout.depth, 4 * group);
      llvm::Value* const units = b.CreateUDiv(b.CreateAdd(smax(left, i64(0)), i64(unit - 1)), i64(unit));
      panels.k = smin(panels.k, b.CreateMul(units, i64(unit / group)));
      panels.k_multiple = unit / group;
    }
    panels.fresh = b.CreateAnd(b.CreateICmpEQ(chunk, i64(0)), b.getInt1(from_zero));
    panels.rows = rows;
    panels.columns = columns;
    auto const known = [&](int side) {
      return b.CreateConstGEP1_64(b.getInt8Ty(), operands[side], static_cast<std::uint64_t>(layout.known[side]));
    };
    if (layout.a.flipped) panels.starts = known(1);
    if (layout.step != Step::bf16_pairs) return multiply(panels);
    auto const normal = [&](int side) {
      return b.CreateICmpUGE(b.CreateAlignedLoad(b.getInt32Ty(), known(side), llvm::Align(4)), b.getInt32(min_bf16));
    };
    when(
        b.CreateAnd(normal(0), normal(1)), [&] { multiply(panels); },
        [&] {
          panels.step = Step::bf16_pairs_in_f32;
          multiply(panels);
        });
  });
  scratch_used_ = used;
  set_buffer(*contraction.loop->result(), c);
}

void FunctionEmitter::pack(Contraction const& contraction, llvm::Value* unit) {
  ContractionLayout const layout(*this, contraction);
  Trip const trip = this->trip(contraction, layout);
  Shared const ahead = shared(contraction, layout, trip);
  auto const pack_side = [&](int side, llvm::Value* number) {
    auto const& dependence = *context.shared->operand(side);
    llvm::Value* const chunks = smax(trip.chunks, i64(1));
    llvm::Value* rest = quotient(number, chunks);
    llvm::Value* const chunk = b.CreateSub(number, b.CreateMul(rest, chunks));
    for (std::size_t axis = 0; axis < context.shared->grid().size(); ++axis) {
      if (!dependence.axes[axis]) continue;
      llvm::Value* const extent = smax(scalar(*context.shared->grid()[axis]), i64(1));
      llvm::Value* const above = quotient(rest, extent);
      block_index_[axis] = b.CreateSub(rest, b.CreateMul(above, extent));
      rest = above;
    }
    llvm::Value* const start = b.CreateAdd(ahead.offset[side], b.CreateMul(number, i64(layout.bytes[side])));
    pack_chunk(contraction, layout, trip, side, chunk, b.CreateGEP(b.getInt8Ty(), workspace_, start));
    for (llvm::Value*& index : block_index_) index = nullptr;
  };
  if (ahead.units[0] != nullptr && ahead.units[1] != nullptr) {
    when(
        b.CreateICmpSLT(unit, ahead.units[0]), [&] { pack_side(0, unit); },
        [&] { pack_side(1, b.CreateSub(unit, ahead.units[0])); });
  } else {
    pack_side(ahead.units[0] != nullptr ? 0 : 1, unit);
  }
}

SharedOperands::Launch SharedOperands::launch(LaunchSteps& steps, ContractionLayout const& layout) const {
  ir::Loop const loop(*contraction_->loop);
  auto const binary = [&](LaunchOp op, std::int32_t x, std::int32_t y) { return steps.apply(op, x, y); };
  std::int32_t const zero = steps.constant(0);
  std::int32_t const step = binary(LaunchOp::max, steps.value(*loop.step()), steps.constant(1));
  std::int32_t const length =
      binary(LaunchOp::max, binary(LaunchOp::sub, steps.value(*loop.upper()), steps.value(*loop.lower())), zero);
  std::int32_t const trip = binary(LaunchOp::ceil_div, length, step);
  std::int32_t const chunks = binary(LaunchOp::ceil_div, trip, steps.constant(layout.iterations));
  std::int32_t units = zero;
  std::int32_t size = zero;
  for (int side = 0; side < 2; ++side) {
    if (!operands_[side]) continue;
    std::int32_t count = chunks;
    std::int32_t uses = steps.constant(1);
    for (std::size_t axis = 0; axis < grid_.size(); ++axis) {
      std::int32_t& product = operands_[side]->axes[axis] ? count : uses;
      product = binary(LaunchOp::mul, product, binary(LaunchOp::max, steps.value(*grid_[axis]), zero));
    }
    // An operand that one block alone uses stays in that block's cache.
    count = steps.apply(LaunchOp::select, binary(LaunchOp::le, uses, steps.constant(1)), zero, count);
    units = binary(LaunchOp::add, units, count);
    size = binary(LaunchOp::add, size, binary(LaunchOp::mul, count, steps.constant(layout.bytes[side])));
  }
  std::int32_t const fits = binary(LaunchOp::le, size, steps.constant(workspace_limit));
  return {steps.apply(LaunchOp::select, fits, units, zero), steps.apply(LaunchOp::select, fits, size, zero)};
}

}  // namespace tegula::codegen::host
