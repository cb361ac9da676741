#include "codegen/nvptx/thread_coordinates.hpp"

#include <utility>

namespace tegula::codegen::nvptx {
namespace {

llvm::Value* i32(llvm::IRBuilder<>& b, std::int64_t value) { return b.getInt32(static_cast<std::uint32_t>(value)); }

}  // namespace

llvm::Value* combine_bits(llvm::IRBuilder<>& b, llvm::Value* index, std::vector<std::int64_t> const& values) {
  // Bits that move by the same distance are moved together.
  std::map<int, std::int64_t> moves;
  for (int bit = 0; bit < static_cast<int>(values.size()); ++bit)
    for (int to = 0; to < 40; ++to)
      if (((values[static_cast<std::size_t>(bit)] >> to) & 1) != 0) moves[to - bit] |= std::int64_t{1} << bit;
  llvm::Value* result = nullptr;
  for (auto const& [distance, mask] : moves) {
    llvm::Value* part = b.CreateAnd(index, i32(b, mask));
    part = distance >= 0 ? b.CreateShl(part, i32(b, distance)) : b.CreateLShr(part, i32(b, -distance));
    result = result == nullptr ? part : b.CreateXor(result, part);
  }
  return result;
}

llvm::Value* index_part(llvm::IRBuilder<>& b, layout::Layout const& layout, layout::Dim dim, int axis,
                        llvm::Value* index) {
  layout::LayoutInput const& input = layout.input(dim);
  std::vector<std::int64_t> of_bits;
  for (Extents const& basis : input.bases) of_bits.push_back(basis[axis]);
  llvm::Value* result = combine_bits(b, index, of_bits);
  std::int64_t below = std::int64_t{1} << input.bases.size();
  for (layout::LayoutDigit const& digit : input.digits) {
    if (digit.stride[axis] != 0) {
      llvm::Value* part = b.CreateURem(b.CreateUDiv(index, i32(b, below)), i32(b, digit.count));
      part = b.CreateMul(part, i32(b, digit.stride[axis]));
      result = result == nullptr ? part : b.CreateAdd(result, part);
    }
    below *= digit.count;
  }
  return result;
}

llvm::Value* join_parts(llvm::IRBuilder<>& b, layout::Layout const& layout, int axis, llvm::Value* first,
                        llvm::Value* second) {
  if (first == nullptr || second == nullptr) return first != nullptr ? first : second;
  // Below the atom bits are joined by exclusive or; digits lie above it and never overlap.
  llvm::Value* const low = i32(b, layout.atom()[axis] - 1);
  llvm::Value* const high = i32(b, ~(layout.atom()[axis] - 1));
  return b.CreateAdd(b.CreateAnd(b.CreateXor(first, second), low),
                     b.CreateAdd(b.CreateAnd(first, high), b.CreateAnd(second, high)));
}

std::vector<AxisCoordinate> const& ThreadCoordinates::of(layout::Layout const& layout) {
  auto const found = group_.known.find(&layout);
  if (found != group_.known.end()) return found->second;
  llvm::IRBuilder<>::InsertPointGuard const guard(b_);
  b_.SetInsertPoint(group_.place->getTerminator());
  std::vector<AxisCoordinate> result;
  for (int axis = 0; axis < layout.rank(); ++axis) {
    AxisCoordinate coordinate;
    coordinate.atom = layout.atom()[axis];
    for (layout::Dim dim : {layout::Dim::lane, layout::Dim::warp})
      for (Extents const& basis : layout.input(dim).bases) coordinate.thread_bits |= basis[axis];
    llvm::Value* const of_lane = index_part(b_, layout, layout::Dim::lane, axis, lane_);
    llvm::Value* const of_warp = index_part(b_, layout, layout::Dim::warp, axis, warp_);
    coordinate.thread = join_parts(b_, layout, axis, of_lane, of_warp);
    result.push_back(coordinate);
  }
  return group_.known.emplace(&layout, std::move(result)).first->second;
}

llvm::Value* ThreadCoordinates::of_register(layout::Layout const& layout, int axis, int reg) {
  AxisCoordinate const& of_thread = of(layout)[static_cast<std::size_t>(axis)];
  std::int64_t const part = layout.part(layout::Dim::reg, reg)[axis];
  if (of_thread.thread == nullptr) return i32(b_, part);
  if ((of_thread.thread_bits & part) == 0) return b_.CreateAdd(of_thread.thread, i32(b_, part));
  std::int64_t const low = part & (of_thread.atom - 1);
  return b_.CreateAdd(b_.CreateXor(of_thread.thread, i32(b_, low)), i32(b_, part - low));
}

llvm::Value* ThreadCoordinates::owns(layout::Layout const& layout) {
  llvm::Value* result = nullptr;
  auto const require_zero = [&](llvm::Value* value) {
    llvm::Value* const zero = b_.CreateICmpEQ(value, i32(b_, 0));
    result = result == nullptr ? zero : b_.CreateAnd(result, zero);
  };
  for (layout::Dim dim : {layout::Dim::lane, layout::Dim::warp}) {
    llvm::Value* const index = dim == layout::Dim::lane ? lane_ : warp_;
    if (std::uint32_t const free = layout.free_bits(dim)) require_zero(b_.CreateAnd(index, i32(b_, free)));
    layout::LayoutInput const& input = layout.input(dim);
    std::int64_t below = std::int64_t{1} << input.bases.size();
    for (layout::LayoutDigit const& digit : input.digits) {
      bool replicates = true;
      for (std::int64_t stride : digit.stride) replicates &= stride == 0;
      if (replicates) require_zero(b_.CreateURem(b_.CreateUDiv(index, i32(b_, below)), i32(b_, digit.count)));
      below *= digit.count;
    }
  }
  return result;
}

ThreadCoordinates::Group ThreadCoordinates::begin(llvm::BasicBlock* place) {
  return std::exchange(group_, Group{{}, place});
}

void ThreadCoordinates::resume(Group group) { group_ = std::move(group); }

}  // namespace tegula::codegen::nvptx
