// Lowers slices of tensors, and descriptors that the kernel builds for them in global memory.
//
// A module has one pool of places for the descriptors of its kernel: as many as CTAs can be resident on any device of
// the architecture. A CTA claims a place by a bit of a set and gives it back at its end. So launches in any number of
// streams and graphs share the pool, and none needs memory of its own.
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/inline_ptx.hpp"
#include "codegen/nvptx/module_memory.hpp"
#include "codegen/nvptx/ptx/tensor_map.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"

namespace tegula::codegen::nvptx {
namespace {

constexpr std::int64_t map_bytes = 128, word_bits = 32;

/// Returns memory of a module that is 0 when it is loaded, one for each name.
llvm::Value* global_memory(Emitter& e, char const* name, std::int64_t size, std::int64_t alignment) {
  llvm::Module& module = *e.b.GetInsertBlock()->getModule();
  llvm::GlobalVariable* memory = module.getGlobalVariable(name, true);
  if (memory == nullptr) memory = &zeroed_memory(e, name, size, alignment);
  return e.b.CreatePtrToInt(memory, e.b.getInt64Ty());
}

/// Counts the words of the set: one bit for each descriptor of each CTA that can be resident.
std::int64_t words_of_pool(Emitter const& e) {
  std::int64_t maps = 0;
  ir::walk(e.kernel().body(), [&](ir::Op const& op) { maps += op.is<ir::BuildTensorMapOp>() ? 1 : 0; });
  std::int64_t const threads = e.kernel().warps * std::int64_t{e.target.lanes};
  std::int64_t const per_multiprocessor =
      std::clamp<std::int64_t>(e.target.resident_threads / threads, 1, e.target.resident_ctas);
  return (e.target.multiprocessors * per_multiprocessor * maps + word_bits - 1) / word_bits;
}

llvm::Value* pool(Emitter& e) {
  return global_memory(e, "tegula_tensor_maps", words_of_pool(e) * word_bits * map_bytes, map_bytes);
}
llvm::Value* pool_bits(Emitter& e) {
  return global_memory(e, "tegula_tensor_map_places", words_of_pool(e) * word_bits / 8, 4);
}

}  // namespace

void lower(ir::SliceOp const& attributes, ir::Op const& op, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  auto const axis = static_cast<std::size_t>(attributes.axis);
  TensorParts parts = e.tensors.of(*op.in<ir::SliceOp>("tensor"));
  auto const clamp = [&](ir::Value const& value, llvm::Value* low) {
    llvm::Value* const above = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, e.scalar(value), low);
    return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, above, parts.extents[axis]);
  };
  llvm::Value* const begin = clamp(*op.in<ir::SliceOp>("begin"), e.i64(0));
  llvm::Value* const end = clamp(*op.in<ir::SliceOp>("end"), begin);
  parts.attributes = ir::parameter_of(*op.result());
  bool const unit = parts.attributes.facts.unit_inner_stride && axis + 1 == parts.extents.size();
  llvm::Value* const elements = unit ? begin : b.CreateMul(begin, parts.strides[axis]);
  parts.address = b.CreateAdd(parts.address, b.CreateMul(elements, e.i64(bytes(op.result()->type().element()))));
  parts.extents[axis] = b.CreateSub(end, begin);
  e.tensors.set(*op.result(), std::move(parts));
}

void lower(ir::PermuteOp const& attributes, ir::Op const& op, Emitter& e) {
  TensorParts parts = e.tensors.of(*op.in<ir::PermuteOp>("tensor"));
  std::vector<llvm::Value*> const extents = parts.extents, strides = parts.strides;
  for (int axis = 0; axis < attributes.permutation.size(); ++axis) {
    auto const to = static_cast<std::size_t>(axis), from = static_cast<std::size_t>(attributes.permutation[axis]);
    parts.extents[to] = extents[from];
    parts.strides[to] = strides[from];
  }
  e.tensors.set(*op.result(), std::move(parts));
}

void lower(ir::BuildTensorMapOp const&, ir::Op const& op, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  if (!e.elected) refuse(op, "one lane builds a descriptor; put it into an elect region");
  auto const words = static_cast<int>(words_of_pool(e));
  llvm::Value* const start = b.CreateURem(e.intrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_smid, {}), e.i32(words));
  llvm::Value* const number = ptx::claim_bit(b, pool_bits(e), start, words);
  llvm::Value* const map = b.CreateAdd(pool(e), b.CreateMul(b.CreateZExt(number, b.getInt64Ty()), e.i64(map_bytes)));

  llvm::Value* const by_value = e.scalar(*op.in<ir::BuildTensorMapOp>("map"));
  for (std::int64_t at = 0; at < map_bytes; at += 16) {
    Registers words_of_map;
    for (std::int64_t word = at; word < at + 16; word += 8)
      words_of_map.push_back(b.CreateAlignedLoad(
          b.getInt64Ty(), b.CreateConstGEP1_64(b.getInt8Ty(), by_value, static_cast<std::uint64_t>(word)),
          llvm::Align(8)));
    store_vector(b, "global", nullptr, map, at, words_of_map, 64);
  }
  TensorParts const& slice = e.tensors.of(*op.in<ir::BuildTensorMapOp>("slice"));
  llvm::Value* empty = b.getFalse();
  for (llvm::Value* extent : slice.extents) empty = b.CreateOr(empty, b.CreateICmpEQ(extent, e.i64(0)));
  for (std::size_t axis = 0; axis < slice.extents.size(); ++axis) {
    llvm::Value* const extent = b.CreateSelect(empty, e.i64(1), slice.extents[axis]);
    ptx::replace_extent(b, map, static_cast<int>(slice.extents.size() - 1 - axis),
                        b.CreateTrunc(extent, b.getInt32Ty()));
  }
  // An empty slice may begin at any address, also at one that a map cannot have.
  llvm::BasicBlock *const filled = e.block("slice"), *const done = e.block("slice.end");
  b.CreateCondBr(empty, done, filled);
  b.SetInsertPoint(filled);
  ptx::replace_address(b, map, slice.address);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  store_vector(b, "shared", nullptr, e.scalar(*op.in<ir::BuildTensorMapOp>("home")), 0, {map}, 64);
}

void lower(ir::ReleaseTensorMapsOp const&, ir::Op const&, Emitter& e) { ptx::release_tensor_maps(e.b); }

void lower(ir::DeviceTensorMapOp const&, ir::Op const& op, Emitter& e) {
  llvm::Value* const home = e.scalar(*op.in<ir::DeviceTensorMapOp>("home"));
  Registers const shape = {llvm::PoisonValue::get(e.b.getInt64Ty())};
  llvm::Value* const map = load_vector(e.b, "shared", nullptr, home, 0, shape, 64)[0];
  // A generic address equals the global one.
  e.set(*op.result(), {e.b.CreateIntToPtr(map, llvm::PointerType::get(e.b.getContext(), 0))});
}

void lower(ir::AcquireTensorMapOp const&, ir::Op const& op, Emitter& e) {
  ptx::acquire_tensor_map(e.b, e.scalar(*op.operand()));
}

void lower(ir::FreeTensorMapOp const&, ir::Op const& op, Emitter& e) {
  llvm::IRBuilder<>& b = e.b;
  if (!e.elected) refuse(op, "one lane gives a place back; put it into an elect region");
  llvm::Value* const offset = b.CreateSub(b.CreatePtrToInt(e.scalar(*op.operand()), b.getInt64Ty()), pool(e));
  ptx::free_bit(b, pool_bits(e), b.CreateTrunc(b.CreateUDiv(offset, e.i64(map_bytes)), b.getInt32Ty()));
}

}  // namespace tegula::codegen::nvptx
