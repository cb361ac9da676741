#include "codegen/nvptx/exchange_tile.hpp"

#include <algorithm>
#include <limits>

#include <llvm/IR/IRBuilder.h>

#include "codegen/nvptx/inline_ptx.hpp"
#include "codegen/nvptx/shared_address.hpp"
#include "codegen/nvptx/pack_words.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/memory/source.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {

bool move_tile_within_threads(ir::Op const& op, Emitter& e) {
  std::vector<int> const from = ir::kept_registers(op);
  if (from.empty()) return false;
  Registers const& operand = e.get(*op.operand());
  Registers result;
  for (int reg : from) result.push_back(operand[static_cast<std::size_t>(reg)]);
  e.set(*op.result(), std::move(result));
  return true;
}

namespace {

/// Counts the adjacent elements of a result that are adjacent in the operand's scratch memory, as its source says.
int adjacent_reads(ir::SourcePart const& source, layout::Layout const& from, layout::Layout const& to) {
  constexpr int all = std::numeric_limits<int>::max();
  int const own = source.row_major ? -1 : ir::operand_axis(source, to.rank() - 1);
  if (own < 0) return all;
  if (to.shape()[to.rank() - 1] > from.shape()[own]) return 1;
  std::int64_t const mask = source.axes[own].mask;
  return mask == 0 ? all : static_cast<int>(std::min<std::int64_t>(all, mask));
}

}  // namespace

void exchange_tile(ir::Op const& op, Emitter& e) {
  std::int64_t const scratch = *ir::scratch_attribute(op);
  if (scratch < 0)
    throw InternalError("nvptx: " + std::string(op.info().mnemonic) + ": shared memory is needed but not allocated");
  layout::Layout const &from = *op.operand()->type().layout(), &to = *op.result()->type().layout();
  Registers const& operand = e.get(*op.operand());
  Registers result;
  llvm::IRBuilder<>& b = e.b;
  Element const element = op.result()->type().element();
  if (layout::Layout const* const layout = ir::scratch_memory(op)) {
    ir::Type const memory = ir::Type::shared(element, from.shape(), layout);
    llvm::Value* const address = e.shared_address(e.i32(scratch));
    store_tile(e, op, memory, address, op.operand()->type(), operand);
    e.barrier();
    return e.set(*op.result(), load_tile(e, op, memory, address, op.result()->type()));
  }
  int const size = bytes(element);
  ir::ScratchTiles const tiles = ir::scratch_tiles(op);
  // The result reads another place where its source says so, and the nearest one where the operand has none.
  ir::SourcePart const source = ir::source(op).parts[0];
  auto const address = [&](layout::Layout const& layout, int reg, ir::ScratchTile const& tile, std::int64_t first,
                           bool read) {
    llvm::Value* at = e.i32(scratch + first * size);
    for (int axis = 0; axis < layout.rank(); ++axis) {
      llvm::Value* coordinate = e.coordinates.of_register(layout, axis, reg);
      if (int const own = read && !source.row_major ? ir::operand_axis(source, axis) : -1; own >= 0) {
        if (source.axes[own].mask != 0) coordinate = b.CreateXor(coordinate, e.i32(source.axes[own].mask));
        if (to.shape()[axis] > from.shape()[own])
          coordinate = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, coordinate, e.i32(from.shape()[own] - 1));
      }
      at = b.CreateAdd(at, b.CreateMul(coordinate, e.i32(tile.strides[axis] * size)));
    }
    return at;
  };
  llvm::Type* const memory = b.getIntNTy(static_cast<unsigned>(size) * 8);
  auto const wide = [&](int width) -> llvm::Type* {
    return width == 1 ? memory : llvm::FixedVectorType::get(memory, static_cast<unsigned>(width));
  };

  int const store_width = ir::scratch_width(from, tiles.written, 0, element);
  llvm::Value* const owner = e.coordinates.owns(from);
  for (int reg = 0; reg < from.registers(); reg += store_width) {
    if ((static_cast<std::uint32_t>(reg) & from.free_bits(layout::Dim::reg)) != 0) continue;
    // 16-bit and narrower elements are stored in 32-bit words where two or more are stored at once.
    Registers words;
    int const per_word = std::clamp(4 / size, 1, store_width);
    unsigned const register_bits = size >= 4 ? static_cast<unsigned>(size) * 8 : per_word * size == 4 ? 32 : 16;
    for (int i = 0; i < store_width; i += per_word)
      words.push_back(join_bits(e, element, &operand[static_cast<std::size_t>(reg + i)], per_word, register_bits));
    store_vector(b, "shared", owner, e.shared_address(address(from, reg, tiles.written, 0, false)), 0, words,
                 per_word * size * 8);
  }
  e.barrier();
  int const load_width =
      std::min(ir::scratch_width(to, tiles.read, tiles.first, element), adjacent_reads(source, from, to));
  for (int reg = 0; reg < to.registers(); reg += load_width) {
    llvm::Value* const value =
        b.CreateAlignedLoad(wide(load_width), e.shared(address(to, reg, tiles.read, tiles.first, true)),
                            llvm::Align(static_cast<std::uint64_t>(load_width * size)));
    for (int i = 0; i < load_width; ++i)
      result.push_back(
          e.from_bits(load_width == 1 ? value : b.CreateExtractElement(value, static_cast<std::uint64_t>(i)), element));
  }
  e.set(*op.result(), std::move(result));
}

}  // namespace tegula::codegen::nvptx
