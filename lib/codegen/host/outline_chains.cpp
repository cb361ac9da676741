#include "codegen/host/outline_chains.hpp"

#include <algorithm>
#include <vector>

#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/CodeExtractor.h>

#include "tegula/support/error.hpp"

namespace tegula::codegen::host {

namespace {

/// The length from which a run is outlined, and the length of its parts. Even without optimisation, LLVM takes
/// quadratic time to choose registers of one block.
constexpr int long_run = 256, max_part = 2048;

/// Limits the share of results of a part that other code reads, one of so many: they go through memory. The bounds of
/// many loads are wide, not long.
constexpr int min_ops_per_result = 8;

bool is_scalar(llvm::Type const& type) { return type.isIntegerTy() || type.isFloatingPointTy(); }

/// Tells whether an instruction computes a scalar from scalars.
bool is_scalar_arithmetic(llvm::Instruction const& instruction) {
  if (llvm::isa<llvm::PHINode>(instruction) || instruction.isTerminator() || instruction.mayReadOrWriteMemory())
    return false;
  auto const* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  auto const operands = call != nullptr ? call->args() : instruction.operands();
  return is_scalar(*instruction.getType()) &&
         std::all_of(operands.begin(), operands.end(), [](llvm::Use const& use) { return is_scalar(*use->getType()); });
}

/// Tells whether other blocks read few results of this one.
bool is_chain(llvm::BasicBlock const& run) {
  auto const read = std::count_if(run.begin(), run.end(), [](llvm::Instruction const& instruction) {
    return instruction.isUsedOutsideOfBlock(instruction.getParent());
  });
  return read * min_ops_per_result <= static_cast<std::ptrdiff_t>(run.size());
}

/// Splits blocks so that each part of a long run has one of its own, and lists those.
std::vector<llvm::BasicBlock*> split_runs(llvm::Function& function) {
  std::vector<std::pair<llvm::Instruction*, llvm::Instruction*>> runs;  // first, and the one after the last
  for (llvm::BasicBlock& block : function) {
    llvm::Instruction* first = nullptr;
    int length = 0;
    for (llvm::Instruction& instruction : block) {
      bool const continues = is_scalar_arithmetic(instruction);
      if (length >= long_run && (!continues || length == max_part)) {
        runs.emplace_back(first, &instruction);
        length = 0;
      }
      if (!continues) length = 0;
      if (continues && length++ == 0) first = &instruction;
    }
  }
  std::vector<llvm::BasicBlock*> result;
  for (auto at = runs.rbegin(); at != runs.rend(); ++at) {  // the last first: a split moves all instructions after it
    llvm::BasicBlock* const last = at->second->getParent();
    if (at->second != &last->front()) (void)last->splitBasicBlock(at->second);
    result.push_back(at->first->getParent()->splitBasicBlock(at->first, "scalars"));
  }
  return result;
}

}  // namespace

void outline_chains(llvm::Module& module) {
  std::vector<llvm::Function*> functions;
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) functions.push_back(&function);
  for (llvm::Function* function : functions) {
    std::vector<llvm::BasicBlock*> runs = split_runs(*function);
    std::erase_if(runs, [](llvm::BasicBlock* run) { return !is_chain(*run); });
    if (runs.empty()) continue;
    llvm::CodeExtractorAnalysisCache const cache(*function);
    for (llvm::BasicBlock* run : runs) {
      llvm::Function* const outlined = llvm::CodeExtractor(run).extractCodeRegion(cache);
      if (outlined == nullptr) throw InternalError("host codegen: a run of scalar instructions cannot be outlined");
      outlined->addFnAttr(llvm::Attribute::NoInline);
      outlined->addFnAttr(llvm::Attribute::OptimizeNone);
    }
  }
}

}  // namespace tegula::codegen::host
