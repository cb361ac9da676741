// Compiles a module to an object file: phases, LLVM's passes, and the facts that the runtime needs.
#include <memory>
#include <optional>
#include <string>

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/host/contraction.hpp"
#include "codegen/host/host.hpp"
#include "codegen/host/inline_calls.hpp"
#include "codegen/host/outline_chains.hpp"
#include "codegen/line_table.hpp"
#include "ir/core/walk.hpp"
#include "support/locks.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen {

namespace {

using namespace host;

/// Holds the LLVM module of a kernel and the facts about it.
struct Lowered {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  CompiledKernel kernel;
};

std::vector<ParameterInfo> parameters_of(ir::Function const& kernel) {
  std::vector<ParameterInfo> result;
  for (int i = 0; i < kernel.parameter_count(); ++i) {
    ir::Type const& type = kernel.parameter(i)->type();
    ir::ParameterAttributes const& attributes = kernel.parameter_attributes()[static_cast<std::size_t>(i)];
    ParameterInfo info;
    info.kind = type.is_tensor() ? ParameterKind::tensor : ParameterKind::scalar;
    info.direction = attributes.direction;
    info.element = type.element();
    info.rank = type.is_tensor() ? type.rank() : 0;
    info.facts = attributes.facts;
    result.push_back(info);
  }
  return result;
}

std::unique_ptr<Lowered> lower(ir::Module const& source, CompileOptions const& options, HostTarget const& target,
                               KernelPaths* paths = nullptr) {
  ir::Module module = source.clone();
  inline_calls(module);
  ir::Function& kernel = module.kernel();
  for (std::size_t i = 0; i < options.facts.size() && i < kernel.parameter_attributes().size(); ++i) {
    TensorFacts& facts = kernel.parameter_attributes()[i].facts;
    facts = facts | options.facts[i];
  }
  auto result = std::make_unique<Lowered>();
  result->module = std::make_unique<llvm::Module>(kernel.name(), result->context);
  ir::walk(kernel, [&](ir::Op const& op) {
    if (!runs_on_host(op))
      throw UserError("host: @" + kernel.name() + " holds block ops, such as " + std::string(op.info().mnemonic) +
                          "; it runs on a CUDA device, and warp by warp in the simulator",
                      op.where().known() ? op.where() : kernel.where);
    bool const padded = (op.is<ir::LoadOp>() && !op.as<ir::LoadOp>().part.empty()) ||
                        (op.is<ir::StoreOp>() && !op.as<ir::StoreOp>().part.empty());
    if (padded)
      throw UserError("host: @" + kernel.name() + " has tiles that pad-tiles padded; run it without that pass",
                      op.where());
  });
  CompiledKernel& compiled = result->kernel;
  compiled.name = kernel.name();
  compiled.architecture = target.cpu;
  compiled.parameters = parameters_of(kernel);

  Plan const plan(kernel);
  SharedOperands const shared(kernel, plan);
  std::map<ir::Function const*, HostFunction> functions;
  std::optional<LineTable> lines;
  if (options.lines) lines.emplace(*result->module, kernel, LineTable::Kind::dwarf);
  ModuleContext context{
      *result->module,          target, kernel, plan, shared.any() ? &shared : nullptr, {}, 0, &functions, paths,
      lines ? &*lines : nullptr};
  if (shared.any()) {
    FunctionEmitter packer(context, kernel.name() + ".pack");
    packer.for_each_block([&](llvm::Value* unit) { packer.pack(*shared.contraction(), unit); });
    packer.finish();
    LaunchSteps steps;
    SharedOperands::Launch const launch = shared.launch(steps, ContractionLayout(packer, *shared.contraction()));
    compiled.phases.push_back({kernel.name() + ".pack", launch.units});
    compiled.workspace_bytes = launch.bytes;
    compiled.launch.steps = steps.take();
  }
  FunctionEmitter blocks(context, kernel.name() + ".blocks");
  blocks.for_each_block([&](llvm::Value* linear) {
    blocks.set_block(linear);
    blocks.block(kernel.body());
  });
  blocks.finish();
  if (lines) lines->finish();
  compiled.phases.push_back({kernel.name() + ".blocks", -1});
  // A vector that starts inside the last buffer may be read to its end.
  compiled.scratch_bytes = context.scratch_bytes == 0 ? 0 : context.scratch_bytes + target.vector_bytes;
  outline_chains(*result->module);
  target.prepare(*result->module);
#ifndef NDEBUG
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (llvm::verifyModule(*result->module, &stream))
    throw InternalError("host codegen: LLVM refuses kernel " + kernel.name() + ": " + text);
#endif
  return result;
}

}  // namespace

bool host_has_fma(std::string const& architecture) {
  support::HoldsForkOff const calls_llvm;
  return HostTarget::get(architecture).has_fma;
}

int host_vector_bytes(std::string const& architecture) {
  support::HoldsForkOff const calls_llvm;
  return HostTarget::get(architecture).vector_bytes;
}

CompiledKernel emit_host(ir::Module const& module, CompileOptions const& options) {
  support::HoldsForkOff const calls_llvm;
  HostTarget const& target = HostTarget::get(options.architecture);
  std::unique_ptr<Lowered> const lowered = lower(module, options, target);
  target.optimise(*lowered->module);
  lowered->kernel.image = target.object(*lowered->module);
  return std::move(lowered->kernel);
}

KernelPaths host_paths(ir::Module const& module, CompileOptions const& options) {
  support::HoldsForkOff const calls_llvm;
  KernelPaths result;
  (void)lower(module, options, HostTarget::get(options.architecture), &result);
  return result;
}

std::string host_assembly(ir::Module const& module, CompileOptions const& options) {
  support::HoldsForkOff const calls_llvm;
  HostTarget const& target = HostTarget::get(options.architecture);
  std::unique_ptr<Lowered> const lowered = lower(module, options, target);
  target.optimise(*lowered->module);
  return target.assembly(*lowered->module);
}

std::string host_llvm_ir(ir::Module const& module, CompileOptions const& options, bool optimised) {
  support::HoldsForkOff const calls_llvm;
  HostTarget const& target = HostTarget::get(options.architecture);
  std::unique_ptr<Lowered> const lowered = lower(module, options, target);
  if (optimised) target.optimise(*lowered->module);
  std::string text;
  llvm::raw_string_ostream stream(text);
  lowered->module->print(stream, nullptr);
  return text;
}

}  // namespace tegula::codegen
