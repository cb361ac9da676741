#include "compiler/compile.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <utility>

#include "analysis/budget.hpp"
#include "analysis/launch_program.hpp"
#include "analysis/profile_layout.hpp"
#include "codegen/host/host.hpp"
#include "codegen/nvptx/nvptx.hpp"
#include "ir/core/walk.hpp"
#include "ir/module/link.hpp"
#include "ir/verify/verifier.hpp"
#include "ir/verify/verify_block.hpp"
#include "support/diagnostics.hpp"
#include "support/dump.hpp"
#include "support/options.hpp"
#include "support/own_stack.hpp"
#include "target/gpu_target.hpp"
#include "tegula/support/error.hpp"
#include "transform/check_options.hpp"
#include "transform/common/levels.hpp"
#include "transform/common/remove_records.hpp"
#include "transform/pipeline.hpp"
#include "transform/simplify/contract_products.hpp"
#include "transform/simplify/insert_checks.hpp"
#include "transform/simplify/remove_asserts.hpp"

namespace tegula::compiler {
namespace {

using support::DumpItem;

bool runs_on_host(ir::Module const& module) {
  bool result = true;
  for (auto const& function : module.functions())
    ir::walk(*function, [&](ir::Op& op) { result = result && codegen::runs_on_host(op); });
  return result;
}

/// Calls `work`, for a long module on a stack of its own: LLVM follows chains of instructions by recursion, and callers
/// may have small stacks. Memory is taken only as far as the recursion goes.
template <class Work>
auto with_stack_for(ir::Module const& module, Work const& work) {
  constexpr std::size_t short_ops = 300, bytes_per_op = std::size_t{16} << 10, min_bytes = std::size_t{8} << 20;
  std::size_t ops = 0;
  for (auto const& function : module.functions()) ir::walk(*function, [&](ir::Op&) { ++ops; });
  if (ops <= short_ops) return work();
  std::optional<decltype(work())> result;
  support::on_stack_of(min_bytes + ops * bytes_per_op, [&] { result.emplace(work()); });
  return *std::move(result);
}

CompiledKernel generate(ir::Module const& lowered, CompileOptions const& options) {
  return options.target == Target::host ? codegen::emit_host(lowered, options) : codegen::emit_ptx(lowered, options);
}

/// Checks that a module is placed and without hazards, as code generation for a GPU assumes; a pipeline given as text
/// may lack a pass.
void check_properties(ir::Module const& lowered) {
  using transform::PropertySet;
  PropertySet const wanted = properties_of(transform::Level::placed) | PropertySet{transform::Property::barriers};
  auto const lack = transform::first_lack(wanted, lowered);
  if (lack)
    throw UserError(
        fmt::format("compile: code generation for a GPU needs {}, but there is {}; run the target's own "
                    "pipeline before it",
                    name(lack->property), lack->why));
}

void write_dumps(support::Dump const& dump, ir::Module const& lowered, CompileOptions const& options,
                 CompiledKernel const& compiled) {
  bool const host = options.target == Target::host;
  if (dump.wants(DumpItem::Kind::llvm))
    dump.write("ll",
               host ? codegen::host_llvm_ir(lowered, options, true) : codegen::emit_device_llvm(lowered, options));
  if (dump.wants(DumpItem::Kind::assembly) && host) dump.write("s", codegen::host_assembly(lowered, options));
  if (dump.wants(DumpItem::Kind::ptx) && compiled.image_kind == ImageKind::ptx) dump.write("ptx", compiled.image);
  if (dump.wants(DumpItem::Kind::launch)) dump.write("launch", analysis::to_string(compiled.launch));
}

}  // namespace

transform::Pipeline default_pipeline(Target target) {
  return target == Target::host ? transform::host_pipeline() : transform::cuda_pipeline();
}

transform::Pipeline default_pipeline(ir::Module const& module, CompileOptions const& options) {
  if (options.target == Target::host && runs_on_host(module)) return transform::host_pipeline();
  for (auto const& function : module.functions())
    if (ir::has_block_ops(*function)) return transform::block_pipeline();
  return default_pipeline(options.target);
}

ir::Module with_checks(ir::Module const& module, CompileOptions const& options) {
  ir::Module copy = module.clone();
  for (auto const& function : copy.functions()) {
    bool const ranges = options.asserts && (options.ranges || options.target == Target::host);
    if (!ranges) transform::remove_asserts(*function, options.asserts);
    if (!options.profile.user) transform::remove_records(*function);
    if (options.checks.any()) transform::insert_checks(*function, options.checks);
  }
  return copy;
}

namespace {

bool has_fma(CompileOptions const& options) {
  return options.target != Target::host || codegen::host_has_fma(options.architecture);
}

}  // namespace

std::string_view rounding_of_products(CompileOptions const& options) {
  if (options.exact) return "rounded before they are added (exact)";
  if (!transform::contracts(options)) return "rounded before they are added (contraction = off)";
  return has_fma(options) ? "added without rounding (fma)"
                          : "rounded before they are added (the CPU has no FMA instructions)";
}

ir::Module for_tiles(ir::Module const& module, CompileOptions const& options) {
  ir::Module copy = with_checks(module, options);
  transform::run_pipeline(copy, transform::contraction(), options);
  return copy;
}

namespace {

/// Switches contraction off for a CPU without instructions for it.
CompileOptions as_target_rounds(CompileOptions options) {
  if (transform::contracts(options) && !has_fma(options)) options.contraction = Choice::off;
  return options;
}

ir::Module lowered_here(ir::Module const& module, CompileOptions const& stated,
                        transform::PassObserver const& observer) {
  CompileOptions const options = as_target_rounds(stated);
  support::throw_user_error(ir::verify(module), "verifier");
  if (std::string const missing = ir::undefined_functions(module); !missing.empty())
    throw UserError("compile: " + missing + " declared but not defined; link a module that defines it");
  ir::Module copy = with_checks(module, options);
  if (!options.pipeline.empty())
    transform::run_pipeline(copy, options.pipeline, options, support::options(), observer);
  else
    transform::run_pipeline(copy, default_pipeline(copy, options), options, support::options(), observer);
  return copy;
}

analysis::Spills spills(CompileOptions const& options) {
  return may_spill(options) ? analysis::Spills::allowed : analysis::Spills::refused;
}

/// Refuses a kernel that exceeds the budget; returns that. `warns`: says that it will spill if no number of warps fits.
Budget check_budget(ir::Function const& kernel, CompileOptions const& options, bool warns) {
  Budget const budget = analysis::budget(kernel, target::gpu_target(options), spills(options));
  analysis::refuse_over_budget(budget, kernel);
  if (!warns) return budget;
  for (BrokenRule const& rule : budget.broken)
    if (rule.name == "registers")
      support::report_warning(fmt::format("compile: @{}: {}, so that values go to local memory and back; {}{}",
                                          kernel.name(), rule.sentence, rule.fix,
                                          rule.where.known() ? " (" + support::to_string(rule.where) + ")" : ""));
  return budget;
}

/// Refuses a module that the passes have not prepared for the target. Returns what it takes of a GPU.
Budget check_lowered(ir::Module const& lowered, CompileOptions const& options, bool warns) {
  if (options.target != Target::cuda) return {};
  check_properties(lowered);
  return check_budget(lowered.kernel(), options, warns);
}

/// Calls a part of code generation of a checked module. An exception other than a refusal becomes an InternalError
/// that names a replay file.
template <class Make>
auto generated(ir::Module const& lowered, CompileOptions const& options, Make const& make) {
  try {
    return make();
  } catch (UserError const&) {
    throw;
  } catch (std::exception const& error) {
    std::string const file = support::write_replay_file(support::options(), lowered.kernel().name(),
                                                        transform::replay_text(lowered, "", options));
    throw InternalError(fmt::format("code generation: {}{}", error.what(),
                                    file.empty() ? "" : "\n  note: tegula_opt --replay " + file));
  }
}

CompiledKernel emitted_here(ir::Module const& lowered, CompileOptions const& options) {
  support::Options const& environment = support::options();
  ir::Function const& kernel = lowered.kernel();
  auto const start = std::chrono::steady_clock::now();
  LargestTile largest = check_lowered(lowered, options, true).largest;
  CompiledKernel result = generated(lowered, options, [&] { return generate(lowered, options); });
  result.largest = std::move(largest);
  result.parameters = analysis::parameters_of(kernel);
  result.profile = analysis::profile_layout(kernel);
  codegen::append_launch_program(result.launch, analysis::launch_program(kernel));
  if (environment.time_passes) {
    double const spent = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    std::string const line = fmt::format("{:10.3f} ms  code generation of {}\n", spent, kernel.name());
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
  write_dumps(support::Dump(environment, kernel.name()), lowered, options, result);
  return result;
}

}  // namespace

ir::Module lower(ir::Module const& module, CompileOptions const& options, transform::PassObserver const& observer) {
  transform::check_options(options);
  return with_stack_for(module, [&] { return lowered_here(module, options, observer); });
}

bool may_spill(CompileOptions const& options) { return !options.exactly && options.pipeline.empty(); }

void refuse_for_gpu(ir::Module const& lowered, CompileOptions const& options) {
  (void)check_lowered(lowered, options, false);
  with_stack_for(lowered, [&] { return codegen::refuse_ptx(lowered, options), true; });
}

CompiledKernel emit(ir::Module const& lowered, CompileOptions const& options) {
  transform::check_options(options);
  return with_stack_for(lowered, [&] { return emitted_here(lowered, options); });
}

std::string output(ir::Module const& lowered, CompileOptions const& options, std::string_view kind) {
  bool const host = options.target == Target::host;
  if (kind == "launch") return analysis::to_string(analysis::launch_program(lowered.kernel()));
  if (kind == "asm" && !host) throw UserError("--emit=asm needs --target=host; for cuda there is --emit=ptx");
  if (kind == "ptx" && host) throw UserError("--emit=ptx needs --target=cuda");
  if (kind != "llvm" && kind != "asm") return emit(lowered, options).image;
  return with_stack_for(lowered, [&] {
    (void)check_lowered(lowered, options, true);
    return generated(lowered, options, [&] {
      if (kind == "asm") return codegen::host_assembly(lowered, options);
      return host ? codegen::host_llvm_ir(lowered, options, true) : codegen::emit_device_llvm(lowered, options);
    });
  });
}

CompiledKernel compile(ir::Module const& module, CompileOptions const& options) {
  CompiledKernel result = emit(lower(module, options), options);
  int number = 0;
  for (auto const& function : module.functions())
    ir::walk_pre_order(function->body(), [&](ir::Op& op) {
      bool const here = result.largest.op < 0 && op.where().known() && op.where().line() == result.largest.line &&
                        result.largest.file == op.where().file();
      if (here) result.largest.op = number;
      ++number;
      return ir::Walk::advance;
    });
  return result;
}

}  // namespace tegula::compiler
