#include "codegen/nvptx/machine.hpp"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>

#include <mutex>

#include "tegula/support/error.hpp"

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace tegula::codegen::nvptx {
namespace {

constexpr char const* triple = "nvptx64-nvidia-cuda";

}  // namespace

std::unique_ptr<llvm::TargetMachine> make_target_machine(std::string const& architecture, int ptx_version) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
#if LLVM_VERSION_MAJOR >= 22
  llvm::Target const* target = llvm::TargetRegistry::lookupTarget(llvm::Triple(triple), error);
#else
  llvm::Target const* target = llvm::TargetRegistry::lookupTarget(triple, error);
#endif
  if (target == nullptr) throw InternalError("nvptx: this LLVM has no NVPTX target: " + error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // products and sums round by themselves
#if LLVM_VERSION_MAJOR >= 21
  llvm::Triple const name(triple);
#else
  llvm::StringRef const name(triple);
#endif
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(name, architecture, "+ptx" + std::to_string(ptx_version), options, std::nullopt,
                                  std::nullopt, llvm::CodeGenOptLevel::Default));
}

void prepare_module(llvm::Module& module, llvm::TargetMachine& machine) {
#if LLVM_VERSION_MAJOR >= 21
  module.setTargetTriple(llvm::Triple(triple));
#else
  module.setTargetTriple(triple);
#endif
  module.setDataLayout(machine.createDataLayout());
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.SLPVectorization = false;
  tuning.LoopVectorization = false;
  llvm::PassBuilder passes(&machine, tuning);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(graphs);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, graphs, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

std::string print_ptx(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager emitter;
  if (machine.addPassesToEmitFile(emitter, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    throw InternalError("nvptx: this LLVM cannot write PTX");
  emitter.run(module);
  return std::string(text.begin(), text.end());
}

}  // namespace tegula::codegen::nvptx
