#include "compiler/compile.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>

#include "analysis/budget.hpp"
#include "analysis/launch_program.hpp"
#include "codegen/host/host.hpp"
#include "codegen/nvptx/nvptx.hpp"
#include "ir/link.hpp"
#include "ir/verifier.hpp"
#include "ir/verify_block.hpp"
#include "ir/walk.hpp"
#include "support/dump.hpp"
#include "support/gpu_target.hpp"
#include "support/options.hpp"
#include "tegula/support/error.hpp"
#include "transform/persistent_grid.hpp"
#include "transform/pipeline.hpp"

namespace tegula::compiler {
namespace {

using support::DumpItem;

constexpr std::string_view host_pipeline =
    "specialize,inline-functions,canonicalize,eliminate-common-subexpressions,hoist-loop-invariants,eliminate-dead-"
    "code,"
    "expand-math,canonicalize,eliminate-common-subexpressions,eliminate-dead-code";

/// Functions may stay: barriers are due on both sides of a call, so the text says them.
constexpr std::string_view cuda_pipeline =
    "specialize,inline-functions,canonicalize,eliminate-common-subexpressions,hoist-loop-invariants,eliminate-dead-"
    "code,"
    "expand-device-math,canonicalize,eliminate-common-subexpressions,eliminate-dead-code,"
    "assign-layouts,eliminate-common-subexpressions,eliminate-dead-code,allocate-shared-memory,insert-barriers";

/// For kernels of which the passes make block ops, whose text says every barrier. Their loops must be seen whole, so
/// all calls are inlined.
constexpr std::string_view cuda_block_pipeline =
    "specialize,inline-all-functions,canonicalize,eliminate-common-subexpressions,hoist-loop-invariants,eliminate-dead-"
    "code,"
    "persistent-grid,hoist-loop-invariants,swap-operands,choose-memory-paths,lag-references,skew-dots,split-loops,"
    "narrow-masks,schedule-dots,"
    "expand-device-math,canonicalize,eliminate-common-subexpressions,eliminate-dead-code,"
    "assign-layouts,eliminate-common-subexpressions,eliminate-dead-code,"
    "lower-online-softmax,test-masks,sink-reductions,share-reciprocals,split-products,split-stores,circular-buffer,"
    "specialize-warps,run-ahead,"
    "canonicalize,eliminate-common-subexpressions,eliminate-dead-code,"
    "allocate-shared-memory,insert-barriers,insert-proxy-fences,dependent-launch,take-turns,carry-remainders,"
    "clamp-coordinates";

/// Products become those of the tensor cores, loads of loops with stages and of CTAs that stay may become copies.
bool becomes_block_ops(ir::Module const& module, CompileOptions const& options) {
  bool found = false;
  for (auto const& function : module.functions()) {
    found = found || transform::stays(*function, options);
    ir::walk(*function, [&](ir::Op& op) {
      found = found || op.is<ir::DotOp>() || (op.is<ir::ForOp>() && op.as<ir::ForOp>().stages > 0);
    });
  }
  return found;
}

/// For kernels written in block ops: layouts and copies are there already.
constexpr std::string_view block_pipeline =
    "specialize,expand-device-math,canonicalize,eliminate-common-subexpressions,eliminate-dead-code,"
    "allocate-shared-memory,insert-barriers,insert-proxy-fences";

CompiledKernel generate(ir::Module const& lowered, CompileOptions const& options) {
  return options.target == Target::host ? codegen::emit_host(lowered, options) : codegen::emit_ptx(lowered, options);
}

/// Code generation for a GPU takes these for granted; a pipeline given as text may lack a pass.
void check_facts(ir::Module const& lowered) {
  using transform::Fact;
  if (!transform::why_not(Fact::no_dots, lowered).empty()) return;  // refused with the product's own reason
  for (Fact const fact : {Fact::no_fetches, Fact::layouts, Fact::shared_offsets, Fact::barriers})
    if (std::string const why = transform::why_not(fact, lowered); !why.empty())
      throw UserError(
          fmt::format("compile: code generation for a GPU needs {}, but there is {}; run the target's own "
                      "pipeline before it",
                      transform::name(fact), why));
}

void write_dumps(support::Dump const& dump, ir::Module const& lowered, CompileOptions const& options,
                 CompiledKernel const& compiled) {
  bool const host = options.target == Target::host;
  if (dump.wants(DumpItem::What::llvm))
    dump.write("ll",
               host ? codegen::host_llvm_ir(lowered, options, true) : codegen::emit_device_llvm(lowered, options));
  if (dump.wants(DumpItem::What::assembly) && host) dump.write("s", codegen::host_assembly(lowered, options));
  if (dump.wants(DumpItem::What::ptx) && compiled.image_kind == ImageKind::ptx) dump.write("ptx", compiled.image);
  if (dump.wants(DumpItem::What::launch)) dump.write("launch", analysis::to_string(compiled.launch));
}

}  // namespace

std::string_view default_pipeline(Target target) { return target == Target::host ? host_pipeline : cuda_pipeline; }

std::string_view default_pipeline(ir::Module const& module, CompileOptions const& options) {
  for (auto const& function : module.functions())
    if (ir::has_block_ops(*function)) return block_pipeline;
  if (options.target == Target::cuda && becomes_block_ops(module, options)) return cuda_block_pipeline;
  return default_pipeline(options.target);
}

ir::Module lower(ir::Module const& module, CompileOptions const& options) {
  support::throw_user_error(ir::verify(module), "verifier");
  if (std::string const missing = ir::undefined_functions(module); !missing.empty())
    throw UserError("compile: " + missing + " declared but not defined; link a module that defines it");
  ir::Module copy = module.clone();
  transform::run_pipeline(copy, options.pipeline.empty() ? default_pipeline(module, options) : options.pipeline,
                          options);
  return copy;
}

void refuse_for_gpu(ir::Module const& lowered, CompileOptions const& options) {
  check_facts(lowered);
  analysis::refuse_over_budget(lowered.kernel(), support::gpu_target(options));
  codegen::refuse_ptx(lowered, options);
}

CompiledKernel emit(ir::Module const& lowered, CompileOptions const& options) {
  support::Options const& environment = support::options();
  ir::Function const& kernel = lowered.kernel();
  if (options.target == Target::cuda) {
    check_facts(lowered);
    analysis::refuse_over_budget(kernel, support::gpu_target(options));
  }
  auto const start = std::chrono::steady_clock::now();
  CompiledKernel result;
  try {
    result = generate(lowered, options);
  } catch (UserError const&) {
    throw;
  } catch (std::exception const& error) {
    std::string const file =
        support::write_replay_file(environment, kernel.name(), transform::replay_text(lowered, "", options));
    throw InternalError(fmt::format("code generation: {}{}", error.what(),
                                    file.empty() ? "" : "\n  note: tegula_opt --replay " + file));
  }
  result.parameters = analysis::parameters_of(kernel);
  codegen::append_launch_program(result.launch, analysis::launch_program(kernel));
  if (environment.time_passes) {
    double const spent = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    std::string const line = fmt::format("{:10.3f} ms  code generation of {}\n", spent, kernel.name());
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
  write_dumps(support::Dump(environment, kernel.name()), lowered, options, result);
  return result;
}

CompiledKernel compile(ir::Module const& module, CompileOptions const& options) {
  return emit(lower(module, options), options);
}

}  // namespace tegula::compiler
