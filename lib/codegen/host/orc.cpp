// Turns object bytes into functions; the only file that includes ORC.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <memory>

#include <llvm/ExecutionEngine/Orc/Debugging/DebuggerSupport.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderGDB.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>

#include "codegen/host/host.hpp"
#include "codegen/host/target.hpp"
#include "support/host_calls.hpp"
#include "support/locks.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen {

namespace {

/// Returns the value, or throws UserError naming the kernel.
template <class T>
T checked(llvm::Expected<T> value, CompiledKernel const& kernel, char const* step) {
  if (value) return std::move(*value);
  throw UserError("host: object of kernel " + kernel.name + " cannot be loaded: " + step + ": " +
                  llvm::toString(value.takeError()));
}

void checked(llvm::Error error, CompiledKernel const& kernel, char const* step) {
  if (error)
    throw UserError("host: object of kernel " + kernel.name + " cannot be loaded: " + step + ": " +
                    llvm::toString(std::move(error)));
}

/// Adds the only functions that host code may call. LLVM calls them for fills and copies, and for fma on CPUs without
/// it; asserts, prints and logs call the others.
void add_callable_functions(llvm::orc::LLJIT& jit, CompiledKernel const& kernel) {
  llvm::orc::SymbolMap symbols;
  auto const add = [&](char const* name, auto* function) {
    symbols[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function), llvm::JITSymbolFlags::Exported};
  };
  add(
      "memcpy", +[](void* to, void const* from, std::size_t size) { return std::memcpy(to, from, size); });
  add(
      "memmove", +[](void* to, void const* from, std::size_t size) { return std::memmove(to, from, size); });
  add(
      "memset", +[](void* to, int value, std::size_t size) { return std::memset(to, value, size); });
  add(
      "fma", +[](double a, double b, double c) { return std::fma(a, b, c); });
  add(
      "fmaf", +[](float a, float b, float c) { return std::fma(a, b, c); });
#define TEGULA_ADD(name) add(#name, &name)
  TEGULA_ADD(tegula_assert_begin);
  TEGULA_ADD(tegula_assert_failed);
  TEGULA_ADD(tegula_print_begin);
  TEGULA_ADD(tegula_print_integer);
  TEGULA_ADD(tegula_print_natural);
  TEGULA_ADD(tegula_print_number);
  TEGULA_ADD(tegula_print_tile);
  TEGULA_ADD(tegula_print_tile_end);
  TEGULA_ADD(tegula_print_end);
  TEGULA_ADD(tegula_time);
  TEGULA_ADD(tegula_thread);
#undef TEGULA_ADD
  checked(jit.getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))), kernel, "functions to call");
}

/// Tells whether the object names source lines.
bool has_lines(CompiledKernel const& kernel) { return kernel.image.find(".debug_line") != std::string::npos; }

/// Lets the loader call the one function of the process with which debuggers are told of new code.
void prepare_for_debuggers(llvm::orc::LLJITBuilder& builder) {
  builder.setProcessSymbolsJITDylibSetup([](llvm::orc::LLJIT& jit) -> llvm::Expected<llvm::orc::JITDylibSP> {
    llvm::orc::JITDylib& process = jit.getExecutionSession().createBareJITDylib("<process>");
    llvm::orc::SymbolMap symbols;
    symbols[jit.mangleAndIntern("llvm_orc_registerJITLoaderGDBAllocAction")] = {
        llvm::orc::ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderGDBAllocAction), llvm::JITSymbolFlags::Exported};
    if (llvm::Error error = process.define(llvm::orc::absoluteSymbols(std::move(symbols)))) return error;
    return &process;
  });
}

}  // namespace

LoadedHostKernel load_host(CompiledKernel const& kernel) {
  support::HoldsForkOff const calls_llvm;
  if (kernel.image_kind != ImageKind::host_object)
    throw UserError("host: kernel " + kernel.name + " was compiled for " + kernel.architecture +
                    ", not for a host CPU");
  if (kernel.image.size() < 64 || kernel.phases.empty())
    throw UserError(fmt::format(
        "host: the image of kernel {} holds {} bytes and {} phases, which is not a compiled kernel; compile it again",
        kernel.name, kernel.image.size(), kernel.phases.size()));
  if (std::string const missing = host::HostTarget::missing_here(kernel.architecture); !missing.empty())
    throw UserError("host: kernel " + kernel.name + " was compiled for " + kernel.architecture +
                    ", but this CPU lacks " + missing);

  llvm::orc::LLJITBuilder builder;
  builder.setJITTargetMachineBuilder(checked(llvm::orc::JITTargetMachineBuilder::detectHost(), kernel, "this CPU"));
  builder.setLinkProcessSymbolsByDefault(false);
  builder.setPlatformSetUp(llvm::orc::setUpInactivePlatform);
  if (has_lines(kernel)) prepare_for_debuggers(builder);
  std::shared_ptr<llvm::orc::LLJIT> jit(checked(builder.create(), kernel, "loader").release(),
                                        [](llvm::orc::LLJIT* loader) {
                                          support::HoldsForkOff const calls_llvm_again;
                                          delete loader;
                                        });
  if (has_lines(kernel)) checked(llvm::orc::enableDebuggerSupport(*jit), kernel, "debugger");
  add_callable_functions(*jit, kernel);
  checked(jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(kernel.image, kernel.name)), kernel, "object");
  LoadedHostKernel loaded;
  for (HostPhase const& phase : kernel.phases)
    loaded.entries.push_back(checked(jit->lookup(phase.entry), kernel, phase.entry.c_str()).toPtr<HostEntryFunction>());
  if (kernel.profile.rows > 0)
    loaded.profile = checked(jit->lookup(profile_symbol), kernel, profile_symbol).toPtr<std::byte*>();
  loaded.keep_alive = std::move(jit);
  return loaded;
}

}  // namespace tegula::codegen
