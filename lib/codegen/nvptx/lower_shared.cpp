// Lowers shared memory. Buffers and views are addresses; tiles move by stmatrix and ldmatrix where the layouts allow,
// else by the widest vectors.
#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/inline_ptx.hpp"
#include "codegen/nvptx/ptx/mbarrier.hpp"
#include "codegen/nvptx/ptx/warp.hpp"
#include "codegen/nvptx/shared_address.hpp"
#include "codegen/nvptx/words.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {
namespace {

constexpr std::int64_t mbarrier_bytes = 8;

}  // namespace

void lower(ir::SharedAllocOp const& attributes, ir::Op const& op, Emitter& e) {
  if (attributes.offset < 0) throw InternalError("nvptx: shared_alloc has no offset; shared memory is not allocated");
  e.set(*op.result(), {e.shared_address(e.i32(attributes.offset))});
}

void lower(ir::ViewOp const&, ir::Op const& op, Emitter& e) {
  ir::Type const& source = op.in<ir::ViewOp>("source")->type();
  llvm::Value* const from = e.scalar(*op.in<ir::ViewOp>("source"));
  llvm::Value* offset = nullptr;
  if (source.is_mbarrier())
    offset = e.b.CreateMul(e.b.CreateZExtOrTrunc(e.scalar(*op.in<ir::ViewOp>("offsets")), e.b.getInt32Ty()),
                           e.i32(mbarrier_bytes));
  else
    offset = box_offset(e, op, source, op.result()->type().shape(), op.all<ir::ViewOp>("offsets"));
  e.set(*op.result(), {e.b.CreateAdd(from, offset)});
}

void lower(ir::TransViewOp const&, ir::Op const& op, Emitter& e) { e.set(*op.result(), {e.scalar(*op.operand())}); }

void lower(ir::SharedLoadOp const&, ir::Op const& op, Emitter& e) {
  ir::Type const& type = op.result()->type();
  Element const element = type.element();
  llvm::Value* const address = e.scalar(*op.operand());
  auto const load = [&](llvm::Value* base, std::int64_t constant, int count) {
    Words const words = words_for(element, count);
    llvm::Type* const word =
        words.elements == 1 && words.bits >= 32 ? e.type(element) : e.b.getIntNTy(words.bits < 32 ? 16 : 32);
    Registers const shape(static_cast<std::size_t>(count / words.elements), llvm::PoisonValue::get(word));
    Registers result;
    for (llvm::Value* loaded : load_vector(e.b, "shared", nullptr, base, constant, shape, words.bits))
      unpack_word(e, element, words, loaded, result);
    return result;
  };
  if (type.is_scalar()) {
    llvm::Value* const value = load(address, 0, 1)[0];
    // All lanes read one place; through lane 0 ptxas knows that branches on it are taken by whole warps.
    e.set(*op.result(), {e.elected ? value : e.shuffle_from(value, element, e.i32(0))});
    return;
  }
  SharedAccess access(e, op, op.operand()->type(), address, *type.layout(), false);
  Registers result(static_cast<std::size_t>(type.layout()->registers()));
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
      give(vector.registers, load(at.base, at.constant, access.vectors().width));
    }
    for (auto const& [copy, from] : access.vectors().copies)
      result[static_cast<std::size_t>(copy)] = result[static_cast<std::size_t>(from)];
  }
  e.set(*op.result(), std::move(result));
}

void lower(ir::SharedStoreOp const&, ir::Op const& op, Emitter& e) {
  ir::Value const &view = *op.in<ir::SharedStoreOp>("destination"), &value = *op.in<ir::SharedStoreOp>("value");
  ir::Type const& type = value.type();
  Element const element = type.element();
  llvm::Value* const address = e.scalar(view);
  Registers const& values = e.get(value);
  auto const store = [&](llvm::Value* predicate, llvm::Value* base, std::int64_t constant, Registers const& elements) {
    Words const words = words_for(element, static_cast<int>(elements.size()));
    Registers packed;
    for (std::size_t at = 0; at < elements.size(); at += static_cast<std::size_t>(words.elements))
      packed.push_back(pack_word(e, element, words, &elements[at]));
    store_vector(e.b, "shared", predicate, base, constant, packed, words.bits);
  };
  if (type.is_scalar()) return store(nullptr, address, 0, values);
  auto const take = [&](std::vector<int> const& registers) {
    Registers result;
    for (int reg : registers) result.push_back(values[static_cast<std::size_t>(reg)]);
    return result;
  };
  SharedAccess access(e, op, view.type(), address, *type.layout(), true);
  if (auto const& plan = access.matrices()) {
    for (target::MatrixStep const& step : plan->steps) {
      Registers words;
      for (std::vector<int> const& registers : step.registers)
        words.push_back(e.b.CreateBitCast(pack_words(e, element, take(registers))[0], e.b.getInt32Ty()));
      ptx::stmatrix(e.b, access.of(step), words, plan->transposed);
    }
    return;
  }
  llvm::Value* const owner = e.owns(*type.layout());
  for (layout::VectorAccess const& vector : access.vectors().accesses) {
    SharedAccess::Address const at = access.of(vector);
    store(owner, at.base, at.constant, take(vector.registers));
  }
}

void lower(ir::PeerStoreOp const&, ir::Op const& op, Emitter& e) {
  ir::Value const &view = *op.in<ir::PeerStoreOp>("destination"), &value = *op.in<ir::PeerStoreOp>("value");
  ir::Type const& type = value.type();
  llvm::Value* const rank = e.b.CreateZExtOrTrunc(e.scalar(*op.in<ir::PeerStoreOp>("rank")), e.b.getInt32Ty());
  llvm::Value* const address = ptx::mapa(e.b, e.scalar(view), rank);
  llvm::Value* const barrier = ptx::mapa(e.b, e.scalar(*op.in<ir::PeerStoreOp>("mbarrier")), rank);
  Registers const& values = e.get(value);
  SharedAccess access(e, op, view.type(), address, *type.layout(), true);
  llvm::Value* const owner = e.owns(*type.layout());
  for (layout::VectorAccess const& vector : access.vectors().accesses) {
    SharedAccess::Address const at = access.of(vector);
    Registers words;
    for (int reg : vector.registers) words.push_back(values[static_cast<std::size_t>(reg)]);
    ptx::store_async(e.b, at.base, at.constant, words, barrier, owner);
  }
}

}  // namespace tegula::codegen::nvptx
