#include "codegen/host/emitter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include <llvm/IR/IntrinsicsX86.h>

#include "codegen/line_table.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::host {

namespace {

constexpr std::int64_t scratch_alignment = 64;

std::int64_t align_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

}  // namespace

FunctionEmitter::FunctionEmitter(ModuleContext& shared, std::string const& name)
    : b(shared.module.getContext()), arith(b, shared.target.arith), context(shared) {
  llvm::Type* const pointer = b.getPtrTy();
  llvm::Type* const parameters[] = {pointer, b.getInt64Ty(), b.getInt64Ty(), pointer, pointer};
  function_ = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), parameters, false),
                                     llvm::GlobalValue::ExternalLinkage, name, shared.module);
  slots_ = function_->getArg(0);
  first_ = function_->getArg(1);
  last_ = function_->getArg(2);
  workspace_ = function_->getArg(3);
  scratch_ = function_->getArg(4);
  function_->addParamAttr(0, llvm::Attribute::NoAlias);
  entry_ = llvm::BasicBlock::Create(b.getContext(), "entry", function_);
  llvm::BasicBlock* const start = llvm::BasicBlock::Create(b.getContext(), "start", function_);
  b.SetInsertPoint(entry_);
  if (context.lines != nullptr) b.SetCurrentDebugLocation(context.lines->begin(*function_, context.kernel));
  b.CreateBr(start);
  b.SetInsertPoint(start);
  dummy_ = variable(b.getInt64Ty());
  scalars_.emplace_back();
  views_.emplace_back();
}

void FunctionEmitter::finish() {
  if (streamed_) b.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, llvm::ArrayRef<llvm::Type*>(), {});
  b.CreateRetVoid();
}

FunctionEmitter::AtLine::AtLine(FunctionEmitter& emitter, ir::Op const& op)
    : emitter_(emitter), around_(emitter.b.getCurrentDebugLocation()) {
  if (LineTable* const lines = emitter.context.lines)
    emitter.b.SetCurrentDebugLocation(lines->at(*emitter.function_, op.where()));
}

// --- scalars and slots ---------------------------------------------------------------------------------------

llvm::Value* load_slot(llvm::BasicBlock* entry, llvm::Value* slots, llvm::Type* type, std::int64_t slot) {
  llvm::IRBuilder<> at(entry->getTerminator());
  return at.CreateLoad(type, at.CreateConstGEP1_64(at.getInt64Ty(), slots, static_cast<std::uint64_t>(slot)));
}

int first_slot(ir::Function const& function, int parameter) {
  int slot = 0;
  for (int i = 0; i < parameter; ++i) {
    ir::Type const& type = function.parameter(i)->type();
    slot += type.is_tensor() ? 1 + 2 * type.rank() : 1;
  }
  return slot;
}

Tensor const& FunctionEmitter::view(ir::Value const& value) {
  for (auto scope = views_.rbegin(); scope != views_.rend(); ++scope)
    if (auto const found = scope->find(&value); found != scope->end()) return found->second;
  ir::Op const& op = *value.defining_op();
  Tensor result = op.is<ir::PermuteOp>() ? permuted(op) : sliced(op);
  return views_.back()[&value] = std::move(result);
}

Tensor FunctionEmitter::permuted(ir::Op const& op) {
  Tensor const& from = tensor(*op.in<ir::PermuteOp>("tensor"));
  Tensor result = from;
  Extents const& permutation = op.as<ir::PermuteOp>().permutation;
  for (int axis = 0; axis < permutation.size(); ++axis) {
    auto const to = static_cast<std::size_t>(axis), at = static_cast<std::size_t>(permutation[axis]);
    result.extents[to] = from.extents[at];
    result.strides[to] = from.strides[at];
  }
  return result;
}

Tensor FunctionEmitter::sliced(ir::Op const& op) {
  auto const axis = static_cast<std::size_t>(op.as<ir::SliceOp>().axis);
  Tensor result = tensor(*op.in<ir::SliceOp>("tensor"));
  llvm::Value* const extent = result.extents[axis];
  llvm::Value* const begin = smin(smax(scalar(*op.in<ir::SliceOp>("begin")), i64(0)), extent);
  llvm::Value* const end = smin(smax(scalar(*op.in<ir::SliceOp>("end")), begin), extent);
  bool const unit = result.unit_inner && axis + 1 == result.extents.size();
  llvm::Value* const elements = unit ? begin : b.CreateMul(begin, result.strides[axis]);
  result.base = b.CreateGEP(arith.memory_type(op.result()->type().element()), result.base, elements);
  result.extents[axis] = b.CreateSub(end, begin);
  return result;
}

Tensor const& FunctionEmitter::tensor(ir::Value const& parameter) {
  if (parameter.defining_op() != nullptr) return view(parameter);
  Tensor& tensor = tensors_[&parameter];
  if (tensor.base != nullptr) return tensor;
  int const slot = first_slot(context.kernel, parameter.index());
  int const rank = parameter.type().rank();
  tensor.base = load_slot(entry_, slots_, b.getPtrTy(), slot);
  for (int axis = 0; axis < rank; ++axis) {
    tensor.extents.push_back(load_slot(entry_, slots_, b.getInt64Ty(), slot + 1 + axis));
    tensor.strides.push_back(load_slot(entry_, slots_, b.getInt64Ty(), slot + 1 + rank + axis));
  }
  tensor.unit_inner =
      context.kernel.parameter_attributes()[static_cast<std::size_t>(parameter.index())].facts.unit_inner_stride;
  return tensor;
}

llvm::Value* FunctionEmitter::grid_extent(int axis) {
  if (grid_[axis] == nullptr)
    grid_[axis] =
        load_slot(entry_, slots_, b.getInt64Ty(), first_slot(context.kernel, context.kernel.parameter_count()) + axis);
  return grid_[axis];
}

llvm::Value* FunctionEmitter::scalar(ir::Value const& value) {
  for (auto scope = scalars_.rbegin(); scope != scalars_.rend(); ++scope)
    if (auto const found = scope->find(&value); found != scope->end()) return found->second;
  ir::Op const* const op = value.defining_op();
  llvm::Value* result = nullptr;
  if (op == nullptr) {
    if (value.owner_block()->parent_function() == nullptr)
      throw InternalError("host codegen: scalar block argument %" + value.name() + " has no value");
    Element const element = value.type().element();
    int const slot = first_slot(context.kernel, value.index());
    llvm::Value* const bits = load_slot(entry_, slots_, arith.memory_type(element), slot);
    llvm::IRBuilder<> at(entry_->getTerminator());
    HostArith entry_arith(at, context.target.arith);
    result = entry_arith.from_memory(element, bits);
    scalars_.front()[&value] = result;
    return result;
  }
  if (op->is<ir::ConstantOp>()) return arith.constant(op->as<ir::ConstantOp>().value);
  if (op->is<ir::ExtentOp>())
    return tensor(*op->operand()).extents[static_cast<std::size_t>(op->as<ir::ExtentOp>().axis)];
  if (op->is<ir::BlockIndexOp>()) {
    llvm::Value* const index = block_index_[op->as<ir::BlockIndexOp>().axis];
    return index != nullptr ? index : i64(0);
  }
  if (op->is<ir::GridExtentOp>()) return grid_extent(static_cast<int>(op->as<ir::GridExtentOp>().axis));
  if (op->is<ir::MultiprocessorsOp>()) return i64(host_multiprocessors);
  if (op->is<ir::LoadOp>()) return scalars_.back()[&value] = load_scalar(*op);
  if (!op->is(ir::Family::elementwise))
    throw InternalError("host codegen: scalar " + std::string(op->info().mnemonic) + " used before it was emitted");
  std::vector<llvm::Value*> operands;
  for (ir::Value const* operand : op->operands()) operands.push_back(scalar(*operand));
  result = arith.lower(*op, operands);
  scalars_.back()[&value] = result;
  return result;
}

void FunctionEmitter::set_block(llvm::Value* linear) {
  linear_block_ = linear;
  bool used[3] = {false, false, false};
  std::function<void(ir::Block const&)> const find = [&](ir::Block const& region) {
    for (ir::Op const& op : region) {
      if (op.is<ir::BlockIndexOp>()) used[op.as<ir::BlockIndexOp>().axis] = true;
      for (int i = 0; i < op.block_count(); ++i) find(op.block(i));
    }
  };
  find(context.kernel.body());
  // Splits axis by axis from the fastest; the remainder only of axes that are used.
  llvm::Value* rest = linear;
  for (int axis = 0; axis < 3; ++axis) {
    if (std::none_of(used + axis, used + 3, [](bool one) { return one; })) return;
    llvm::Value* const extent = smax(grid_extent(axis), i64(1));
    llvm::Value* const above = axis == 2 ? nullptr : quotient(rest, extent);
    block_index_[axis] = above == nullptr ? rest : b.CreateSub(rest, b.CreateMul(above, extent));
    rest = above;
  }
}

llvm::Value* FunctionEmitter::quotient(llvm::Value* number, llvm::Value* divisor) {
  llvm::AllocaInst* const result = variable(b.getInt64Ty(), number);
  when(b.CreateICmpSGT(divisor, i64(1)), [&] { b.CreateStore(b.CreateUDiv(number, divisor), result); });
  return get(result);
}

void FunctionEmitter::for_each_block(std::function<void(llvm::Value*)> const& body) {
  loop(first_, last_, i64(1), body);
}

// --- control flow --------------------------------------------------------------------------------------------

llvm::BasicBlock* FunctionEmitter::new_block(char const* name) {
  return llvm::BasicBlock::Create(b.getContext(), name, function_);
}

llvm::AllocaInst* FunctionEmitter::variable(llvm::Type* type, llvm::Value* initial) {
  llvm::IRBuilder<> at(entry_, entry_->begin());
  llvm::AllocaInst* const slot = at.CreateAlloca(type);
  if (initial != nullptr) b.CreateStore(initial, slot);
  return slot;
}

void FunctionEmitter::loop(llvm::Value* lower, llvm::Value* upper, llvm::Value* step,
                           std::function<void(llvm::Value*)> const& body) {
  llvm::BasicBlock* const before = b.GetInsertBlock();
  llvm::BasicBlock* const head = new_block("head");
  llvm::BasicBlock* const inside = new_block("loop");
  llvm::BasicBlock* const after = new_block("after");
  b.CreateCondBr(b.CreateICmpSLT(lower, upper), head, after);
  b.SetInsertPoint(head);
  llvm::PHINode* const index = b.CreatePHI(b.getInt64Ty(), 2);
  index->addIncoming(lower, before);
  b.CreateBr(inside);
  b.SetInsertPoint(inside);
  {
    Scope const scope(*this);
    body(index);
  }
  llvm::Value* const next = b.CreateAdd(index, step);
  index->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, upper), head, after);
  b.SetInsertPoint(after);
}

void FunctionEmitter::repeat(std::function<llvm::Value*()> const& body) {
  llvm::BasicBlock *const inside = new_block("repeat"), *const after = new_block("after");
  b.CreateBr(inside);
  b.SetInsertPoint(inside);
  {
    Scope const scope(*this);
    llvm::Value* const again = body();
    b.CreateCondBr(again, inside, after);
  }
  b.SetInsertPoint(after);
}

void FunctionEmitter::when(llvm::Value* condition, std::function<void()> const& yes, std::function<void()> const& no) {
  llvm::BasicBlock* const then = new_block("then");
  llvm::BasicBlock* const other = new_block("else");
  llvm::BasicBlock* const after = new_block("after");
  b.CreateCondBr(condition, then, other);
  b.SetInsertPoint(then);
  {
    Scope const scope(*this);
    yes();
  }
  b.CreateBr(after);
  b.SetInsertPoint(other);
  {
    Scope const scope(*this);
    no();
  }
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

void FunctionEmitter::when(llvm::Value* condition, std::function<void()> const& body) {
  when(condition, body, [] {});
}

// --- buffers -------------------------------------------------------------------------------------------------

int FunctionEmitter::native_lanes(Element element) const {
  return context.target.vector_bytes / (element == Element::f64 ? 8 : 4);
}

llvm::Type* FunctionEmitter::storage_type(Element element) {
  return element == Element::boolean ? b.getInt8Ty() : arith.register_type(element);
}

int FunctionEmitter::storage_bytes(Element element) {
  return element == Element::boolean ? 1 : static_cast<int>(arith.register_type(element)->getPrimitiveSizeInBits() / 8);
}

llvm::Type* FunctionEmitter::storage_type(Buffer const& buffer) {
  if (buffer.packed == 0) return storage_type(buffer.element);
  return b.getIntNTy(static_cast<unsigned>(buffer.packed * buffer.group()));
}

int FunctionEmitter::storage_bytes(Buffer const& buffer) {
  return buffer.packed == 0 ? storage_bytes(buffer.element) : buffer.packed * buffer.group() / 8;
}

std::int64_t FunctionEmitter::padded(std::int64_t extent) const {
  std::int64_t const lanes = context.target.vector_bytes / 4;
  std::int64_t const unit =
      std::min<std::int64_t>(lanes, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(extent))));
  return align_up(extent, unit);
}

Buffer FunctionEmitter::rows_layout(Element element, Extents const& shape) const {
  Buffer layout;
  layout.element = element;
  layout.shape = shape;
  layout.strides = shape;
  std::int64_t stride = 1;
  bool inner = true;
  for (int axis = shape.size() - 1; axis >= 0; --axis) {
    layout.strides[axis] = stride;
    stride *= inner && shape[axis] > 1 ? padded(shape[axis]) : shape[axis];
    if (shape[axis] > 1) inner = false;
  }
  return layout;
}

Buffer FunctionEmitter::panels_layout(Element element, Extents const& shape, int packed) const {
  Buffer layout = rows_layout(element, shape);
  layout.packed = packed;
  std::int64_t const lanes = std::min<std::int64_t>(
      native_lanes(element), static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(shape[1]))));
  layout.panel = static_cast<int>(shape[1] > lanes ? 2 * lanes : lanes);
  layout.panel_stride = shape[0] / layout.group() * layout.panel;
  return layout;
}

std::int64_t FunctionEmitter::buffer_bytes(Buffer const& layout) {
  std::int64_t elements = 1;
  if (layout.panel != 0) {
    elements = (layout.shape[1] + layout.panel - 1) / layout.panel * layout.panel_stride;
  } else {
    for (int axis = 0; axis < layout.shape.size(); ++axis) {
      elements = std::max(elements, layout.strides[axis] * layout.shape[axis]);
      if (layout.shape[axis] > 1) elements = std::max(elements, layout.strides[axis] * padded(layout.shape[axis]));
    }
  }
  return align_up(elements * storage_bytes(layout), scratch_alignment);
}

llvm::Value* FunctionEmitter::scratch(std::int64_t bytes, ir::Op const* owner) {
  std::int64_t const offset = scratch_used_;
  scratch_used_ += align_up(bytes, scratch_alignment);
  if (scratch_used_ > scratch_limit) {
    std::string const subject = owner == nullptr ? "kernel" : std::string(owner->info().mnemonic);
    throw UserError(
        fmt::format(
            "{}: scratch of one host thread: {} bytes needed, {} allowed, {} of them for this value; use smaller tiles",
            subject, scratch_used_, scratch_limit, bytes),
        owner == nullptr ? location() : owner->where());
  }
  context.scratch_bytes = std::max(context.scratch_bytes, scratch_used_);
  return b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), scratch_, static_cast<std::uint64_t>(offset));
}

Buffer FunctionEmitter::allocate(Buffer layout, ir::Op const* owner) {
  // One element is held in a register.
  layout.pointer = layout.shape.product() == 1 && layout.panel == 0
                       ? static_cast<llvm::Value*>(variable(storage_type(layout.element)))
                       : scratch(buffer_bytes(layout), owner);
  return layout;
}

bool FunctionEmitter::contiguous(Buffer const& buffer, int axis) {
  return buffer.panel != 0 ? axis == 1 : buffer.strides[axis] == 1;
}

llvm::Value* FunctionEmitter::address(Buffer const& buffer, Index const& index) {
  llvm::Value* offset = nullptr;
  auto const add = [&](llvm::Value* part) { offset = offset == nullptr ? part : b.CreateAdd(offset, part); };
  if (buffer.panel != 0) {
    llvm::Value* const panel =
        b.CreateLShr(index[1].at, static_cast<std::uint64_t>(std::countr_zero(static_cast<unsigned>(buffer.panel))));
    add(b.CreateMul(panel, i64(buffer.panel_stride)));
    llvm::Value* const k =
        b.CreateLShr(index[0].at, static_cast<std::uint64_t>(std::countr_zero(static_cast<unsigned>(buffer.group()))));
    add(b.CreateMul(k, i64(buffer.panel)));
    add(b.CreateAnd(index[1].at, i64(buffer.panel - 1)));
  } else {
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      if (buffer.shape[static_cast<int>(axis)] != 1)
        add(b.CreateMul(index[axis].at, i64(buffer.strides[static_cast<int>(axis)])));
  }
  return offset == nullptr ? buffer.pointer : b.CreateGEP(storage_type(buffer), buffer.pointer, offset);
}

Buffer const* FunctionEmitter::buffer_of(ir::Value const& value) const {
  auto const found = buffers_.find(&value);
  return found == buffers_.end() ? nullptr : &found->second;
}

Buffer const* FunctionEmitter::panels_of(ir::Value const& value) const {
  auto const found = panels_.find(&value);
  return found == panels_.end() ? nullptr : &found->second;
}

void FunctionEmitter::set_buffer(ir::Value const& value, Buffer buffer) { buffers_[&value] = buffer; }

Buffer FunctionEmitter::target_of(ir::Value const& value, ir::Op const* owner) {
  if (auto const found = targets_.find(&value); found != targets_.end()) return found->second;
  return rows(value.type(), owner);
}

}  // namespace tegula::codegen::host
