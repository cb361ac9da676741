// Lowers accesses to global memory at indices that tiles hold: gather, scatter, atomics. Each element has its address
// and its predicate; adjacent elements move as vectors where the indices are proven to run (assign-layouts).
#include <fmt/format.h>

#include <algorithm>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/inline_ptx.hpp"
#include "codegen/nvptx/ptx/assembly.hpp"
#include "codegen/nvptx/pack_words.hpp"
#include "ir/memory/accesses.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// Finds the elements of a tensor that an op's indices name.
class Places {
 public:
  Places(Emitter& e, ir::Op const& op)
      : e_(e), b_(e.b), tensor_(e.tensors.of(*op.in("tensor"))), bytes_(bytes(op.in("tensor")->type().element())) {
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

/// Runs one of two in each thread, and joins the registers that they give.
template <class Then, class Else>
Registers either(Emitter& e, llvm::Value* condition, Then const& then, Else const& otherwise) {
  llvm::BasicBlock *const yes = e.block("yes"), *const no = e.block("no"), *const join = e.block("join");
  e.b.CreateCondBr(condition, yes, no);
  e.b.SetInsertPoint(yes);
  Registers const from_yes = then();
  llvm::BasicBlock* const end_of_yes = e.b.GetInsertBlock();
  e.b.CreateBr(join);
  e.b.SetInsertPoint(no);
  Registers const from_no = otherwise();
  llvm::BasicBlock* const end_of_no = e.b.GetInsertBlock();
  e.b.CreateBr(join);
  e.b.SetInsertPoint(join);
  Registers result;
  for (std::size_t i = 0; i < from_yes.size(); ++i) {
    llvm::PHINode* const phi = e.b.CreatePHI(from_yes[i]->getType(), 2);
    phi->addIncoming(from_yes[i], end_of_yes);
    phi->addIncoming(from_no[i], end_of_no);
    result.push_back(phi);
  }
  return result;
}

/// Runs `body` in the threads for which `condition` holds, and returns its registers there, else `otherwise`.
template <class Body>
Registers where_true(Emitter& e, llvm::Value* condition, Registers const& otherwise, Body const& body) {
  return either(e, condition, body, [&] { return otherwise; });
}

/// Returns the type that PTX names for the native atomic that combines elements so; empty: there is none.
std::string native_type(ir::AtomicCombine combine, Element element, TargetInfo const& target) {
  std::string const width = fmt::to_string(bits(element));
  switch (combine) {
    case ir::AtomicCombine::add:
      if (element == Element::bf16 && !target.has(Ability::bf16_atomics)) return "";
      if (element == Element::f16 || element == Element::bf16) return "noftz." + std::string(name(element));
      return (is_float(element) ? "f" : "u") + width;
    case ir::AtomicCombine::min:
    case ir::AtomicCombine::max:
      return is_float(element) ? "" : (is_signed(element) ? "s" : "u") + width;
    case ir::AtomicCombine::bit_and:
    case ir::AtomicCombine::bit_or:
    case ir::AtomicCombine::bit_xor:
      break;
    case ir::AtomicCombine::exchange:
      if (bits(element) == 16) return "";
      break;
  }
  return "b" + width;
}

std::string_view ptx_name(ir::AtomicCombine combine) {
  return combine == ir::AtomicCombine::exchange ? "exch"
                                                : ir::enum_names<ir::AtomicCombine>[static_cast<std::size_t>(combine)];
}

/// Names the instruction with its order and scope: "atom.relaxed.gpu.global.".
std::string atomic_with(ir::MemoryOrder order, ir::AtomicScope scope) {
  constexpr char const* scopes[] = {"cta", "gpu", "sys"};
  return "atom." + std::string(ir::enum_names<ir::MemoryOrder>[static_cast<std::size_t>(order)]) + "." +
         scopes[static_cast<int>(scope)] + ".global.";
}

/// Exchanges the bits of an element with those of `value` if they equal `expected`; returns the old bits. `atom`: as
/// atomic_with returns it.
llvm::Value* exchange_if(Emitter& e, std::string const& atom, llvm::Value* address, llvm::Value* expected,
                         llvm::Value* value) {
  ptx::Assembly assembly(e.b);
  std::string text =
      fmt::format("{}cas.b{} {}", atom, value->getType()->getIntegerBitWidth(), assembly.out(value->getType()));
  text += ", [" + assembly.in(address) + "], " + assembly.in(expected);
  return assembly.call(text + ", " + assembly.in(value) + ";", AsmEffect::memory)[0];
}

/// Combines by exchanging until no other thread came between.
llvm::Value* combine_by_exchange(Emitter& e, ir::AtomicUpdateOp const& how, Element element, llvm::Value* address,
                                 llvm::Value* value) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Type* const word = b.getIntNTy(static_cast<unsigned>(bits(element)));
  ptx::Assembly load(b);
  std::string const text = fmt::format("ld.relaxed.sys.global.b{} {}", bits(element), load.out(word));
  llvm::Value* const first = load.call(text + ", [" + load.in(address) + "];", AsmEffect::memory)[0];
  llvm::BasicBlock* const before = b.GetInsertBlock();
  llvm::BasicBlock *const again = e.block("again"), *const done = e.block("done");
  b.CreateBr(again);
  b.SetInsertPoint(again);
  llvm::PHINode* const seen = b.CreatePHI(word, 2);
  seen->addIncoming(first, before);
  llvm::Value* joined = value;
  if (how.combine != ir::AtomicCombine::exchange) {
    llvm::Value* const old = e.widen(e.from_bits(seen, element), element);
    ir::Combine const operation = how.combine == ir::AtomicCombine::add   ? ir::Combine::sum
                                  : how.combine == ir::AtomicCombine::min ? ir::Combine::min
                                                                          : ir::Combine::max;
    joined = e.narrow(e.combine(operation, element, old, e.widen(value, element)), element);
  }
  llvm::Value* const found =
      exchange_if(e, atomic_with(how.order, how.scope), address, seen, e.to_bits(joined, element));
  seen->addIncoming(found, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpEQ(found, seen), done, again);
  b.SetInsertPoint(done);
  return e.from_bits(found, element);
}

llvm::Value* combine_at(Emitter& e, ir::AtomicUpdateOp const& how, Element element, llvm::Value* address,
                        llvm::Value* value) {
  std::string const type = native_type(how.combine, element, e.target);
  if (type.empty()) return combine_by_exchange(e, how, element, address, value);
  bool const bitwise = type[0] == 'b' || bits(element) == 16;
  llvm::Value* const given = bitwise ? e.to_bits(value, element) : value;
  ptx::Assembly assembly(e.b);
  std::string text = atomic_with(how.order, how.scope) + std::string(ptx_name(how.combine)) + "." + type + " " +
                     assembly.out(given->getType());
  text += ", [" + assembly.in(address) + "], ";
  llvm::Value* const old = assembly.call(text + assembly.in(given) + ";", AsmEffect::memory)[0];
  return bitwise ? e.from_bits(old, element) : old;
}

/// Adds to adjacent elements, each on its own; returns the old ones.
Registers add_vector(Emitter& e, ir::AtomicUpdateOp const& how, Element element, llvm::Value* address,
                     llvm::Value* const* values, int count) {
  ptx::Assembly assembly(e.b);
  bool const half = bits(element) == 16;
  std::string text = atomic_with(how.order, how.scope) + (half ? "add.noftz" : "add");
  llvm::Type* const word = half ? static_cast<llvm::Type*>(e.b.getInt16Ty()) : e.type(element);
  std::vector<std::string> old, given;
  for (int i = 0; i < count; ++i) old.push_back(assembly.out(word));
  std::string const at = assembly.in(address);
  for (int i = 0; i < count; ++i) given.push_back(assembly.in(half ? e.to_bits(values[i], element) : values[i]));
  text += fmt::format(".v{}.{} {}", count, half ? name(element) : "f32", ptx::braces(old));
  Registers result;
  for (llvm::Value* each : assembly.call(text + ", [" + at + "], " + ptx::braces(given) + ";", AsmEffect::memory))
    result.push_back(half ? e.from_bits(each, element) : each);
  return result;
}

/// Returns the elements of one access that the op and the layout allow.
int access_width(std::int64_t vector, ir::Type const& tile) {
  if (vector < 2 || tile.rank() == 0) return 1;
  return static_cast<int>(std::min<std::int64_t>(vector, tile.layout()->contiguous(tile.rank() - 1)));
}

/// Emits `access(width)` once where groups of elements lie inside the tensor or outside as a whole. Else emits it for
/// both widths after a test of the innermost extent; registers are joined by phis.
template <class Access>
Registers by_width(Emitter& e, ir::Op const& op, int width, Access const& access) {
  TensorParts const& tensor = e.tensors.of(*op.in("tensor"));
  if (width == 1 || ir::multiple_of_extent(*op.in("tensor"), -1) % width == 0) return access(width);
  llvm::IRBuilder<>& b = e.b;
  return either(
      e, b.CreateICmpEQ(b.CreateAnd(tensor.extents.back(), e.i64(width - 1)), e.i64(0)), [&] { return access(width); },
      [&] { return access(1); });
}

/// Changes the elements inside that this thread owns, `width` adjacent ones at once: change(register, address) returns
/// the old ones.
template <class Change>
Registers change_each(Emitter& e, ir::Op const& op, int width, Change const& change) {
  ir::Type const& type = op.result()->type();
  Places places(e, op);
  llvm::Value* const owner = e.coordinates.owns(*type.layout());
  std::uint32_t const copies = type.layout()->free_bits(layout::Dim::reg);
  Registers const zeros(static_cast<std::size_t>(width), llvm::Constant::getNullValue(e.type(type.element())));
  Registers result;
  for (int reg = 0; reg < type.layout()->registers(); reg += width) {
    if ((static_cast<std::uint32_t>(reg) & copies) != 0) {
      auto const first = static_cast<std::size_t>(reg) & ~static_cast<std::size_t>(copies);
      for (int i = 0; i < width; ++i) result.push_back(result[first + static_cast<std::size_t>(i)]);
      continue;
    }
    Places::Place const place = places.of(reg);
    for (llvm::Value* old : where_true(e, both(e, owner, place.inside), zeros,
                                       [&] { return change(static_cast<std::size_t>(reg), place.address); }))
      result.push_back(old);
  }
  return result;
}

void refuse_scalar(ir::Op const& op) {
  if (op.result()->type().is_scalar())
    refuse(op, "an atomic of a scalar reaches code generation; run share-atomic-results first");
}

}  // namespace

void lower(ir::GatherOp const& attributes, ir::Op const& op, Emitter& e) {
  ir::Type const& type = op.result()->type();
  Element const element = type.element();
  llvm::Value* const pad = e.constant(attributes.pad);
  std::string const space = e.tensors.of(*op.in<ir::GatherOp>("tensor")).constant ? "global.nc" : "global";
  auto const access = [&](int width) {
    Places places(e, op);
    Words const words = words_for(element, width);
    std::vector<llvm::Value*> const pads(static_cast<std::size_t>(width), pad);
    Registers result;
    for (int reg = 0; reg < type.layout()->registers(); reg += width) {
      Places::Place const place = places.of(reg);
      Registers otherwise;
      for (int at = 0; at < width; at += words.elements)
        otherwise.push_back(pack_word(e, element, words, &pads[static_cast<std::size_t>(at)]));
      for (llvm::Value* word : load_vector(e.b, space, place.inside, place.address, 0, otherwise, words.bits))
        unpack_word(e, element, words, word, result);
    }
    return result;
  };
  e.set(*op.result(), by_width(e, op, access_width(attributes.vector, type), access));
}

void lower(ir::ScatterOp const& attributes, ir::Op const& op, Emitter& e) {
  ir::Type const& type = op.in<ir::ScatterOp>("tile")->type();
  Element const element = type.element();
  Registers const& values = e.get(*op.in<ir::ScatterOp>("tile"));
  llvm::Value* const owner = e.coordinates.owns(*type.layout());
  std::uint32_t const copies = type.layout()->free_bits(layout::Dim::reg);
  auto const access = [&](int width) {
    Places places(e, op);
    Words const words = words_for(element, width);
    for (int reg = 0; reg < type.layout()->registers(); reg += width) {
      if ((static_cast<std::uint32_t>(reg) & copies) != 0) continue;
      Places::Place const place = places.of(reg);
      Registers packed;
      for (int at = 0; at < width; at += words.elements)
        packed.push_back(pack_word(e, element, words, &values[static_cast<std::size_t>(reg + at)]));
      store_vector(e.b, "global", both(e, owner, place.inside), place.address, 0, packed, words.bits);
    }
    return Registers();
  };
  by_width(e, op, access_width(attributes.vector, type), access);
}

void lower(ir::AtomicUpdateOp const& attributes, ir::Op const& op, Emitter& e) {
  refuse_scalar(op);
  Registers const& values = e.get(*op.in<ir::AtomicUpdateOp>("tile"));
  Element const element = op.result()->type().element();
  auto const access = [&](int width) {
    return change_each(e, op, width, [&](std::size_t reg, llvm::Value* address) {
      if (width > 1) return add_vector(e, attributes, element, address, &values[reg], width);
      return Registers{combine_at(e, attributes, element, address, values[reg])};
    });
  };
  e.set(*op.result(), by_width(e, op, access_width(attributes.vector, op.result()->type()), access));
}

void lower(ir::CompareExchangeOp const& attributes, ir::Op const& op, Emitter& e) {
  refuse_scalar(op);
  Registers const& values = e.get(*op.in<ir::CompareExchangeOp>("tile"));
  Registers const& expected = e.get(*op.in<ir::CompareExchangeOp>("expected"));
  Element const element = op.result()->type().element();
  std::string const atom = atomic_with(attributes.order, attributes.scope);
  e.set(*op.result(), change_each(e, op, 1, [&](std::size_t reg, llvm::Value* address) {
    llvm::Value* const wanted = e.to_bits(expected[reg], element);
    return Registers{e.from_bits(exchange_if(e, atom, address, wanted, e.to_bits(values[reg], element)), element)};
  }));
}

}  // namespace tegula::codegen::nvptx
