// Makes small LLVM modules of hand-made kernels, for tests of the PTX that single instructions become.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <functional>
#include <memory>
#include <string>

#include "codegen/nvptx/kernel_properties.hpp"
#include "codegen/nvptx/machine.hpp"
#include "codegen/nvptx/ptx/assembly.hpp"
#include "codegen/nvptx/sync_census.hpp"
#include "support/catch.hpp"

namespace tegula::test {

using codegen::nvptx::ptx::Builder;
using codegen::nvptx::ptx::Values;

/// Holds the values of a kernel of the module: a tensor map, two global addresses (i64), shared addresses and numbers
/// (i32). None is known before the launch.
struct KernelValues {
  llvm::Value *map, *in, *out;
  llvm::Value *shared, *barrier, *x, *y;
  llvm::Value* flag;  ///< i1
};

class PtxModule {
 public:
  explicit PtxModule(int ptx_version = sm_90a.ptx_version)
      : machine_(codegen::nvptx::make_target_machine(sm_90a, ptx_version)), module_("test", context_) {
    codegen::nvptx::prepare_module(module_, *machine_);
    shared_ = new llvm::GlobalVariable(module_, llvm::ArrayType::get(llvm::Type::getInt8Ty(context_), 0), false,
                                       llvm::GlobalValue::ExternalLinkage, nullptr, "tegula_shared", nullptr,
                                       llvm::GlobalValue::NotThreadLocal, 3);
    shared_->setAlignment(llvm::Align(1024));
  }

  /// Adds a kernel. The body may leave the builder in another block; it does not return.
  void kernel(std::string const& name, std::function<void(Builder&, KernelValues const&)> const& body,
              int threads = 128, int cluster = 1) {
    llvm::Type *const i64 = llvm::Type::getInt64Ty(context_), *const i32 = llvm::Type::getInt32Ty(context_);
    llvm::FunctionType* const type = llvm::FunctionType::get(
        llvm::Type::getVoidTy(context_), {llvm::PointerType::get(context_, 0), i64, i64, i32, i32}, false);
    llvm::Function* const function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module_);
    codegen::nvptx::describe_kernel(*function, {.threads = threads, .cluster = cluster, .tensor_maps = {0}});
    Builder b(llvm::BasicBlock::Create(context_, "entry", function));
    llvm::Value *const x = function->getArg(3), *const y = function->getArg(4);
    llvm::Value* const base = b.CreatePtrToInt(shared_, i32);
    body(b, {function->getArg(0), function->getArg(1), function->getArg(2), b.CreateAdd(base, b.CreateShl(x, 10)), base,
             x, y, b.CreateICmpSLT(x, y)});
    b.CreateRetVoid();
  }

  /// Returns PTX after LLVM's passes, checked by the census.
  std::string ptx() {
    std::string error;
    llvm::raw_string_ostream stream(error);
    bool const broken = llvm::verifyModule(module_, &stream);
    INFO(error);
    REQUIRE_FALSE(broken);
    codegen::nvptx::SyncCensus const census(module_);
    codegen::nvptx::optimize(module_, *machine_);
    return census.checked(codegen::nvptx::print_ptx(module_, *machine_), "test");
  }

  llvm::Module& module() { return module_; }
  llvm::TargetMachine& machine() { return *machine_; }

 private:
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::Module module_;
  llvm::GlobalVariable* shared_;
};

/// Writes the registers to the kernel's output, 16 bytes apart, so that they are needed.
inline void use(Builder& b, KernelValues const& k, Values const& values) {
  std::uint64_t offset = 0;
  for (llvm::Value* value : values) {
    llvm::Value* kept = value->getType()->isIntegerTy(1) ? b.CreateZExt(value, b.getInt32Ty()) : value;
    llvm::Value* const address =
        b.CreateIntToPtr(b.CreateAdd(k.out, b.getInt64(offset)), llvm::PointerType::get(b.getContext(), 1));
    b.CreateStore(kept, address);
    offset += 16;
  }
}

}  // namespace tegula::test
