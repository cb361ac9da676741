// Lowers accesses to global memory at indices that tiles hold: gather, scatter, atomics. Each element has its address
// and its predicate; a gather takes whole vectors where its indices run.
#include <algorithm>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/inline_ptx.hpp"
#include "codegen/nvptx/ptx/assembly.hpp"
#include "codegen/nvptx/words.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// Finds the elements of a tensor that an op's indices name.
class Places {
 public:
  Places(Emitter& e, ir::Op const& op)
      : e_(e), b_(e.b), tensor_(e.tensor(*op.in("tensor"))), bytes_(bytes(op.in("tensor")->type().element())) {
    for (ir::Value const* index : op.all("indices")) indices_.push_back(&e.get(*index));
  }

  /// Holds the address of a register's element, and whether it lies inside the tensor.
  struct Place {
    llvm::Value* address = nullptr;
    llvm::Value* inside = nullptr;
  };
  Place of(int reg) {
    Place place;
    llvm::Value* offset = e_.i64(0);
    for (std::size_t axis = 0; axis < indices_.size(); ++axis) {
      Registers const& all = *indices_[axis];
      llvm::Value* const index =
          b_.CreateSExt(all[all.size() == 1 ? 0 : static_cast<std::size_t>(reg)], b_.getInt64Ty());
      llvm::Value* const in = b_.CreateICmpULT(index, tensor_.extents[axis]);  // a negative index is large
      place.inside = place.inside == nullptr ? in : b_.CreateAnd(place.inside, in);
      bool const unit = tensor_.attributes.facts.unit_inner_stride && axis + 1 == indices_.size();
      offset = b_.CreateAdd(offset, unit ? index : b_.CreateMul(index, tensor_.strides[axis]));
    }
    place.address = b_.CreateAdd(tensor_.address, b_.CreateMul(offset, e_.i64(bytes_)));
    return place;
  }

 private:
  Emitter& e_;
  llvm::IRBuilder<>& b_;
  TensorParts const& tensor_;
  int bytes_;
  std::vector<Registers const*> indices_;
};

llvm::Value* both(Emitter& e, llvm::Value* a, llvm::Value* b) { return a == nullptr ? b : e.b.CreateAnd(a, b); }

/// Runs `body` in the threads for which `condition` holds, and gives its value there, else `otherwise`.
template <class Body>
llvm::Value* where_true(Emitter& e, llvm::Value* condition, llvm::Value* otherwise, Body const& body) {
  llvm::BasicBlock* const from = e.b.GetInsertBlock();
  llvm::BasicBlock *const inside = e.block("inside"), *const join = e.block("join");
  e.b.CreateCondBr(condition, inside, join);
  e.b.SetInsertPoint(inside);
  llvm::Value* const value = body();
  llvm::BasicBlock* const end = e.b.GetInsertBlock();
  e.b.CreateBr(join);
  e.b.SetInsertPoint(join);
  llvm::PHINode* const phi = e.b.CreatePHI(value->getType(), 2);
  phi->addIncoming(value, end);
  phi->addIncoming(otherwise, from);
  return phi;
}

/// Gives the type that PTX names for the native atomic that combines elements so; empty: there is none.
std::string native_type(ir::AtomicCombine combine, Element element) {
  std::string const width = std::to_string(bits(element));
  switch (combine) {
    case ir::AtomicCombine::add:
      if (element == Element::f16 || element == Element::bf16) return "noftz." + std::string(name(element));
      return (is_float(element) ? "f" : "u") + width;
    case ir::AtomicCombine::min:
    case ir::AtomicCombine::max:
      return is_float(element) ? "" : (is_signed(element) ? "s" : "u") + width;
    case ir::AtomicCombine::bit_and:
    case ir::AtomicCombine::bit_or:
    case ir::AtomicCombine::bit_xor:
    case ir::AtomicCombine::exchange:
      break;
  }
  return "b" + width;
}

std::string_view ptx_name(ir::AtomicCombine combine) {
  return combine == ir::AtomicCombine::exchange ? "exch"
                                                : ir::enum_names<ir::AtomicCombine>[static_cast<std::size_t>(combine)];
}

constexpr char const* atomic_in_device = "atom.relaxed.gpu.global.";

/// Exchanges the bits of an element with those of `value` if they equal `expected`; gives the old bits.
llvm::Value* exchange_if(Emitter& e, llvm::Value* address, llvm::Value* expected, llvm::Value* value) {
  ptx::Assembly assembly(e.b);
  std::string text = atomic_in_device + ("cas.b" + std::to_string(value->getType()->getIntegerBitWidth())) + " " +
                     assembly.out(value->getType());
  text += ", [" + assembly.in(address) + "], " + assembly.in(expected);
  return assembly.call(text + ", " + assembly.in(value) + ";", AsmEffect::memory)[0];
}

/// Combines by exchanging until no other thread came between.
llvm::Value* combine_by_exchange(Emitter& e, ir::AtomicCombine combine, Element element, llvm::Value* address,
                                 llvm::Value* value) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Type* const word = b.getIntNTy(static_cast<unsigned>(bits(element)));
  ptx::Assembly load(b);
  std::string const text = "ld.relaxed.gpu.global.b" + std::to_string(bits(element)) + " " + load.out(word);
  llvm::Value* const first = load.call(text + ", [" + load.in(address) + "];", AsmEffect::memory)[0];
  llvm::BasicBlock* const before = b.GetInsertBlock();
  llvm::BasicBlock *const again = e.block("again"), *const done = e.block("done");
  b.CreateBr(again);
  b.SetInsertPoint(again);
  llvm::PHINode* const seen = b.CreatePHI(word, 2);
  seen->addIncoming(first, before);
  llvm::Value* const old = e.widen(e.from_bits(seen, element), element);
  ir::Combine const operation = combine == ir::AtomicCombine::min ? ir::Combine::min : ir::Combine::max;
  llvm::Value* const joined = e.narrow(e.combine(operation, element, old, e.widen(value, element)), element);
  llvm::Value* const found = exchange_if(e, address, seen, e.to_bits(joined, element));
  seen->addIncoming(found, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpEQ(found, seen), done, again);
  b.SetInsertPoint(done);
  return e.from_bits(found, element);
}

llvm::Value* combine_at(Emitter& e, ir::AtomicCombine combine, Element element, llvm::Value* address,
                        llvm::Value* value) {
  std::string const type = native_type(combine, element);
  if (type.empty()) return combine_by_exchange(e, combine, element, address, value);
  bool const bitwise = type[0] == 'b' || bits(element) == 16;
  llvm::Value* const given = bitwise ? e.to_bits(value, element) : value;
  ptx::Assembly assembly(e.b);
  std::string text =
      atomic_in_device + std::string(ptx_name(combine)) + "." + type + " " + assembly.out(given->getType());
  text += ", [" + assembly.in(address) + "], ";
  llvm::Value* const old = assembly.call(text + assembly.in(given) + ";", AsmEffect::memory)[0];
  return bitwise ? e.from_bits(old, element) : old;
}

/// Changes each element inside that this thread owns: change(register, address) gives the old one.
template <class Change>
void change_each(Emitter& e, ir::Op const& op, Change const& change) {
  ir::Type const& type = op.result()->type();
  if (type.is_scalar()) refuse(op, "an atomic of a scalar reaches code generation; run share-atomic-results first");
  Places places(e, op);
  llvm::Value* const owner = e.owns(*type.layout());
  std::uint32_t const copies = type.layout()->free_bits(layout::Dim::reg);
  llvm::Value* const zero = llvm::Constant::getNullValue(e.type(type.element()));
  Registers result;
  for (int reg = 0; reg < type.layout()->registers(); ++reg) {
    if ((static_cast<std::uint32_t>(reg) & copies) != 0) {
      result.push_back(result[static_cast<std::size_t>(reg) & ~static_cast<std::size_t>(copies)]);
      continue;
    }
    Places::Place const place = places.of(reg);
    result.push_back(where_true(e, both(e, owner, place.inside), zero,
                                [&] { return change(static_cast<std::size_t>(reg), place.address); }));
  }
  e.set(*op.result(), std::move(result));
}

}  // namespace

void lower(ir::GatherOp const& attributes, ir::Op const& op, Emitter& e) {
  ir::Type const& type = op.result()->type();
  Element const element = type.element();
  llvm::Value* const pad = e.constant(attributes.pad);
  std::string const space = e.tensor(*op.in<ir::GatherOp>("tensor")).constant ? "global.nc" : "global";
  Places places(e, op);
  Words const words = words_for(element, 1);
  Registers result;
  for (int reg = 0; reg < type.layout()->registers(); ++reg) {
    Places::Place const place = places.of(reg);
    llvm::Value* const otherwise = pack_word(e, element, words, &pad);
    for (llvm::Value* word : load_vector(e.b, space, place.inside, place.address, 0, {otherwise}, words.bits))
      unpack_word(e, element, words, word, result);
  }
  e.set(*op.result(), std::move(result));
}

void lower(ir::ScatterOp const&, ir::Op const& op, Emitter& e) {
  ir::Type const& type = op.in<ir::ScatterOp>("tile")->type();
  Element const element = type.element();
  Registers const& values = e.get(*op.in<ir::ScatterOp>("tile"));
  Places places(e, op);
  llvm::Value* const owner = e.owns(*type.layout());
  std::uint32_t const copies = type.layout()->free_bits(layout::Dim::reg);
  Words const words = words_for(element, 1);
  for (int reg = 0; reg < type.layout()->registers(); ++reg) {
    if ((static_cast<std::uint32_t>(reg) & copies) != 0) continue;
    Places::Place const place = places.of(reg);
    store_vector(e.b, "global", both(e, owner, place.inside), place.address, 0,
                 {pack_word(e, element, words, &values[static_cast<std::size_t>(reg)])}, words.bits);
  }
}

void lower(ir::AtomicUpdateOp const& attributes, ir::Op const& op, Emitter& e) {
  Registers const& values = e.get(*op.in<ir::AtomicUpdateOp>("tile"));
  Element const element = op.result()->type().element();
  change_each(e, op, [&](std::size_t reg, llvm::Value* address) {
    return combine_at(e, attributes.combine, element, address, values[reg]);
  });
}

void lower(ir::CompareExchangeOp const&, ir::Op const& op, Emitter& e) {
  Registers const& values = e.get(*op.in<ir::CompareExchangeOp>("tile"));
  Registers const& expected = e.get(*op.in<ir::CompareExchangeOp>("expected"));
  Element const element = op.result()->type().element();
  change_each(e, op, [&](std::size_t reg, llvm::Value* address) {
    return e.from_bits(exchange_if(e, address, e.to_bits(expected[reg], element), e.to_bits(values[reg], element)),
                       element);
  });
}

}  // namespace tegula::codegen::nvptx
