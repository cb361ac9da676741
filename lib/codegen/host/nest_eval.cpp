// Evaluates a nest at one index: producers by recursion, memory, reductions of a vector.
#include "codegen/host/nest.hpp"

#include <algorithm>
#include <optional>

#include <llvm/IR/IntrinsicsX86.h>

#include "codegen/host/packing.hpp"
#include "codegen/host/scaling.hpp"
#include "ir/core/match.hpp"
#include "ir/memory/row_major.hpp"
#include "ir/values/combine.hpp"
#include "tegula/math/elementary.hpp"

namespace tegula::codegen::host {

llvm::Value* Nest::splat(llvm::Value* value) {
  if (lanes_ == 1 || value->getType()->isVectorTy()) return value;
  return b_.CreateVectorSplat(static_cast<unsigned>(lanes_), value);
}

llvm::Value* Nest::lane_numbers(llvm::Type* type) {
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < lanes_; ++i) numbers.push_back(llvm::ConstantInt::get(type, static_cast<std::uint64_t>(i)));
  return llvm::ConstantVector::get(numbers);
}

llvm::Value* Nest::eval(ir::Value const& value, Index const& index) {
  auto const key = std::make_pair(&value, index);
  for (auto scope = known_.rbegin(); scope != known_.rend(); ++scope)
    if (auto const found = scope->find(key); found != scope->end()) return found->second;
  llvm::Value* const result = evaluate(value, index);
  known_.back()[key] = result;
  return result;
}

llvm::Value* Nest::evaluate(ir::Value const& value, Index const& index) {
  if (Buffer const* buffer = e_.buffer_of(value)) return load(*buffer, index);
  if (Buffer const* panels = e_.panels_of(value)) return load(*panels, index);
  ir::Op const& op = *value.defining_op();
  FunctionEmitter::AtLine const at_line(e_, op);
  if (ir::moves_elements(op))
    return op.operand()->type().is_tile() ? eval(*op.operand(), operand_index(op, 0, index, Axis{e_.i64(0), false}))
                                          : e_.scalar(*op.operand());
  using ir::on;
  llvm::Value* const element = ir::match<llvm::Value*>(
      op, on<ir::ConstantOp>([&] { return e_.arith.constant(op.as<ir::ConstantOp>().value); }),
      on<ir::IotaOp>([&] { return iota(op, index); }), on<ir::TableOp>([&] { return table(op, index); }),
      on<ir::LoadOp>([&] { return load(op, index); }), on<ir::GatherOp>([&] { return gather(op, index); }));
  if (element != nullptr) return element;
  if (in_masks_ || in_tail_)
    if (RangeMask const* const mask = range_mask(op)) return b_.getInt1(in_masks_ || !ends(*mask));
  if (llvm::Value* const result = by_one_instruction(op, index)) return result;
  std::vector<llvm::Value*> operands;
  bool vectors = false;
  for (ir::Value const* operand : op.operands()) {
    operands.push_back(operand->type().is_tile() ? eval(*operand, index) : e_.scalar(*operand));
    vectors = vectors || operands.back()->getType()->isVectorTy();
  }
  if (vectors)
    for (llvm::Value*& operand : operands) operand = splat(operand);
  return e_.arith.lower(op, operands);
}

/// Emits an expansion of an elementary function that this CPU has an instruction for; null: none.
llvm::Value* Nest::by_one_instruction(ir::Op const& op, Index const& index) {
  if (e_.context.target.has_scale && lanes_ == 16) {
    if (std::optional<Scaling> const scaling = match_scaling(op)) {
      llvm::Value* const p = splat(eval(*scaling->p, index));
      llvm::Value* const shifted = splat(eval(*scaling->shifted, index));
      llvm::Value* const n = b_.CreateFSub(shifted, llvm::ConstantFP::get(shifted->getType(), math::detail::magic_f32));
      constexpr int current_rounding = 4;
      return b_.CreateIntrinsic(
          llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
          {p, n, llvm::PoisonValue::get(p->getType()), b_.getInt16(0xFFFF), b_.getInt32(current_rounding)});
    }
  }
  if (e_.context.target.has_fma) {
    if (std::optional<ExactReduction> const reduction = match_exact_reduction(op)) {
      llvm::Value* const n = splat(eval(*reduction->n, index));
      llvm::Value* const factor = splat(eval(*reduction->factor, index));
      llvm::Value* const minuend = splat(eval(*reduction->minuend, index));
      return b_.CreateIntrinsic(llvm::Intrinsic::fma, {n->getType()}, {b_.CreateFNeg(n), factor, minuend});
    }
  }
  return nullptr;
}

llvm::Value* Nest::iota(ir::Op const& op, Index const& index) {
  Axis const axis = index[static_cast<std::size_t>(op.as<ir::IotaOp>().axis)];
  llvm::Type* const type = e_.arith.register_type(op.result()->type().element());
  llvm::Value* const at = b_.CreateTrunc(axis.at, type);
  return axis.lanes ? b_.CreateAdd(splat(at), lane_numbers(type)) : at;
}

llvm::Value* Nest::table(ir::Op const& op, Index const& index) {
  ir::Type const& type = op.result()->type();
  Extents const strides = ir::row_major_strides(type.shape());
  llvm::Type* const memory = e_.arith.memory_type(type.element());
  llvm::Align const align(static_cast<std::uint64_t>(bytes(type.element())));
  llvm::Value* at = e_.i64(0);
  std::int64_t step = 0;  // elements from one lane to the next
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    std::int64_t const stride = strides[static_cast<int>(axis)];
    at = b_.CreateAdd(at, b_.CreateMul(index[axis].at, e_.i64(stride)));
    if (index[axis].lanes) step = stride;
  }
  llvm::Value* const first = b_.CreateGEP(memory, e_.table(op), at);
  if (step == 0) return e_.arith.from_memory(type.element(), b_.CreateAlignedLoad(memory, first, align));
  if (step == 1) return e_.arith.from_memory(type.element(), b_.CreateAlignedLoad(vector_of(memory), first, align));
  return e_.arith.from_memory(type.element(), per_lane(memory, [&](int lane) {
                                llvm::Value* to = e_.i64(lane * step);
                                if (mask_ != nullptr)  // lanes behind the tile read an element of it
                                  to = b_.CreateSelect(b_.CreateExtractElement(mask_, static_cast<std::uint64_t>(lane)),
                                                       to, e_.i64(0));
                                return b_.CreateGEP(memory, first, to);
                              }));
}

// --- tensors -------------------------------------------------------------------------------------------------

std::vector<llvm::Value*> Nest::coordinates(ir::Op const& op, Index const& index, int& lane_axis) {
  int const rank = op.in("tensor")->type().rank();
  int const leading = rank - static_cast<int>(index.size());
  std::vector<llvm::Value*> result;
  lane_axis = -1;
  for (int axis = 0; axis < rank; ++axis) {
    llvm::Value* const offset = e_.scalar(*op.all("offsets")[static_cast<std::size_t>(axis)]);
    if (axis < leading) {
      result.push_back(offset);
      continue;
    }
    Axis const& within = index[static_cast<std::size_t>(axis - leading)];
    result.push_back(b_.CreateAdd(offset, within.at));
    if (within.lanes) lane_axis = axis;
  }
  return result;
}

llvm::Value* Nest::tensor_offset(Tensor const& tensor, std::vector<llvm::Value*> const& coordinates) {
  llvm::Value* offset = nullptr;
  for (std::size_t axis = 0; axis < coordinates.size(); ++axis) {
    bool const unit = tensor.unit_inner && axis + 1 == coordinates.size();
    llvm::Value* const part = unit ? coordinates[axis] : b_.CreateMul(coordinates[axis], tensor.strides[axis]);
    offset = offset == nullptr ? part : b_.CreateAdd(offset, part);
  }
  return offset == nullptr ? e_.i64(0) : offset;
}

/// Tells which elements lie inside the tensor: one bit, or one per lane.
llvm::Value* Nest::inside(Tensor const& tensor, std::vector<llvm::Value*> const& coordinates, int lane_axis) {
  llvm::Value* whole = b_.getTrue();
  for (std::size_t axis = 0; axis < coordinates.size(); ++axis)
    if (static_cast<int>(axis) != lane_axis)
      whole = b_.CreateAnd(whole, b_.CreateICmpULT(coordinates[axis], tensor.extents[axis]));
  if (lane_axis < 0) return whole;
  // Finds the first lane inside and the one after the last, by scalars.
  llvm::Value* const at = coordinates[static_cast<std::size_t>(lane_axis)];
  llvm::Value* const left = b_.CreateSub(tensor.extents[static_cast<std::size_t>(lane_axis)], at);
  auto const lane = [&](llvm::Value* number) {
    llvm::Value* const within = e_.smin(e_.smax(number, e_.i64(0)), e_.i64(lanes_));
    return splat(b_.CreateTrunc(within, b_.getInt32Ty()));
  };
  llvm::Value* const numbers = lane_numbers(b_.getInt32Ty());
  return b_.CreateAnd(b_.CreateICmpUGE(numbers, lane(b_.CreateNeg(at))),
                      b_.CreateICmpULT(numbers, lane(b_.CreateSelect(whole, left, e_.i64(0)))));
}

llvm::Value* Nest::per_lane(llvm::Type* type, std::function<llvm::Value*(int)> const& pointer) {
  llvm::Value* result = llvm::PoisonValue::get(vector_of(type));
  for (int lane = 0; lane < lanes_; ++lane)
    result = b_.CreateInsertElement(result, b_.CreateLoad(type, pointer(lane)), static_cast<std::uint64_t>(lane));
  return result;
}

llvm::Value* Nest::load(ir::Op const& op, Index const& index) {
  Element const element = op.result()->type().element();
  Tensor const& tensor = e_.tensor(*op.in<ir::LoadOp>("tensor"));
  int lane_axis = -1;
  std::vector<llvm::Value*> const at = coordinates(op, index, lane_axis);
  llvm::Type* const memory = e_.arith.memory_type(element);
  llvm::Value* const pointer = b_.CreateGEP(memory, tensor.base, tensor_offset(tensor, at));
  llvm::Value* const pad = e_.arith.constant(op.as<ir::LoadOp>().pad);
  llvm::Align const align(static_cast<std::uint64_t>(bytes(element)));
  if (lane_axis < 0) {
    llvm::Value* const valid = inside(tensor, at, -1);
    llvm::Value* const safe = b_.CreateSelect(valid, pointer, e_.dummy());
    llvm::Value* const value = e_.arith.from_memory(element, b_.CreateAlignedLoad(memory, safe, align));
    return b_.CreateSelect(valid, value, pad);
  }
  if (in_tail_) return pad;
  bool const unit = tensor.unit_inner && lane_axis + 1 == static_cast<int>(at.size());
  if (!checked_ && unit) return e_.arith.from_memory(element, b_.CreateAlignedLoad(vector_of(memory), pointer, align));
  llvm::Value* const stride = tensor.strides[static_cast<std::size_t>(lane_axis)];
  auto const lane_pointer = [&](int lane) { return b_.CreateGEP(memory, pointer, b_.CreateMul(stride, e_.i64(lane))); };
  if (!checked_) return e_.arith.from_memory(element, per_lane(memory, lane_pointer));

  llvm::Value* valid = inside(tensor, at, lane_axis);
  if (mask_ != nullptr) valid = b_.CreateAnd(valid, mask_);
  llvm::Value* raw = nullptr;
  if (unit) {
    raw =
        b_.CreateMaskedLoad(vector_of(memory), pointer, align, valid, llvm::Constant::getNullValue(vector_of(memory)));
  } else {
    raw = per_lane(memory, [&](int lane) {
      return b_.CreateSelect(b_.CreateExtractElement(valid, static_cast<std::uint64_t>(lane)), lane_pointer(lane),
                             e_.dummy());
    });
  }
  return b_.CreateSelect(valid, e_.arith.from_memory(element, raw), splat(pad));
}

llvm::Value* Nest::gather(ir::Op const& op, Index const& index) {
  if (lanes_ > 1) {
    Map map;
    bool lanes = false;
    for (Axis const& axis : index) {
      map.push_back(axis.lanes ? axis_ : -1);
      lanes = lanes || axis.lanes;
    }
    if (lanes && runs(op, map)) return gather_run(op, index);
  }
  Element const element = op.result()->type().element();
  Tensor const& tensor = e_.tensor(*op.in<ir::GatherOp>("tensor"));
  std::vector<llvm::Value*> at;
  bool vectors = false;
  for (ir::Value const* operand : op.all<ir::GatherOp>("indices")) {
    llvm::Value* const value = operand->type().is_tile() ? eval(*operand, index) : e_.scalar(*operand);
    vectors = vectors || value->getType()->isVectorTy();
    at.push_back(value);
  }
  llvm::Value* valid = nullptr;
  llvm::Value* offset = nullptr;
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    auto const like = [&](llvm::Value* value) { return vectors ? splat(value) : value; };
    llvm::Value* const number = like(at[axis]);
    llvm::Value* const wide = b_.CreateSExt(number, number->getType()->getWithNewType(b_.getInt64Ty()));
    llvm::Value* const in = b_.CreateICmpULT(wide, like(tensor.extents[axis]));
    valid = valid == nullptr ? in : b_.CreateAnd(valid, in);
    bool const unit = tensor.unit_inner && axis + 1 == at.size();
    llvm::Value* const part = unit ? wide : b_.CreateMul(wide, like(tensor.strides[axis]));
    offset = offset == nullptr ? part : b_.CreateAdd(offset, part);
  }
  llvm::Type* const memory = e_.arith.memory_type(element);
  llvm::Value* const pad = e_.arith.constant(op.as<ir::GatherOp>().pad);
  llvm::Value* const pointer = b_.CreateGEP(memory, tensor.base, offset);
  llvm::Align const align(static_cast<std::uint64_t>(bytes(element)));
  if (!vectors) {
    llvm::Value* const safe = b_.CreateSelect(valid, pointer, e_.dummy());
    return b_.CreateSelect(valid, e_.arith.from_memory(element, b_.CreateAlignedLoad(memory, safe, align)), pad);
  }
  if (mask_ != nullptr) valid = b_.CreateAnd(valid, mask_);
  llvm::Type* const many = vector_of(memory);
  llvm::Value* const raw = b_.CreateMaskedGather(many, pointer, align, valid, llvm::Constant::getNullValue(many));
  return b_.CreateSelect(valid, e_.arith.from_memory(element, raw), splat(pad));
}

void Nest::store(ir::Op const& op, llvm::Value* value, Index const& index) {
  ir::Value const& tensor_value = *op.in<ir::StoreOp>("tensor");
  Element const element = tensor_value.type().element();
  Tensor const& tensor = e_.tensor(tensor_value);
  int lane_axis = -1;
  std::vector<llvm::Value*> const at = coordinates(op, index, lane_axis);
  llvm::Type* const memory = e_.arith.memory_type(element);
  llvm::Value* const pointer = b_.CreateGEP(memory, tensor.base, tensor_offset(tensor, at));
  llvm::Value* const raw = e_.arith.to_memory(element, value);
  llvm::Align const align(static_cast<std::uint64_t>(bytes(element)));
  if (lane_axis < 0) {
    if (clipped_) {
      b_.CreateAlignedStore(raw, pointer, align);
    } else {
      e_.when(inside(tensor, at, -1), [&] { b_.CreateAlignedStore(raw, pointer, align); });
    }
    return;
  }
  bool const unit = tensor.unit_inner && lane_axis + 1 == static_cast<int>(at.size());
  if (!unit) {  // only in code without checks: the checked part of such a nest runs element by element
    llvm::Value* const stride = tensor.strides[static_cast<std::size_t>(lane_axis)];
    for (int lane = 0; lane < lanes_; ++lane)
      b_.CreateAlignedStore(b_.CreateExtractElement(raw, static_cast<std::uint64_t>(lane)),
                            b_.CreateGEP(memory, pointer, b_.CreateMul(stride, e_.i64(lane))), align);
    return;
  }
  if (streams_) {
    auto const whole = static_cast<std::uint64_t>(lanes_) * static_cast<std::uint64_t>(bytes(element));
    llvm::MDNode* const yes = llvm::MDNode::get(b_.getContext(), llvm::ConstantAsMetadata::get(b_.getInt32(1)));
    b_.CreateAlignedStore(raw, pointer, llvm::Align(whole))->setMetadata(llvm::LLVMContext::MD_nontemporal, yes);
    e_.set_streamed();
    return;
  }
  if (!checked_) {
    b_.CreateAlignedStore(raw, pointer, align);
    return;
  }
  llvm::Value* valid = mask_;
  if (!clipped_) valid = b_.CreateAnd(inside(tensor, at, lane_axis), mask_);
  b_.CreateMaskedStore(raw, pointer, align, valid);
}

// --- buffers -------------------------------------------------------------------------------------------------

llvm::Value* Nest::load(Buffer const& buffer, Index const& index) {
  llvm::Type* const storage = e_.storage_type(buffer.element);
  llvm::Align const align(static_cast<std::uint64_t>(e_.storage_bytes(buffer.element)));
  auto const convert = [&](llvm::Value* raw) {
    return buffer.element == Element::boolean ? e_.arith.from_memory(Element::boolean, raw) : raw;
  };
  int lane_axis = -1;
  for (std::size_t axis = 0; axis < index.size(); ++axis)
    if (index[axis].lanes) lane_axis = static_cast<int>(axis);
  if (lane_axis < 0) return convert(b_.CreateAlignedLoad(storage, e_.address(buffer, index), align));
  if (buffer.panel == 0 && FunctionEmitter::contiguous(buffer, lane_axis))
    return convert(b_.CreateAlignedLoad(vector_of(storage), e_.address(buffer, index), align));
  return convert(per_lane(storage, [&](int lane) {
    Index one = index;
    llvm::Value* at = b_.CreateAdd(one[static_cast<std::size_t>(lane_axis)].at, e_.i64(lane));
    if (mask_ != nullptr)
      at = b_.CreateSelect(b_.CreateExtractElement(mask_, static_cast<std::uint64_t>(lane)), at, e_.i64(0));
    one[static_cast<std::size_t>(lane_axis)] = {at, false};
    return e_.address(buffer, one);
  }));
}

/// Returns the value as the buffer holds it.
llvm::Value* Nest::held(Buffer const& buffer, llvm::Value* value) {
  if (buffer.element == Element::boolean) return e_.arith.to_memory(Element::boolean, value);
  if (buffer.packed == 0 || buffer.group() > 1) return value;
  llvm::Type* const type = value->getType()->getWithNewType(e_.storage_type(buffer));
  if (value->getType()->isFPOrFPVectorTy()) return b_.CreateTrunc(bf16_bits(b_, value), type);
  llvm::Value* const narrow = b_.CreateTrunc(value, type);
  return buffer.flipped ? b_.CreateXor(narrow, llvm::ConstantInt::get(type, 0x80)) : narrow;
}

void Nest::store(Buffer const& buffer, llvm::Value* value, Index const& index) {
  llvm::Align const align(static_cast<std::uint64_t>(e_.storage_bytes(buffer)));
  llvm::Value* const raw = held(buffer, value);
  int lane_axis = -1;
  for (std::size_t axis = 0; axis < index.size(); ++axis)
    if (index[axis].lanes) lane_axis = static_cast<int>(axis);
  if (lane_axis < 0) {
    b_.CreateAlignedStore(raw, e_.address(buffer, index), align);
  } else if (FunctionEmitter::contiguous(buffer, lane_axis)) {
    // Rows are padded to whole vectors, so lanes beyond the shape are harmless unless the buffer says otherwise.
    llvm::Value* const to = e_.address(buffer, index);
    if (buffer.exact && mask_ != nullptr) {
      b_.CreateMaskedStore(raw, to, align, mask_);
    } else {
      b_.CreateAlignedStore(raw, to, align);
    }
  } else {
    for (int lane = 0; lane < lanes_; ++lane) {
      Index one = index;
      auto& axis = one[static_cast<std::size_t>(lane_axis)];
      axis = {b_.CreateAdd(axis.at, e_.i64(lane)), false};
      b_.CreateAlignedStore(b_.CreateExtractElement(raw, static_cast<std::uint64_t>(lane)), e_.address(buffer, one),
                            align);
    }
  }
}

// --- reductions ----------------------------------------------------------------------------------------------

/// Combines x with y as HostArith does, but for the sign of a 0. The inner select is one instruction of x86, which
/// returns its second operand, y, where one is NaN. In loops it is faster than a select by two comparisons.
llvm::Value* Nest::combine(ir::Op const& reduce, llvm::Value* x, llvm::Value* y) {
  ir::Combine const how = reduce.as<ir::ReduceOp>().combine;
  bool const largest = how == ir::Combine::max;
  if (!x->getType()->isFPOrFPVectorTy() || (!largest && how != ir::Combine::min))
    return e_.arith.combine(how, reduce.result()->type().element(), x, y);
  llvm::Value* const first = largest ? b_.CreateFCmpOGT(x, y) : b_.CreateFCmpOLT(x, y);
  return b_.CreateSelect(b_.CreateFCmpUNO(y, y), x, b_.CreateSelect(first, x, y));
}

/// Returns the identity: x combined with it is x, bit for bit.
llvm::Value* Nest::identity(ir::Op const& reduce, int lanes) {
  auto* const value = llvm::cast<llvm::Constant>(
      e_.arith.constant(ir::neutral(reduce.as<ir::ReduceOp>().combine, reduce.result()->type().element())));
  return lanes == 1 ? value
                    : llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(lanes)), value);
}

/// Combines all lanes, halves first.
llvm::Value* Nest::across(ir::Op const& reduce, llvm::Value* vector) {
  auto lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements());
  while (lanes > 1) {
    lanes /= 2;
    std::vector<int> low;
    std::vector<int> high;
    for (int i = 0; i < lanes; ++i) {
      low.push_back(i);
      high.push_back(lanes + i);
    }
    vector = combine(reduce, b_.CreateShuffleVector(vector, low), b_.CreateShuffleVector(vector, high));
  }
  return b_.CreateExtractElement(vector, std::uint64_t{0});
}

}  // namespace tegula::codegen::host
