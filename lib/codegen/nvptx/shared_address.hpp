// Addresses in shared memory: of a view's start, of what a thread's registers hold, of the matrix rows that its lane
// names. All arithmetic on the layouts is done in ir/shared_access.hpp and ir/matrix_access.hpp; here it is emitted.
#pragma once

#include <map>
#include <optional>

#include "codegen/nvptx/emitter.hpp"
#include "ir/matrix_access.hpp"
#include "ir/shared_access.hpp"

namespace tegula::codegen::nvptx {

/// How a tile in registers moves from and to a view.
class SharedAccess {
 public:
  /// Refuses, at the op, what no address arithmetic reaches. `address` is the view's (i32).
  SharedAccess(Emitter& e, ir::Op const& op, ir::Type const& view, llvm::Value* address, ir::Layout const& tile,
               bool stores);

  /// Vectors of adjacent elements; always there.
  [[nodiscard]] ir::VectorPlan const& vectors() const { return vectors_; }
  /// ldmatrix or stmatrix, where the layouts have it and vectors are narrower than 16 bytes.
  [[nodiscard]] std::optional<ir::MatrixPlan> const& matrices() const { return matrices_; }

  struct Address {
    llvm::Value* base;      ///< i32, in bytes
    std::int64_t constant;  ///< bytes
  };
  Address of(ir::VectorAccess const& access) { return at(element_, access.first); }
  llvm::Value* of(ir::MatrixStep const& step);

 private:
  using Part = ir::AccessMap::Part;
  /// What a thread adds to an offset, and to which bits it may add by exclusive or.
  struct ThreadPart {
    llvm::Value *low = nullptr, *high = nullptr;  ///< null: 0
    std::int64_t low_bits = 0;
    std::map<std::int64_t, llvm::Value*> bases;  ///< addresses, by the bits joined by exclusive or
  };
  void add_warps(ThreadPart& part, ir::AccessMap const& map);
  void add_index(ThreadPart& part, llvm::Value* index, std::vector<Part> const& bits);
  Address at(ThreadPart& thread, Part first);

  Emitter& e_;
  llvm::Value* address_;
  int bytes_;
  ir::VectorPlan vectors_;
  std::optional<ir::MatrixPlan> matrices_;
  ThreadPart element_, row_;
};

/// Bytes from a shared value's start to the box of this shape at the offsets, one per axis of the source.
llvm::Value* box_offset(Emitter& e, ir::Op const& op, ir::Type const& source, Extents const& box,
                        std::span<ir::Value* const> offsets);

}  // namespace tegula::codegen::nvptx
