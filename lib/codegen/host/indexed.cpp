// Emits accesses of single elements: loads of scalars, scatters and atomics. Gathers are part of nests.
#include "codegen/host/emitter.hpp"
#include "codegen/host/paths.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::host {

namespace {

/// Returns LLVM's op for an atomic that it lowers without a call or a conversion; nothing: exchange in a loop.
std::optional<llvm::AtomicRMWInst::BinOp> native(ir::AtomicCombine combine, Element element) {
  using Op = llvm::AtomicRMWInst;
  bool const floats = is_float(element);
  switch (combine) {
    case ir::AtomicCombine::add:
      if (!floats) return Op::Add;
      return bits(element) >= 32 ? std::optional(Op::FAdd) : std::nullopt;
    case ir::AtomicCombine::min:
      return floats ? std::nullopt : std::optional(is_signed(element) ? Op::Min : Op::UMin);
    case ir::AtomicCombine::max:
      return floats ? std::nullopt : std::optional(is_signed(element) ? Op::Max : Op::UMax);
    case ir::AtomicCombine::bit_and:
      return Op::And;
    case ir::AtomicCombine::bit_or:
      return Op::Or;
    case ir::AtomicCombine::bit_xor:
      return Op::Xor;
    case ir::AtomicCombine::exchange:
      return Op::Xchg;
  }
  return std::nullopt;
}

constexpr auto relaxed = llvm::AtomicOrdering::Monotonic;

llvm::AtomicOrdering ordering(ir::MemoryOrder order) {
  switch (order) {
    case ir::MemoryOrder::relaxed:
      break;
    case ir::MemoryOrder::acquire:
      return llvm::AtomicOrdering::Acquire;
    case ir::MemoryOrder::release:
      return llvm::AtomicOrdering::Release;
    case ir::MemoryOrder::acq_rel:
      return llvm::AtomicOrdering::AcquireRelease;
  }
  return relaxed;
}

}  // namespace

bool changes_elements(ir::Op const& op) {
  return op.info().effects.writes(ir::Space::global) && op.info().has(ir::one_layout);
}

FunctionEmitter::Place FunctionEmitter::place(ir::Value const& parameter, std::vector<llvm::Value*> const& at) {
  Tensor const& from = tensor(parameter);
  Place result{nullptr, b.getTrue()};
  llvm::Value* offset = i64(0);
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    result.inside = b.CreateAnd(result.inside, b.CreateICmpULT(at[axis], from.extents[axis]));
    bool const unit = from.unit_inner && axis + 1 == at.size();
    offset = b.CreateAdd(offset, unit ? at[axis] : b.CreateMul(at[axis], from.strides[axis]));
  }
  result.address = b.CreateGEP(arith.memory_type(parameter.type().element()), from.base, offset);
  return result;
}

llvm::Value* FunctionEmitter::load_scalar(ir::Op const& op) {
  ir::Value const& parameter = *op.in<ir::LoadOp>("tensor");
  Element const element = parameter.type().element();
  record_access(context.paths, op, {1, "one element"});
  std::vector<llvm::Value*> at;
  for (ir::Value const* offset : op.all<ir::LoadOp>("offsets")) at.push_back(scalar(*offset));
  Place const place = this->place(parameter, at);
  llvm::Value* const safe = b.CreateSelect(place.inside, place.address, dummy());
  llvm::Align const align(static_cast<std::uint64_t>(bytes(element)));
  llvm::Value* const loaded = b.CreateAlignedLoad(arith.memory_type(element), safe, align);
  return b.CreateSelect(place.inside, arith.from_memory(element, loaded), arith.constant(op.as<ir::LoadOp>().pad));
}

llvm::Value* FunctionEmitter::exchange_if(ir::MemoryOrder order, llvm::Value* address, llvm::Value* expected,
                                          llvm::Value* value) {
  llvm::Type* const word = b.getIntNTy(value->getType()->getPrimitiveSizeInBits());
  llvm::Align const align(word->getIntegerBitWidth() / 8);
  llvm::Value* const pair =
      b.CreateAtomicCmpXchg(address, b.CreateBitCast(expected, word), b.CreateBitCast(value, word), align,
                            ordering(order), acquires(order) ? llvm::AtomicOrdering::Acquire : relaxed);
  return b.CreateBitCast(b.CreateExtractValue(pair, 0), value->getType());
}

llvm::Value* FunctionEmitter::update(ir::AtomicUpdateOp const& how, Element element, llvm::Value* address,
                                     llvm::Value* value) {
  ir::AtomicCombine const combine = how.combine;
  llvm::Align const align(static_cast<std::uint64_t>(bytes(element)));
  if (auto const op = native(combine, element))
    return arith.from_memory(
        element, b.CreateAtomicRMW(*op, address, arith.to_memory(element, value), align, ordering(how.order)));
  llvm::Type* const memory = arith.memory_type(element);
  llvm::Type* const word = b.getIntNTy(memory->getPrimitiveSizeInBits());
  llvm::LoadInst* const first = b.CreateAlignedLoad(word, address, align);
  first->setAtomic(relaxed);
  llvm::BasicBlock* const before = b.GetInsertBlock();
  llvm::BasicBlock *const again = new_block("again"), *const done = new_block("done");
  b.CreateBr(again);
  b.SetInsertPoint(again);
  llvm::PHINode* const seen = b.CreatePHI(word, 2);
  seen->addIncoming(first, before);
  llvm::Value* const old = arith.from_memory(element, b.CreateBitCast(seen, memory));
  llvm::Value* joined = nullptr;
  if (combine == ir::AtomicCombine::add)
    joined = arith.round_to(element, arith.add(element, old, value));
  else
    joined = combine == ir::AtomicCombine::min ? arith.min(element, old, value) : arith.max(element, old, value);
  llvm::Value* const found =
      exchange_if(how.order, address, seen, b.CreateBitCast(arith.to_memory(element, joined), word));
  seen->addIncoming(found, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpEQ(found, seen), done, again);
  b.SetInsertPoint(done);
  return arith.from_memory(element, b.CreateBitCast(found, memory));
}

llvm::Value* FunctionEmitter::change_element(ir::Op const& op, llvm::Value* address,
                                             std::function<llvm::Value*(ir::Value const&)> const& element_of) {
  Element const element = op.in("tensor")->type().element();
  llvm::Value* const value = element_of(*op.in("tile"));
  if (op.is<ir::AtomicUpdateOp>()) return update(op.as<ir::AtomicUpdateOp>(), element, address, value);
  if (op.is<ir::CompareExchangeOp>())
    return arith.from_memory(
        element, exchange_if(op.as<ir::CompareExchangeOp>().order, address,
                             arith.to_memory(element, element_of(*op.in<ir::CompareExchangeOp>("expected"))),
                             arith.to_memory(element, value)));
  llvm::Align const align(static_cast<std::uint64_t>(bytes(element)));
  b.CreateAlignedStore(arith.to_memory(element, value), address, align);
  return nullptr;
}

void FunctionEmitter::for_each_element(ir::Type const& type, std::function<void(Index const&)> const& body) {
  Index index(static_cast<std::size_t>(type.rank()), Axis{i64(0), false});
  std::function<void(int)> const over = [&](int axis) {
    if (axis == type.rank()) return body(index);
    loop(i64(0), i64(type.shape()[axis]), i64(1), [&](llvm::Value* i) {
      index[static_cast<std::size_t>(axis)].at = i;
      over(axis + 1);
    });
    index[static_cast<std::size_t>(axis)].at = i64(0);
  };
  over(0);
}

Buffer FunctionEmitter::rows_of(ir::Value const& tile, ir::Op const& user) {
  if (Buffer const* const buffer = buffer_of(tile)) return *buffer;
  Buffer const buffer = rows(tile.type(), &user);
  materialise(tile, buffer);
  return buffer;
}

llvm::Value* FunctionEmitter::element(Buffer const& buffer, Index const& index) {
  llvm::Value* const raw = b.CreateLoad(storage_type(buffer.element), address(buffer, index));
  return buffer.element == Element::boolean ? arith.from_memory(Element::boolean, raw) : raw;
}

void FunctionEmitter::item(ir::Op const& op) {
  ir::Type const& type = op.operand(0)->type();
  std::int64_t const used = scratch_used_;
  Buffer const tile = rows_of(*op.operand(0), op);
  Index index(static_cast<std::size_t>(type.rank()), Axis{i64(0), false});
  llvm::Value* inside = b.getTrue();
  if (op.is<ir::ItemAtOp>())
    for (int axis = 0; axis < type.rank(); ++axis) {
      llvm::Value* const place = scalar(*op.in<ir::ItemAtOp>("places", axis));
      llvm::Value* const fits = b.CreateICmpULT(place, i64(type.shape()[axis]));
      inside = b.CreateAnd(inside, fits);
      index[static_cast<std::size_t>(axis)].at = b.CreateSelect(fits, place, i64(0));
    }
  llvm::Value* const found = element(tile, index);
  set_scalar(*op.result(), b.CreateSelect(inside, found, llvm::Constant::getNullValue(found->getType())));
  scratch_used_ = used;
}

// Visits the elements in row-major order, so that of several at one place the last one stays.
void FunctionEmitter::change_elements(ir::Op const& op) {
  if (scatter_runs(op)) return;
  ir::Value const& parameter = *op.in("tensor");
  ir::Type const& type = op.in("tile")->type();
  record_access(context.paths, op, {1, "each element has indices of its own"});
  llvm::Type* const held = arith.register_type(type.element());
  bool const gives_tile = op.result_count() == 1 && type.is_tile();
  Buffer const result = gives_tile ? target_of(*op.result(), &op) : Buffer{};
  llvm::AllocaInst* const result_scalar =
      op.result_count() == 1 && !gives_tile ? variable(held, llvm::Constant::getNullValue(held)) : nullptr;
  std::int64_t const used = scratch_used_;
  std::map<ir::Value const*, Buffer> tiles;
  for (ir::Value const* operand : op.operands())
    if (operand->type().is_tile() && !tiles.contains(operand)) tiles.emplace(operand, rows_of(*operand, op));
  for_each_element(type, [&](Index const& index) {
    auto const element_of = [&](ir::Value const& value) {
      return value.type().is_tile() ? element(tiles.at(&value), index) : scalar(value);
    };
    std::vector<llvm::Value*> at;
    for (ir::Value const* operand : op.all("indices")) at.push_back(b.CreateSExt(element_of(*operand), b.getInt64Ty()));
    Place const place = this->place(parameter, at);
    if (gives_tile) b.CreateStore(llvm::Constant::getNullValue(storage_type(result.element)), address(result, index));
    when(place.inside, [&] {
      llvm::Value* const old = change_element(op, place.address, element_of);
      if (gives_tile) b.CreateStore(old, address(result, index));
      if (result_scalar != nullptr) b.CreateStore(old, result_scalar);
    });
  });
  scratch_used_ = used;
  if (gives_tile) set_buffer(*op.result(), result);
  if (result_scalar != nullptr) set_scalar(*op.result(), get(result_scalar));
}

}  // namespace tegula::codegen::host
