// Implements facts(kernel) and budget(kernel): lowers a kernel for a GPU and inspects it, without a GPU.
#include "abi/host_plan.hpp"
#include "analysis/budget.hpp"
#include "analysis/kernel_facts.hpp"
#include "analysis/kernel_paths.hpp"
#include "codegen/host/host.hpp"
#include "compiler/compile.hpp"
#include "jit/kernel_cache.hpp"
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

/// Gives the kernel as the passes transform it for the target; tensors are dense and aligned where the options do not
/// say.
ir::Module lowered_for(Target target, Traced const& source, CompileOptions& options) {
  ir::Module const& module = trace::module(source.kernel);
  options.target = target;
  if (options.facts.empty()) {
    for (int i = 0; i < module.kernel().parameter_count(); ++i) {
      TensorFacts dense;
      dense.unit_inner_stride = dense.aligned_16 = module.kernel().parameter(i)->type().is_tensor();
      options.facts.push_back(dense);
    }
  }
  return compiler::lower(module, options);
}

}  // namespace

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

KernelPaths paths_of(Traced const& source, CompileOptions const& options) {
  ir::Module const& module = trace::module(source.kernel);
  ir::Module const lowered = compiler::lower(module, options);
  return options.target == Target::host ? codegen::host_paths(lowered, options)
                                        : analysis::kernel_paths(lowered, target::gpu_target(options), module);
}

HostPlan plan_of(Traced const& source, CompiledKernel const& compiled, KernelPaths const& paths) {
  HostPlan plan = abi::host_plan(compiled);
  ir::Function const& kernel = trace::module(source.kernel).kernel();
  for (std::size_t i = 0; i < plan.arguments.size(); ++i)
    plan.arguments[i].name = kernel.parameter(static_cast<int>(i))->name();
  if (compiled.image_kind != ImageKind::host_object) abi::add_paths(plan, paths);
  return plan;
}

KernelFacts facts(KernelRef const& kernel, CompileOptions options) {
  std::shared_ptr<Traced const> const source = traced(kernel);
  ir::Module const lowered = lowered_for(Target::cuda, *source, options);
  compiler::refuse_for_gpu(lowered, options);  // before the accesses of a kernel that is too large are counted
  KernelFacts result = analysis::kernel_facts(lowered.kernel());
  static_cast<KernelPaths&>(result) =
      analysis::kernel_paths(lowered, target::gpu_target(options), trace::module(source->kernel));
  CompiledKernel const compiled = compiler::emit(lowered, options);
  result.plan = plan_of(*source, compiled, result);
  result.shared_bytes = compiled.shared_bytes;
  support::Options const& environment = support::options();
  if (runtime::cuda::find_ptxas(environment).empty()) return result;
  runtime::cuda::AssemblyReport const report = runtime::cuda::parse_assembly_log(
      runtime::cuda::assemble(environment, compiled.image, compiled.architecture, compiled.name).log);
  result.registers = report.registers;
  result.spill_bytes = report.spill_store_bytes + report.spill_load_bytes;
  return result;
}

}  // namespace tegula::jit
