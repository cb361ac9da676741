#include "codegen/nvptx/global_address.hpp"

namespace tegula::codegen::nvptx {

llvm::Value* element_address(Emitter& e, ir::Value const& tensor, std::span<ir::Value* const> offsets) {
  TensorParts const& parts = e.tensor(tensor);
  llvm::Value* index = e.i64(0);
  for (std::size_t axis = 0; axis < offsets.size(); ++axis) {
    bool const unit = parts.attributes.facts.unit_inner_stride && axis + 1 == offsets.size();
    llvm::Value* const offset = e.b.CreateSExt(e.scalar(*offsets[axis]), e.b.getInt64Ty());
    index = e.b.CreateAdd(index, unit ? offset : e.b.CreateMul(offset, parts.strides[axis]));
  }
  return e.b.CreateAdd(parts.address, e.b.CreateMul(index, e.i64(bytes(tensor.type().element()))));
}

}  // namespace tegula::codegen::nvptx
