// Implements facts(kernel) and budget(kernel): lowers a kernel for a GPU and inspects it, without a GPU.
#include "abi/host_plan.hpp"
#include "analysis/budget.hpp"
#include "analysis/kernel_facts.hpp"
#include "analysis/kernel_paths.hpp"
#include "codegen/host/host.hpp"
#include "compiler/compile.hpp"
#include "jit/facts.hpp"
#include "jit/kernel_memo.hpp"
#include "runtime/cuda/ptxas.hpp"
#include "runtime/cuda/ptxas_log.hpp"
#include "target/gpu_target.hpp"
#include "support/diagnostics.hpp"
#include "support/options.hpp"
#include "tegula/jit/budget.hpp"
#include "tegula/jit/launcher.hpp"
#include "tegula/support/error.hpp"
#include "trace/traced_kernel.hpp"

namespace tegula::jit {

namespace {

ir::Module lowered_for(Target target, Traced const& source, CompileOptions& options) {
  options.target = target;
  options = with_facts(source, std::move(options));
  return compiler::lower(trace::module(source.kernel), options);
}

}  // namespace

CompileOptions with_facts(Traced const& source, CompileOptions options) {
  if (!options.facts.empty()) return options;
  ir::Function const& kernel = trace::module(source.kernel).kernel();
  for (int i = 0; i < kernel.parameter_count(); ++i) {
    ir::Type const& type = kernel.parameter(i)->type();
    options.facts.push_back({type.is_tensor(), type.is_tensor(), type.is_tensor() && type.rank() > 1});
  }
  return options;
}

Budget budget(KernelRef const& kernel, CompileOptions options) {
  std::shared_ptr<Traced const> const source = traced(kernel);  // a kernel that cannot be traced does not have a budget
  Budget result;
  try {
    ir::Module const lowered = lowered_for(Target::cuda, *source, options);
    result = analysis::budget(lowered.kernel(), target::gpu_target(options),
                              compiler::may_spill(options) ? analysis::Spills::allowed : analysis::Spills::refused);
    if (result.fits()) compiler::refuse_for_gpu(lowered, options);
  } catch (UserError const& error) {
    std::string sentence = error.what();
    std::string const place = support::to_string(error.where()) + ": ";
    if (error.where().known() && sentence.starts_with(place)) sentence.erase(0, place.size());
    result.broken.push_back({"compile", std::move(sentence), "", error.where(), true});
  }
  return result;
}

KernelPaths host_paths(KernelRef const& kernel, CompileOptions options) {
  ir::Module const lowered = lowered_for(Target::host, *traced(kernel), options);
  return codegen::host_paths(lowered, options);
}

HostPlan plan_of(Traced const& source, CompiledKernel const& compiled, KernelPaths const& paths) {
  HostPlan plan = abi::host_plan(compiled);
  ir::Function const& kernel = trace::module(source.kernel).kernel();
  for (std::size_t i = 0; i < plan.arguments.size(); ++i)
    plan.arguments[i].name = kernel.parameter(static_cast<int>(i))->name();
  if (compiled.image_kind != ImageKind::host_object) abi::add_paths(plan, paths);
  return plan;
}

KernelFacts facts_of(Traced const& source, ir::Module const& lowered, CompiledKernel const& compiled,
                     CompileOptions const& options, runtime::cuda::Assembly const* assembly) {
  KernelFacts result = analysis::kernel_facts(lowered.kernel());
  static_cast<KernelPaths&>(result) =
      analysis::kernel_paths(lowered, target::gpu_target(options), trace::module(source.kernel));
  result.plan = plan_of(source, compiled, result);
  result.shared_bytes = compiled.shared_bytes;
  result.largest = compiled.largest;
  if (assembly == nullptr) return result;
  runtime::cuda::AssemblyReport const report = runtime::cuda::parse_assembly_log(assembly->log);
  result.registers = report.registers;
  result.spill_bytes = report.spill_bytes();
  for (runtime::cuda::AssemblyNote const& note : report.notes)
    result.notes.push_back(note.code + (note.code.empty() ? "" : ": ") + note.text);
  return result;
}

KernelFacts facts(KernelRef const& kernel, CompileOptions options) {
  std::shared_ptr<Traced const> const source = traced(kernel);
  ir::Module const lowered = lowered_for(Target::cuda, *source, options);
  compiler::refuse_for_gpu(lowered, options);  // before the accesses of a kernel that is too large are counted
  CompiledKernel const compiled = compiler::emit(lowered, options);
  support::Options const& environment = support::options();
  if (runtime::cuda::find_ptxas(environment).empty()) return facts_of(*source, lowered, compiled, options, nullptr);
  runtime::cuda::Assembly const assembly =
      runtime::cuda::assemble(environment, compiled.image, compiled.architecture, compiled.name);
  return facts_of(*source, lowered, compiled, options, &assembly);
}

}  // namespace tegula::jit
