#include "codegen/nvptx/global_address.hpp"

#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"

namespace tegula::codegen::nvptx {
namespace {

bool starts_early(ir::Function const& kernel) {
  bool found = false;
  ir::walk(kernel.body(), [&](ir::Op const& op) { found = found || op.is<ir::WaitDependenciesOp>(); });
  return found;
}

/// True if a parameter of a function is an in parameter of the kernel in every call.
bool only_read(ir::Function const& function, int parameter) {
  if (function.parameter_attributes()[static_cast<std::size_t>(parameter)].direction != Direction::in) return false;
  bool result = true;
  if (function.is_kernel()) return result;
  for (auto const& caller : function.parent()->functions())
    ir::walk(caller->body(), [&](ir::Op const& op) {
      if (result && op.is<ir::CallOp>() && op.as<ir::CallOp>().callee.view() == function.name())
        result = only_read(*caller, ir::parameter_behind(*op.operand(parameter)).index());
    });
  return result;
}

}  // namespace

bool constant_for_kernel(ir::Function const& kernel, ir::Value const& tensor) {
  return only_read(*tensor.owner_block()->parent_function(), tensor.index()) && !starts_early(kernel);
}

llvm::Value* element_address(Emitter& e, ir::Value const& tensor, std::span<ir::Value* const> offsets) {
  TensorParts const& parts = e.tensors.of(tensor);
  llvm::Value* index = e.i64(0);
  for (std::size_t axis = 0; axis < offsets.size(); ++axis) {
    bool const unit = parts.attributes.facts.unit_inner_stride && axis + 1 == offsets.size();
    llvm::Value* const offset = e.b.CreateSExt(e.scalar(*offsets[axis]), e.b.getInt64Ty());
    index = e.b.CreateAdd(index, unit ? offset : e.b.CreateMul(offset, parts.strides[axis]));
  }
  return e.b.CreateAdd(parts.address, e.b.CreateMul(index, e.i64(bytes(tensor.type().element()))));
}

}  // namespace tegula::codegen::nvptx
