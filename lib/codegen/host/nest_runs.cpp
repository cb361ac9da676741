// Emits gathers and scatters whose places run: the last index grows by 1 from lane to lane, the others stay. Their
// elements are adjacent, as those of loads and stores. Rows chosen by indices are such runs.
#include "codegen/host/nest.hpp"

namespace tegula::codegen::host {

/// True for an op whose elements along the vector axis are adjacent in its tensor. `map`: of its index tiles.
bool Nest::runs(ir::Op const& op, Map const& map) const {
  ir::Value const& tensor = *op.in("tensor");
  if (axis_ < 0 || !e_.tensor(tensor).unit_inner || map.empty()) return false;
  auto const indices = op.all("indices");
  for (std::size_t i = 0; i < indices.size(); ++i) {
    bool const last = i + 1 == indices.size();
    if (!indices[i]->type().is_tile()) {
      if (last) return false;
    } else if (last ? !counts(*indices[i], map) : varies(*indices[i], map)) {
      return false;
    }
  }
  return !indices.empty();
}

/// Finds the place of a run's first lane, and whether all lanes lie inside the tensor.
Nest::Run Nest::run_at(ir::Op const& op, Index const& index) {
  Tensor const& tensor = e_.tensor(*op.in("tensor"));
  auto const indices = op.all("indices");
  llvm::Value* inside = b_.getTrue();
  llvm::Value* offset = nullptr;
  llvm::Value* first = nullptr;
  llvm::Value* extent = nullptr;
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    ir::Value const& operand = *indices[axis];
    llvm::Value* number = operand.type().is_tile() ? eval(operand, index) : e_.scalar(operand);
    if (number->getType()->isVectorTy()) number = b_.CreateExtractElement(number, std::uint64_t{0});
    number = b_.CreateSExt(number, b_.getInt64Ty());
    if (axis + 1 < indices.size()) {
      inside = b_.CreateAnd(inside, b_.CreateICmpULT(number, tensor.extents[axis]));
      llvm::Value* const part = b_.CreateMul(number, tensor.strides[axis]);
      offset = offset == nullptr ? part : b_.CreateAdd(offset, part);
      continue;
    }
    first = number;
    // Lanes whose index wraps lie outside.
    extent = e_.smin(tensor.extents[axis], e_.i64(max_integer(operand.type().element())));
    if (operand.type().element() != Element::i64)
      extent = e_.smin(tensor.extents[axis], e_.i64(max_integer(operand.type().element()) + 1));
    offset = offset == nullptr ? number : b_.CreateAdd(offset, number);
  }
  Run run;
  run.first = b_.CreateGEP(e_.arith.memory_type(op.in("tensor")->type().element()), tensor.base, offset);
  llvm::Value* const left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ssub_sat, extent, first);
  llvm::Value* const whole = b_.CreateAnd(b_.CreateICmpSGE(first, e_.i64(0)), b_.CreateICmpSGE(left, e_.i64(lanes_)));
  run.all = mask_ != nullptr ? b_.getFalse() : b_.CreateAnd(inside, whole);
  run.before = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ssub_sat, e_.i64(0), first);
  run.left = left;
  run.inside = inside;
  return run;
}

/// Emits the lanes of a run that lie inside the tensor.
llvm::Value* Nest::valid_lanes(Run const& run) {
  llvm::Value* const numbers = lane_numbers(b_.getInt32Ty());
  auto const lane = [&](llvm::Value* number) {
    llvm::Value* const within = e_.smin(e_.smax(number, e_.i64(0)), e_.i64(lanes_));
    return splat(b_.CreateTrunc(within, b_.getInt32Ty()));
  };
  llvm::Value* const left = b_.CreateSelect(run.inside, run.left, e_.i64(0));
  llvm::Value* const valid =
      b_.CreateAnd(b_.CreateICmpUGE(numbers, lane(run.before)), b_.CreateICmpULT(numbers, lane(left)));
  return mask_ != nullptr ? b_.CreateAnd(valid, mask_) : valid;
}

/// Emits the test whether a row of a scatter lies inside its tensor along all axes but the last.
llvm::Value* Nest::scatters_row(Index const& index) {
  ir::Op const& op = *sinks_[0].op;
  Tensor const& tensor = e_.tensor(*op.in("tensor"));
  auto const indices = op.all("indices");
  llvm::Value* inside = b_.getTrue();
  for (std::size_t axis = 0; axis + 1 < indices.size(); ++axis) {
    ir::Value const& operand = *indices[axis];
    llvm::Value* const number = operand.type().is_tile() ? eval(operand, index) : e_.scalar(operand);
    inside = b_.CreateAnd(inside, b_.CreateICmpULT(b_.CreateSExt(number, b_.getInt64Ty()), tensor.extents[axis]));
  }
  return inside;
}

llvm::Value* Nest::gather_run(ir::Op const& op, Index const& index) {
  Element const element = op.result()->type().element();
  llvm::Type* const many = vector_of(e_.arith.memory_type(element));
  llvm::Align const align(static_cast<std::uint64_t>(bytes(element)));
  llvm::Value* const pad = splat(e_.arith.constant(op.as<ir::GatherOp>().pad));
  Run const run = run_at(op, index);
  llvm::AllocaInst* const result = e_.variable(pad->getType());
  e_.when(
      run.all,
      [&] { b_.CreateStore(e_.arith.from_memory(element, b_.CreateAlignedLoad(many, run.first, align)), result); },
      [&] {
        llvm::Value* const valid = valid_lanes(run);
        llvm::Value* const raw = b_.CreateMaskedLoad(many, run.first, align, valid, llvm::Constant::getNullValue(many));
        b_.CreateStore(b_.CreateSelect(valid, e_.arith.from_memory(element, raw), pad), result);
      });
  return e_.get(result);
}

void Nest::scatter_run(ir::Op const& op, llvm::Value* value, Index const& index) {
  Element const element = op.in("tensor")->type().element();
  llvm::Align const align(static_cast<std::uint64_t>(bytes(element)));
  llvm::Value* const raw = e_.arith.to_memory(element, value);
  Run const run = run_at(op, index);
  e_.when(
      run.all, [&] { b_.CreateAlignedStore(raw, run.first, align); },
      [&] { b_.CreateMaskedStore(raw, run.first, align, valid_lanes(run)); });
}

bool FunctionEmitter::scatter_runs(ir::Op const& op) {
  ir::Type const& type = op.in("tile")->type();
  if (!op.is<ir::ScatterOp>() || !type.is_tile()) return false;
  Nest nest(*this, type.shape(), {{Sink::Kind::scatter, op.in("tile"), &op, {}}});
  if (!nest.scatters_runs()) return false;
  nest.emit();
  return true;
}

bool Nest::scatters_runs() {
  axis_ = shape_.size() - 1;
  return shape_[axis_] >= 4 && runs(*sinks_[0].op, whole_map());
}

}  // namespace tegula::codegen::host
