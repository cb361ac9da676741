// Holds the registers of every value, whole or the part that a chain of elements computes now.
#pragma once

#include <llvm/IR/Value.h>

#include <map>
#include <vector>

#include "codegen/nvptx/tensor_parts.hpp"
#include "ir/core/op.hpp"

namespace tegula::codegen::nvptx {

/// Names the registers of a tile that are computed now: all but within a chain of elements.
struct Window {
  int first = 0, count = 0;  ///< no count: all
};

class ValueRegisters {
 public:
  /// Returns the registers in the window. The reference holds until the window moves.
  [[nodiscard]] Registers const& get(ir::Value const& value) const;
  /// Sets the registers in the window; InternalError where a value without a window has another number of them.
  void set(ir::Value const& value, Registers registers);

  [[nodiscard]] Window window() const { return window_; }
  /// Moves the window, and forgets the parts in the former one.
  void move_window(Window window);

 private:
  std::map<ir::Value const*, Registers> values_;
  mutable std::map<ir::Value const*, Registers> windowed_;  ///< their registers in the window
  Window window_;
};

}  // namespace tegula::codegen::nvptx
