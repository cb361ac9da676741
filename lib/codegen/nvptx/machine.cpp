#include "codegen/nvptx/machine.hpp"

#include <fmt/format.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>

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

/// Names the passes of LLVM's -O2 that pay; all of it takes three times as long. ptxas optimises again: loops of SASS
/// have the same lengths after both. Without sccp, masks of edge tiles are compared once more per element. Without
/// instcombine after the passes on loops, these predicates live across branches and spill. Without reassociate, code
/// generation walks long sums of indices again and again (20 s for 10 000); without instcombine ahead of it, row
/// kernels take two registers more.
constexpr char const* pipeline =
    "always-inline,cgscc(inline),globaldce,"
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,reassociate,"
    "loop-mssa(loop-rotate,licm),loop-unroll<O2>,gvn,sccp,instcombine<no-verify-fixpoint>,simplifycfg,adce)";

/// Limits the index arithmetic of a function that is strength-reduced.
constexpr int max_index_arithmetic = 300;
/// Limits its integer minima and maxima.
constexpr int max_bounds = 32;
/// Limit both in a function whose sums, and minima and maxima, are reassociated.
constexpr int max_reassociated = 4096, max_reassociated_bounds = 512;
/// Limits the product of a function's blocks and its instructions where it is prepared for code generation. Where sums
/// are reassociated, limits the product of blocks and index arithmetic. Both passes start again after many changes.
constexpr std::ptrdiff_t max_prepared = 4'000'000, max_reassociated_of_blocks = 500'000;

bool is_index_arithmetic(llvm::Instruction const& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::Add:
    case llvm::Instruction::Sub:
    case llvm::Instruction::Mul:
    case llvm::Instruction::Shl:
    case llvm::Instruction::GetElementPtr:
      return true;
    default:
      return false;
  }
}

bool is_bound(llvm::Instruction const& instruction) { return llvm::isa<llvm::MinMaxIntrinsic>(instruction); }

/// Disables straight-line strength reduction in functions with much index arithmetic, such as unrolled loads. It
/// compares all pairs of such instructions (LLVM 22: 8 s for 120 loads of 8 elements each), and ptxas reduces them
/// again. In a chain of minima and maxima it asks of each pair, through the whole chain, whether it is undefined. For
/// 100 sums and maxima that takes 4 s (LLVM 22). N-ary reassociation takes quadratic time in longer chains of either
/// (12 s for 2500 maxima), or where blocks are many. So does the preparation for code generation (2 s for 400 loads,
/// each with two branches), which only sinks casts here. The passes run by the target's own list, so only LLVM's gate
/// reaches them.
class PassGate : public llvm::OptPassGate {
 public:
  explicit PassGate(llvm::Module const& module) {
    for (llvm::Function const& function : module) {
      std::ptrdiff_t const blocks = std::distance(function.begin(), function.end());
      std::ptrdiff_t instructions = 0, indices = 0, bounds = 0;
      for (llvm::BasicBlock const& block : function) {
        instructions += static_cast<std::ptrdiff_t>(block.size());
        indices += std::count_if(block.begin(), block.end(), is_index_arithmetic);
        bounds += std::count_if(block.begin(), block.end(), is_bound);
      }
      reduces_ = reduces_ && indices <= max_index_arithmetic && bounds <= max_bounds;
      reassociates_ = reassociates_ && indices <= max_reassociated && bounds <= max_reassociated_bounds &&
                      blocks * indices <= max_reassociated_of_blocks;
      prepares_ = prepares_ && blocks * instructions <= max_prepared;
    }
  }
  [[nodiscard]] bool isEnabled() const override { return !reduces_ || !reassociates_ || !prepares_; }
#if LLVM_VERSION_MAJOR >= 22
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override { return runs(pass); }
#else
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) override { return runs(pass); }
#endif

 private:
  // Older LLVMs pass the pass's name, newer ones its name in a pipeline.
  [[nodiscard]] bool runs(llvm::StringRef pass) const {
    if (pass == "slsr" || pass == "Straight line strength reduction") return reduces_;
    if (pass == "nary-reassociate" || pass == "Nary reassociation") return reassociates_;
    if (pass == "codegenprepare" || pass == "CodeGen Prepare") return prepares_;
    return true;
  }

  bool reduces_ = true, reassociates_ = true, prepares_ = true;
};

}  // namespace

std::unique_ptr<llvm::TargetMachine> make_target_machine(TargetInfo const& gpu, int ptx_version) {
  static bool const done = [] {  // all callers hold fork() off
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  static_cast<void>(done);
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
      target->createTargetMachine(name, gpu.architecture, fmt::format("+ptx{}", ptx_version), options, std::nullopt,
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
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, pipeline))
    throw InternalError("nvptx: this LLVM has no such passes: " + llvm::toString(std::move(error)));
  passes.run(module, modules);
}

std::string print_ptx(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager emitter;
  if (machine.addPassesToEmitFile(emitter, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    throw InternalError("nvptx: this LLVM cannot write PTX");
  PassGate gate(module);
  module.getContext().setOptPassGate(gate);
  emitter.run(module);
  return std::string(text.begin(), text.end());
}

}  // namespace tegula::codegen::nvptx
