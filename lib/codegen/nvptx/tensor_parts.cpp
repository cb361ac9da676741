#include "codegen/nvptx/tensor_parts.hpp"

#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {

TensorParts const& Tensors::of(ir::Value const& tensor) const {
  auto const found = parts_.find(&tensor);
  if (found == parts_.end()) throw InternalError("nvptx: a tensor that is neither a parameter nor a slice");
  return found->second;
}

}  // namespace tegula::codegen::nvptx
