// Emits addresses in buffers: of a view's start, of the elements in a thread's registers, of the matrix rows that
// its lane names. All arithmetic on the layouts is in layout/shared_access.hpp and target/matrix_access.hpp.
#pragma once

#include <map>
#include <optional>

#include "codegen/nvptx/emitter.hpp"
#include "target/matrix_access.hpp"
#include "layout/shared_access.hpp"

namespace tegula::codegen::nvptx {

/// Moves a tile in registers from and to a view.
class SharedAccess {
 public:
  /// Refuses, at the op, a tile that address arithmetic cannot reach. `address` is the view's.
  SharedAccess(Emitter& e, ir::Op const& op, ir::Type const& view, llvm::Value* address, layout::Layout const& tile,
               bool stores);

  /// Returns the vectors of adjacent elements; always present.
  [[nodiscard]] layout::VectorPlan const& vectors() const { return vectors_; }
  /// Returns ldmatrix or stmatrix, where the layouts have it and vectors are narrower than 16 bytes.
  [[nodiscard]] std::optional<target::MatrixPlan> const& matrices() const { return matrices_; }

  struct Address {
    llvm::Value* base;      ///< in bytes: i32 in shared memory, i64 in global memory
    std::int64_t constant;  ///< bytes
  };
  Address of(layout::VectorAccess const& access) { return at(element_, access.first); }
  llvm::Value* of(target::MatrixStep const& step);

 private:
  using Part = layout::AccessMap::Part;
  /// Holds the part that a thread adds to an offset, and the bits to which it may add by exclusive or.
  struct ThreadPart {
    llvm::Value *low = nullptr, *high = nullptr;  ///< null: 0
    std::int64_t low_bits = 0;
    std::map<std::int64_t, llvm::Value*> bases;  ///< addresses, by the bits joined by exclusive or
  };
  void add_warps(ThreadPart& part, layout::AccessMap const& map);
  void add_index(ThreadPart& part, llvm::Value* index, std::vector<Part> const& bits);
  Address at(ThreadPart& thread, Part first);

  Emitter& e_;
  llvm::Value* address_;
  int bytes_;
  layout::VectorPlan vectors_;
  std::optional<target::MatrixPlan> matrices_;
  ThreadPart element_, row_;
};

/// Loads a tile in registers from a view at an address.
Registers load_tile(Emitter& e, ir::Op const& op, ir::Type const& view, llvm::Value* address, ir::Type const& tile);

/// Stores a tile in registers to a view at an address.
void store_tile(Emitter& e, ir::Op const& op, ir::Type const& view, llvm::Value* address, ir::Type const& tile,
                Registers const& values);

/// Counts the bytes from a shared value's start to the box of this shape at the offsets, one per axis of the source.
llvm::Value* box_offset(Emitter& e, ir::Op const& op, ir::Type const& source, Extents const& box,
                        std::span<ir::Value* const> offsets);

}  // namespace tegula::codegen::nvptx
