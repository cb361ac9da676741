#include "codegen/nvptx/exchange_place.hpp"
#include "ir/memory/exchange.hpp"

namespace tegula::codegen::nvptx {

llvm::Value* index_without(Emitter& e, layout::Layout const& layout, int without, Extents const& at) {
  llvm::Value* index = e.i32(0);
  std::int64_t stride = 1;
  for (int axis = layout.rank() - 1; axis >= 0; --axis) {
    if (axis == without) continue;
    AxisCoordinate const& thread = e.coordinates.of(layout)[static_cast<std::size_t>(axis)];
    llvm::Value* coordinate = e.i32(at[axis]);
    if (thread.thread != nullptr) {
      std::int64_t const low = at[axis] & (thread.atom - 1);
      coordinate = e.b.CreateAdd(e.b.CreateXor(thread.thread, e.i32(low)), e.i32(at[axis] - low));
    }
    index = e.b.CreateAdd(index, e.b.CreateMul(coordinate, e.i32(stride)));
    stride *= layout.shape()[axis];
  }
  return index;
}

llvm::Value* warp_position(Emitter& e, layout::Layout const& layout, int axis, ir::ReductionStep const& step) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Value* position = e.i32(0);
  for (std::size_t i = 0; i < step.warp_bits.size(); ++i) {
    llvm::Value* const bit = b.CreateAnd(b.CreateLShr(e.warp, e.i32(step.warp_bits[i])), e.i32(1));
    position = b.CreateOr(position, b.CreateShl(bit, e.i32(static_cast<std::int64_t>(i))));
  }
  if (!step.warp_digits) return position;
  std::int64_t below = std::int64_t{1} << layout.input(layout::Dim::warp).bases.size();
  std::int64_t scale = std::int64_t{1} << step.warp_bits.size();
  for (layout::LayoutDigit const& digit : layout.input(layout::Dim::warp).digits) {
    if (digit.stride[axis] != 0) {
      llvm::Value* const value = b.CreateURem(b.CreateUDiv(e.warp, e.i32(below)), e.i32(digit.count));
      position = b.CreateAdd(position, b.CreateMul(value, e.i32(scale)));
      scale *= digit.count;
    }
    below *= digit.count;
  }
  return position;
}

}  // namespace tegula::codegen::nvptx
