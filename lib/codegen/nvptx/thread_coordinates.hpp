// Computes the coordinates of a thread's elements: the code for a layout's thread part is emitted once per layout.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <map>
#include <vector>

#include "layout/layout.hpp"

namespace tegula::codegen::nvptx {

/// Holds a coordinate along one axis of a tile: `thread` (i32, the same for all registers) joined with a constant per
/// register.
struct AxisCoordinate {
  llvm::Value* thread = nullptr;  ///< null: 0
  std::int64_t thread_bits = 0;   ///< union of the bits that lanes and warps may set below the atom
  std::int64_t atom = 1;
};

/// Returns the exclusive or of values[i] over the set bits i of an index (i32); null: always 0.
llvm::Value* combine_bits(llvm::IRBuilder<>& b, llvm::Value* index, std::vector<std::int64_t> const& values);
/// Returns the part of an index (i32) of one input along an axis of the layout's outputs; null: always 0.
llvm::Value* index_part(llvm::IRBuilder<>& b, layout::Layout const& layout, layout::Dim dim, int axis,
                        llvm::Value* index);
/// Joins two such parts that come from different inputs; either may be null.
llvm::Value* join_parts(llvm::IRBuilder<>& b, layout::Layout const& layout, int axis, llvm::Value* first,
                        llvm::Value* second);

class ThreadCoordinates {
 public:
  /// `lane` and `warp`: variables of the emitter that hold the executing thread's numbers.
  ThreadCoordinates(llvm::IRBuilder<>& builder, llvm::Value* const& lane, llvm::Value* const& warp)
      : b_(builder), lane_(lane), warp_(warp) {}

  /// Returns the coordinates of a layout along its axes.
  std::vector<AxisCoordinate> const& of(layout::Layout const& layout);
  /// Returns the i32 coordinate of a register along one axis.
  llvm::Value* of_register(layout::Layout const& layout, int axis, int reg);
  /// True where this thread owns its elements (see Layout::owner); null when every thread does.
  llvm::Value* owns(layout::Layout const& layout);

  /// Holds the coordinates of one executing group, and their place: a block that ends in a branch, before which their
  /// code is put.
  struct Group {
    std::map<layout::Layout const*, std::vector<AxisCoordinate>> known;
    llvm::BasicBlock* place = nullptr;
  };
  /// Begins a group; returns the former one, for `resume`.
  Group begin(llvm::BasicBlock* place);
  void resume(Group group);

 private:
  llvm::IRBuilder<>& b_;
  llvm::Value* const& lane_;
  llvm::Value* const& warp_;
  Group group_;
};

}  // namespace tegula::codegen::nvptx
