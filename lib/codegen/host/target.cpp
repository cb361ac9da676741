#include "codegen/host/target.hpp"

#include <fmt/format.h>

#include <map>
#include <span>

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "support/locks.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::host {

namespace {

/// Needs a HoldsForkOff: a child of fork() would wait for a first call that never ends.
void initialise_llvm() {
  static bool const done = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  static_cast<void>(done);
}

/// Lists the features in alphabetical order: they are part of cache keys.
std::string host_features() {
  std::map<std::string, bool> sorted;
  for (auto const& feature : llvm::sys::getHostCPUFeatures()) sorted[feature.getKey().str()] = feature.getValue();
  std::string text;
  for (auto const& [name, present] : sorted) {
    if (!text.empty()) text += ',';
    text += present ? '+' : '-';
    text += name;
  }
  return text;
}

/// Lists the features of x86 whose absence makes an object unusable here.
constexpr char const* x86_features[] = {"sse4.1",     "sse4.2",     "avx",        "avx2",     "fma",      "f16c",
                                        "bmi",        "bmi2",       "avx512f",    "avx512bw", "avx512dq", "avx512vl",
                                        "avx512bf16", "avx512vnni", "avx512fp16", "amx-tile", "avxvnni",  "popcnt",
                                        "lzcnt",      "movbe",      "fma4",       "xop",      "tbm"};
constexpr char const* aarch64_features[] = {"fp-armv8", "neon", "fullfp16", "fp16fml", "dotprod",
                                            "bf16",     "i8mm", "lse",      "sve",     "sve2"};

/// Returns those of a processor: LLVM ends the process when it is asked for a feature of another one.
std::span<char const* const> checked_features(llvm::Triple const& triple) {
  if (triple.isX86()) return x86_features;
  if (triple.isAArch64()) return aarch64_features;
  return {};
}

/// Makes LLVM's target machine for a CPU; UserError for a name that LLVM does not know.
std::unique_ptr<llvm::TargetMachine> machine_for(llvm::Triple const& triple, std::string const& cpu,
                                                 std::string const& features) {
#if LLVM_VERSION_MAJOR >= 22
  llvm::Triple const& looked_up = triple;
#else
  std::string const looked_up = triple.str();
#endif
#if LLVM_VERSION_MAJOR >= 21
  llvm::Triple const& named = triple;
#else
  std::string const named = triple.str();
#endif
  std::string error;
  llvm::Target const* const target = llvm::TargetRegistry::lookupTarget(looked_up, error);
  if (target == nullptr) throw InternalError("host: LLVM has no target for " + triple.str() + ": " + error);
  std::unique_ptr<llvm::MCSubtargetInfo> const plain(target->createMCSubtargetInfo(named, "", ""));
  if (!plain->isCPUStringValid(cpu))
    throw UserError("host: unknown CPU \"" + cpu +
                    "\"; use an LLVM CPU name such as x86-64-v3 or znver4, or none for this machine");
  llvm::TargetOptions const options;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      named, cpu, features, options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
}

using Targets = std::map<std::string, std::unique_ptr<HostTarget>>;

/// Holds the thread's targets; a pointer, since destructors of static objects and of the thread's may compile after
/// this one.
constinit thread_local Targets* targets = nullptr;

struct TargetsKeeper {
  TargetsKeeper() = default;
  ~TargetsKeeper() {
    delete targets;
    targets = nullptr;
  }
  TargetsKeeper(TargetsKeeper const&) = delete;
  TargetsKeeper& operator=(TargetsKeeper const&) = delete;
};

}  // namespace

HostTarget::HostTarget() = default;
HostTarget::~HostTarget() = default;

HostTarget& HostTarget::get(std::string const& architecture) {
  support::HoldsForkOff const calls_llvm;
  initialise_llvm();
  thread_local TargetsKeeper const keeper;
  if (targets == nullptr) targets = new Targets;
  auto& slot = (*targets)[architecture];
  if (slot) return *slot;

  std::unique_ptr<HostTarget> result(new HostTarget());
  result->cpu = architecture.empty() ? llvm::sys::getHostCPUName().str() : architecture;
  if (architecture.empty()) result->features = host_features();
  llvm::Triple const triple(llvm::sys::getProcessTriple());
  result->machine_ = machine_for(triple, result->cpu, result->features);
  if (triple.isX86()) {
    result->describe_x86();
  } else {
    result->vector_registers = 32;
    result->has_fma = true;
    result->arith.native_f16 = triple.isAArch64();
  }
  slot = std::move(result);
  return *slot;
}

void HostTarget::describe_x86() {
  auto const has = [&](char const* feature) {
    return machine_->getMCSubtargetInfo()->checkFeatures(std::string("+") + feature);
  };
  if (!has("sse4.1")) throw UserError("host: CPU \"" + cpu + "\" has no SSE4.1; the minimum is x86-64-v2");
  bool const wide = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
  vector_bytes = wide ? 64 : has("avx") ? 32 : 16;
  if (has("avx") && !has("avx2")) vector_bytes = 16;
  vector_registers = wide ? 32 : 16;
  has_scale = wide;
  has_mask = has("avx2");
  has_fma = has("fma");
  has_stream = true;
  has_pair_dot = true;
  has_byte_dot = wide ? has("avx512vnni") : has("avxvnni");
  has_bf16_dot = wide && has("avx512bf16");
  arith.native_f16 = has("f16c");
  arith.native_fma = has_fma;
}

std::string HostTarget::missing_here(std::string const& architecture) {
  support::HoldsForkOff const calls_llvm;
  initialise_llvm();
  if (architecture.empty() || architecture == llvm::sys::getHostCPUName()) return {};
  std::string const this_machine;  // named, or GCC 13 takes the result for a reference to the argument
  HostTarget const& here = get(this_machine);
  HostTarget const& there = get(architecture);
  for (char const* feature : checked_features(here.machine_->getTargetTriple())) {
    std::string const flag = std::string("+") + feature;
    if (there.machine_->getMCSubtargetInfo()->checkFeatures(flag) &&
        !here.machine_->getMCSubtargetInfo()->checkFeatures(flag))
      return feature;
  }
  return {};
}

void HostTarget::prepare(llvm::Module& module) const {
#if LLVM_VERSION_MAJOR >= 21
  module.setTargetTriple(machine_->getTargetTriple());
#else
  module.setTargetTriple(machine_->getTargetTriple().str());
#endif
  module.setDataLayout(machine_->createDataLayout());
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", cpu);
    if (!features.empty()) function.addFnAttr("target-features", features);
    function.addFnAttr("prefer-vector-width", fmt::to_string(vector_bytes * 8));
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

void HostTarget::optimise(llvm::Module& module) const {
  // The loops are fused, vectorised and unrolled already. These passes turn stack slots into registers, find common
  // subexpressions of addresses, and move them out of loops.
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(machine_.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass(true));
  passes.addPass(llvm::SimplifyCFGPass());
  for (llvm::Function& function : module)
    if (!function.isDeclaration() && !function.hasOptNone()) passes.run(function, functions);
}

std::string HostTarget::object(llvm::Module& module) const { return written(module, false); }
std::string HostTarget::assembly(llvm::Module& module) const { return written(module, true); }

std::string HostTarget::written(llvm::Module& module, bool text) const {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  auto const type = text ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  if (machine_->addPassesToEmitFile(passes, stream, nullptr, type, /*DisableVerify=*/true))
    throw InternalError("host: LLVM cannot write object files for " + cpu);
  passes.run(module);
  return {bytes.data(), bytes.size()};
}

}  // namespace tegula::codegen::host
