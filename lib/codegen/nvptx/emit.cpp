// Compiles a kernel from IR with layouts to PTX text, with the facts that the launcher needs.
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <optional>

#include "codegen/line_table.hpp"
#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/machine.hpp"
#include "codegen/nvptx/nvptx.hpp"
#include "codegen/nvptx/sync_census.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/memory/shared_frame.hpp"
#include "target/gpu_target.hpp"
#include "support/locks.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen {
namespace {

struct Compiled {
  std::string llvm_ir;
  std::string ptx;
  std::string entry;
};

/// Returns the PTX version that a kernel needs, at least the target's: st.async and atomics of vectors came with
/// PTX 8.1, mma of floats of 8 bits with 8.4. The target states the version of its conversions of these.
int ptx_version_for(ir::Function const& kernel, TargetInfo const& target) {
  int version = target.ptx_version;
  auto const see = [&](ir::Op const& op) {
    if (op.is<ir::PeerStoreOp>()) version = std::max(version, 81);
    if (op.is<ir::BuildTensorMapOp>() || op.is<ir::AcquireTensorMapOp>()) version = std::max(version, 83);
    if (op.is<ir::AtomicUpdateOp>() && op.as<ir::AtomicUpdateOp>().vector > 1) version = std::max(version, 81);
    if (op.is<ir::CastOp>() && (is_f8(op.operand()->type().element()) || is_f8(op.result()->type().element())))
      version = std::max(version, target.f8_conversion_ptx);
    if (op.is<ir::MmaOp>() && is_f8(op.lhs()->type().element())) version = std::max(version, 84);
    if (op.is<ir::WgmmaOp>() && is_integer(op.lhs()->type().element()) &&
        op.lhs()->type().element() != op.rhs()->type().element())
      version = std::max(version, 84);
  };
  ir::walk_pre_order(kernel.body(), [&](ir::Op& op) {
    see(op);
    return ir::Walk::advance;
  });
  if (kernel.parent() != nullptr)
    for (auto const& function : kernel.parent()->functions())
      if (!function->is_kernel()) ir::walk(*function, see);
  return version;
}

Compiled compile(ir::Function const& kernel, CompileOptions const& options, bool want_ir) {
  TargetInfo const& target = target::gpu_target(options);
  llvm::LLVMContext context;
  llvm::Module module(kernel.name(), context);
  auto const machine = nvptx::make_target_machine(target, ptx_version_for(kernel, target));
  nvptx::prepare_module(module, *machine);
  std::optional<LineTable> lines;
  if (options.lines) lines.emplace(module, kernel, LineTable::Kind::directives);
  nvptx::Emitter emitter(module, kernel, target);
  emitter.lines = lines ? &*lines : nullptr;
  std::string const entry = emitter.emit_kernel().getName().str();
  if (lines) lines->finish();

  std::string error;
  llvm::raw_string_ostream error_stream(error);
  if (llvm::verifyModule(module, &error_stream))
    throw InternalError("nvptx: malformed LLVM IR for @" + kernel.name() + ": " + error);
  nvptx::SyncCensus const census(module);
  nvptx::optimize(module, *machine);
  Compiled result;
  if (want_ir) {
    llvm::raw_string_ostream stream(result.llvm_ir);
    module.print(stream, nullptr);
  }
  result.entry = entry;
  result.ptx = census.checked(nvptx::print_ptx(module, *machine), kernel.name());
  return result;
}

/// Describes a launch of a kernel of block ops: tensor maps in the order of the parameters, cluster, dependence.
void describe_launch(ir::Function& kernel, CompiledKernel& result) {
  for (ir::Op const* op : nvptx::tensor_maps_of(kernel)) {
    auto const& map = op->as<ir::TensorMapOp>();
    TensorMapInfo info;
    ir::Value const& tensor = *op->in<ir::TensorMapOp>("tensor");
    info.parameter = ir::parameter_behind(tensor).index();
    info.axes = ir::axes_of_parameter(tensor);
    info.box = map.box;
    info.swizzle = map.swizzle;
    result.tensor_maps.push_back(info);
  }
  result.cluster = kernel.cluster;
  ir::walk(kernel, [&](ir::Op& op) { result.dependent_launch |= op.is<ir::WaitDependenciesOp>(); });
}

}  // namespace

CompiledKernel emit_ptx(ir::Module const& module, CompileOptions const& options) {
  support::HoldsForkOff const calls_llvm;
  ir::Function& kernel = module.kernel();
  CompiledKernel result;
  result.name = kernel.name();
  TargetInfo const& target = target::gpu_target(options);
  result.architecture = target.architecture;
  for (int i = 0; i < kernel.parameter_count(); ++i) {
    ir::Type const& type = kernel.parameter(i)->type();
    ir::ParameterAttributes const& attributes = kernel.parameter_attributes()[static_cast<std::size_t>(i)];
    result.parameters.push_back({type.is_tensor() ? ParameterKind::tensor : ParameterKind::scalar, attributes.direction,
                                 type.element(), type.is_tensor() ? type.rank() : 0, attributes.facts});
  }
  result.shared_bytes = ir::frame_bytes(ir::shared_users(kernel));
  result.threads_per_cta = kernel.warps * target.lanes;
  describe_launch(kernel, result);
  Compiled compiled = compile(kernel, options, false);
  result.image_kind = ImageKind::ptx;
  result.image = std::move(compiled.ptx);
  result.entry = std::move(compiled.entry);
  return result;
}

void refuse_ptx(ir::Module const& module, CompileOptions const& options) {
  support::HoldsForkOff const calls_llvm;
  llvm::LLVMContext context;
  llvm::Module unused(module.kernel().name(), context);
  TargetInfo const& target = target::gpu_target(options);
  auto const machine = nvptx::make_target_machine(target, ptx_version_for(module.kernel(), target));
  nvptx::prepare_module(unused, *machine);
  nvptx::Emitter(unused, module.kernel(), target).emit_kernel();
}

std::string emit_device_llvm(ir::Module const& module, CompileOptions const& options) {
  support::HoldsForkOff const calls_llvm;
  return compile(module.kernel(), options, true).llvm_ir;
}

}  // namespace tegula::codegen
