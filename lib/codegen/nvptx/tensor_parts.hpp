// Holds the parts of tensors: those of parameters, and those of the slices that a kernel takes of them.
#pragma once

#include <llvm/IR/Value.h>

#include <map>
#include <utility>
#include <vector>

#include "ir/core/op.hpp"

namespace tegula::codegen::nvptx {

using Registers = std::vector<llvm::Value*>;

/// Holds a tensor parameter, or a slice of one: its address as i64, extents and strides (in elements) as i64.
struct TensorParts {
  llvm::Value* address = nullptr;
  Registers extents;
  Registers strides;
  ir::ParameterAttributes attributes;
  bool constant = false;  ///< not written while the kernel runs: ld.global.nc may read it
};

class Tensors {
 public:
  [[nodiscard]] TensorParts const& of(ir::Value const& tensor) const;
  void set(ir::Value const& tensor, TensorParts parts) { parts_[&tensor] = std::move(parts); }

 private:
  std::map<ir::Value const*, TensorParts> parts_;
};

}  // namespace tegula::codegen::nvptx
