// Lowers buffers. Buffers and views are addresses, of 32 bits in shared memory and of 64 in global memory; tiles move
// by stmatrix and ldmatrix where the layouts allow, else by the widest vectors.
#include <llvm/IR/Module.h>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/inline_ptx.hpp"
#include "codegen/nvptx/module_memory.hpp"
#include "codegen/nvptx/ptx/mbarrier.hpp"
#include "codegen/nvptx/ptx/warp.hpp"
#include "codegen/nvptx/shared_address.hpp"
#include "codegen/nvptx/pack_words.hpp"
#include "ir/memory/exchange.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// Names the state space of a buffer as load_vector and store_vector take it.
char const* space_of(ir::Type const& buffer) { return buffer.is_global() ? "global" : "shared"; }

/// Loads adjacent elements.
Registers load(Emitter& e, ir::Type const& view, Element element, llvm::Value* base, std::int64_t constant, int count) {
  Words const words = words_for(element, count);
  llvm::Type* const word =
      words.elements == 1 && words.bits >= 32 ? e.type(element) : e.b.getIntNTy(words.bits < 32 ? 16 : 32);
  Registers const shape(static_cast<std::size_t>(count / words.elements), llvm::PoisonValue::get(word));
  Registers result;
  for (llvm::Value* loaded : load_vector(e.b, space_of(view), nullptr, base, constant, shape, words.bits))
    unpack_word(e, element, words, loaded, result);
  return result;
}

/// Stores adjacent elements.
void store(Emitter& e, ir::Type const& view, Element element, llvm::Value* predicate, llvm::Value* base,
           std::int64_t constant, Registers const& elements) {
  Words const words = words_for(element, static_cast<int>(elements.size()));
  Registers packed;
  for (std::size_t at = 0; at < elements.size(); at += static_cast<std::size_t>(words.elements))
    packed.push_back(pack_word(e, element, words, &elements[at]));
  store_vector(e.b, space_of(view), predicate, base, constant, packed, words.bits);
}

/// Makes the variable behind a buffer in global memory.
llvm::Value* global_buffer(ir::BufferAllocOp const& attributes, ir::Type const& type, Emitter& e) {
  std::string const name = attributes.symbol.empty() ? "tegula_buffer" : std::string(attributes.symbol.view());
  llvm::GlobalVariable& memory =
      zeroed_memory(e, name, ir::buffer_bytes(type), std::max<std::int64_t>(attributes.align, 128));
  return e.b.CreatePtrToInt(&memory, e.b.getInt64Ty());
}

}  // namespace

void lower(ir::BufferAllocOp const& attributes, ir::Op const& op, Emitter& e) {
  ir::Type const& type = op.result()->type();
  if (type.is_global()) return e.set(*op.result(), {global_buffer(attributes, type, e)});
  if (attributes.offset < 0) throw InternalError("nvptx: buffer_alloc has no offset; shared memory is not allocated");
  e.set(*op.result(), {e.shared_address(e.i32(attributes.offset))});
}

void lower(ir::BufferDeallocOp const&, ir::Op const&, Emitter&) {}

void lower(ir::ViewOp const&, ir::Op const& op, Emitter& e) {
  ir::Type const& source = op.in<ir::ViewOp>("source")->type();
  llvm::Value* const from = e.scalar(*op.in<ir::ViewOp>("source"));
  llvm::Value* offset = nullptr;
  if (source.is_mbarrier())
    offset = e.b.CreateMul(e.b.CreateZExtOrTrunc(e.scalar(*op.in<ir::ViewOp>("offsets")), e.b.getInt32Ty()),
                           e.i32(ptx::mbarrier_bytes));
  else
    offset = box_offset(e, op, source, op.result()->type().shape(), op.all<ir::ViewOp>("offsets"));
  e.set(*op.result(), {e.b.CreateAdd(from, e.b.CreateZExt(offset, from->getType()))});
}

void lower(ir::TransViewOp const&, ir::Op const& op, Emitter& e) { e.set(*op.result(), {e.scalar(*op.operand())}); }

Registers load_tile(Emitter& e, ir::Op const& op, ir::Type const& view, llvm::Value* address, ir::Type const& tile) {
  Element const element = tile.element();
  SharedAccess access(e, op, view, address, *tile.layout(), false);
  Registers result(static_cast<std::size_t>(tile.layout()->registers()));
  auto const give = [&](std::vector<int> const& registers, Registers const& values) {
    for (std::size_t i = 0; i < registers.size(); ++i) result[static_cast<std::size_t>(registers[i])] = values[i];
  };
  if (auto const& plan = access.matrices()) {
    for (target::MatrixStep const& step : plan->steps) {
      Registers const words = ptx::ldmatrix(e.b, access.of(step), plan->matrices, plan->transposed);
      for (std::size_t j = 0; j < words.size(); ++j) {
        llvm::Value* const word = bytes(element) == 4 ? e.b.CreateBitCast(words[j], e.type(element)) : words[j];
        give(step.registers[j], unpack_words(e, element, {word}, step.registers[j].size()));
      }
    }
  } else {
    for (layout::VectorAccess const& vector : access.vectors().accesses) {
      SharedAccess::Address const at = access.of(vector);
      give(vector.registers, load(e, view, element, at.base, at.constant, access.vectors().width));
    }
    for (auto const& [copy, from] : access.vectors().copies)
      result[static_cast<std::size_t>(copy)] = result[static_cast<std::size_t>(from)];
  }
  return result;
}

void lower(ir::BufferLoadOp const&, ir::Op const& op, Emitter& e) {
  ir::Type const &type = op.result()->type(), &view = op.operand()->type();
  llvm::Value* const address = e.scalar(*op.operand());
  if (type.is_scalar()) {
    llvm::Value* const value = load(e, view, type.element(), address, 0, 1)[0];
    // All lanes read one place; through lane 0 ptxas knows that branches on it are taken by whole warps.
    e.set(*op.result(), {e.elected ? value : e.shuffle_from(value, type.element(), e.i32(0))});
    return;
  }
  e.set(*op.result(), load_tile(e, op, view, address, type));
}

void store_tile(Emitter& e, ir::Op const& op, ir::Type const& view, llvm::Value* address, ir::Type const& tile,
                Registers const& values) {
  Element const element = tile.element();
  auto const take = [&](std::vector<int> const& registers) {
    Registers result;
    for (int reg : registers) result.push_back(values[static_cast<std::size_t>(reg)]);
    return result;
  };
  SharedAccess access(e, op, view, address, *tile.layout(), true);
  if (auto const& plan = access.matrices()) {
    for (target::MatrixStep const& step : plan->steps) {
      Registers words;
      for (std::vector<int> const& registers : step.registers)
        words.push_back(e.b.CreateBitCast(pack_words(e, element, take(registers))[0], e.b.getInt32Ty()));
      ptx::stmatrix(e.b, access.of(step), words, plan->transposed);
    }
    return;
  }
  llvm::Value* const owner = e.coordinates.owns(*tile.layout());
  for (layout::VectorAccess const& vector : access.vectors().accesses) {
    SharedAccess::Address const at = access.of(vector);
    store(e, view, element, owner, at.base, at.constant, take(vector.registers));
  }
}

void lower(ir::BufferStoreOp const&, ir::Op const& op, Emitter& e) {
  ir::Value const &view = *op.in<ir::BufferStoreOp>("destination"), &value = *op.in<ir::BufferStoreOp>("value");
  llvm::Value* const address = e.scalar(view);
  Registers const& values = e.get(value);
  if (value.type().is_scalar()) return store(e, view.type(), value.type().element(), nullptr, address, 0, values);
  store_tile(e, op, view.type(), address, value.type(), values);
}

void lower(ir::PeerStoreOp const&, ir::Op const& op, Emitter& e) {
  ir::Value const &view = *op.in<ir::PeerStoreOp>("destination"), &value = *op.in<ir::PeerStoreOp>("value");
  ir::Type const& type = value.type();
  llvm::Value* const rank = e.b.CreateZExtOrTrunc(e.scalar(*op.in<ir::PeerStoreOp>("rank")), e.b.getInt32Ty());
  llvm::Value* const address = ptx::mapa(e.b, e.scalar(view), rank);
  llvm::Value* const barrier = ptx::mapa(e.b, e.scalar(*op.in<ir::PeerStoreOp>("mbarrier")), rank);
  Registers const& values = e.get(value);
  SharedAccess access(e, op, view.type(), address, *type.layout(), true);
  llvm::Value* const owner = e.coordinates.owns(*type.layout());
  for (layout::VectorAccess const& vector : access.vectors().accesses) {
    SharedAccess::Address const at = access.of(vector);
    Registers words;
    for (int reg : vector.registers) words.push_back(values[static_cast<std::size_t>(reg)]);
    ptx::store_async(e.b, at.base, at.constant, words, barrier, owner);
  }
}

}  // namespace tegula::codegen::nvptx
