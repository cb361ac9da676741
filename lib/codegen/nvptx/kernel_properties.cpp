#include "codegen/nvptx/kernel_properties.hpp"

#include <fmt/format.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>

#include <string>

namespace tegula::codegen::nvptx {
namespace {

constexpr unsigned tensor_map_bytes = 128;
constexpr unsigned tensor_map_alignment = 64;

}  // namespace

void describe_kernel(llvm::Function& function, KernelProperties const& properties) {
  llvm::Module& module = *function.getParent();
  llvm::LLVMContext& context = module.getContext();
  std::string const threads = fmt::to_string(properties.threads);
  function.setCallingConv(llvm::CallingConv::PTX_Kernel);
  function.addFnAttr(llvm::Attribute::NoUnwind);
  function.addFnAttr("nvvm.maxntid", threads);
  function.addFnAttr("nvvm.minctasm", fmt::to_string(properties.ctas));
  if (properties.cluster > 1) function.addFnAttr("nvvm.cluster_dim", fmt::format("{},1,1", properties.cluster));

  llvm::NamedMDNode* const annotations = module.getOrInsertNamedMetadata("nvvm.annotations");
  auto const number = [&](unsigned value) -> llvm::Metadata* {
    return llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value));
  };
  auto const annotate = [&](char const* key, llvm::Metadata* value) {
    annotations->addOperand(
        llvm::MDNode::get(context, {llvm::ValueAsMetadata::get(&function), llvm::MDString::get(context, key), value}));
  };
  annotate("kernel", number(1));
  annotate("maxntidx", number(static_cast<unsigned>(properties.threads)));
  annotate("maxntidy", number(1));
  annotate("maxntidz", number(1));
  annotate("minctasm", number(static_cast<unsigned>(properties.ctas)));

  // Without grid_constant LLVM copies the map to local memory, where TMA cannot read it.
  llvm::Type* const map = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), tensor_map_bytes);
  std::vector<llvm::Metadata*> constants;
  for (unsigned argument : properties.tensor_maps) {
    function.addParamAttr(argument, llvm::Attribute::getWithByValType(context, map));
    function.addParamAttr(argument, llvm::Attribute::getWithAlignment(context, llvm::Align(tensor_map_alignment)));
    function.addParamAttr(argument, llvm::Attribute::get(context, "nvvm.grid_constant"));
    constants.push_back(number(argument + 1));  // counted from 1
  }
#if LLVM_VERSION_MAJOR < 21
  if (!constants.empty()) annotate("grid_constant", llvm::MDNode::get(context, constants));
#endif
}

}  // namespace tegula::codegen::nvptx
