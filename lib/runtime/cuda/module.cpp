// Loading of device code: PTX becomes a cubin by ptxas (kept in the disk cache) or is assembled by the driver.
#if TEGULA_HAS_CUDA_HEADER

#include <fmt/format.h>

#include <cstring>

#include "runtime/cache/disk_cache.hpp"
#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/ptxas.hpp"
#include "support/diagnostics.hpp"
#include "support/key_text.hpp"
#include "support/options.hpp"
#include "tegula/support/error.hpp"

namespace tegula::runtime::cuda {
namespace {

/// The cubin of a PTX kernel from cache or ptxas; empty if the driver is to assemble it.
std::string cubin_of(CompiledKernel const& kernel, std::string const& architecture) {
  support::Options const& options = support::options();
  if (options.assembler == support::Assembler::driver) return {};
  std::string const key = support::KeyText()
                              .add("kind", "cubin")
                              .add("ptx_hash", support::hash_hex(kernel.image))
                              .add("architecture", architecture)
                              .add("driver", driver_version())
                              .str();
  DiskCache const cache(options);
  if (auto found = cache.find(kernel.name, "cubin", key)) return *std::move(found);
  if (options.assembler == support::Assembler::automatic && find_ptxas(options).empty()) return {};
  try {
    std::string cubin = assemble(options, kernel.image, architecture, kernel.name).cubin;
    cache.store(kernel.name, "cubin", key, cubin);
    return cubin;
  } catch (Error const& error) {
    if (options.assembler == support::Assembler::ptxas) throw;
    support::report_warning(fmt::format("{}; the driver assembles the PTX instead", error.what()));
    return {};
  }
}

/// Loads PTX (zero-terminated text) or a cubin. The driver's log goes into the error.
CUmodule load_image(std::string const& image, std::string_view kernel, char const* what) {
  char errors[8192] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {errors, reinterpret_cast<void*>(static_cast<std::uintptr_t>(sizeof errors - 1))};
  CUmodule module = nullptr;
  CUresult const result = driver().ModuleLoadDataEx.raw(&module, image.c_str(), 2, options, values);
  if (result != CUDA_SUCCESS)
    check(result, "cuModuleLoadDataEx",
          fmt::format("kernel {} as {}{}{}", kernel, what, errors[0] != '\0' ? "; log: " : "", errors));
  return module;
}

CUmodule load_module(CompiledKernel const& kernel, std::string const& architecture) {
  if (kernel.image_kind == ImageKind::cubin) return load_image(kernel.image, kernel.name, "cubin");
  std::string const cubin = cubin_of(kernel, architecture);
  if (!cubin.empty()) {
    try {
      return load_image(cubin, kernel.name, "cubin from ptxas");
    } catch (DriverError const& error) {
      // A ptxas newer than the driver makes cubins that the driver does not know.
      if (support::options().assembler == support::Assembler::ptxas) throw;
      support::report_warning(fmt::format("{}; the driver assembles the PTX instead", error.what()));
    }
  }
  return load_image(kernel.image, kernel.name, "PTX");
}

int attribute(CUfunction function, CUfunction_attribute which) {
  int value = 0;
  driver().FuncGetAttribute(&value, which, function);
  return value;
}

void check_fit(CompiledKernel const& kernel, int device, CUfunction function) {
  DeviceLimits const limit = limits(device);
  std::int64_t const fixed = attribute(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  std::int64_t const shared = kernel.shared_bytes + fixed;
  if (shared > limit.shared_bytes_per_cta)
    throw UserError(fmt::format("{}: shared memory: {} bytes needed, {} allowed on cuda:{}", kernel.name, shared,
                                limit.shared_bytes_per_cta, device));
  int const threads = attribute(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  if (kernel.threads_per_cta < 1 || kernel.threads_per_cta > threads)
    throw UserError(fmt::format("{}: {} threads per CTA needed, {} allowed on cuda:{} with {} registers per thread",
                                kernel.name, kernel.threads_per_cta, threads, device,
                                attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS)));
}

}  // namespace

Function load(CompiledKernel const& kernel, int device) {
  if (kernel.image_kind == ImageKind::host_object)
    throw UserError(fmt::format("{} was compiled for the host ({}) and cannot be loaded on cuda:{}", kernel.name,
                                kernel.architecture, device));
  std::string const architecture_here = architecture(device);
  if (kernel.architecture != architecture_here)
    throw UserError(fmt::format("{} was compiled for {}, but cuda:{} is {}", kernel.name, kernel.architecture, device,
                                architecture_here));
  ContextScope const scope(device);
  CUmodule const module = load_module(kernel, architecture_here);
  Function result;
  result.device = device;
  result.module = std::shared_ptr<void>(module, [device](void* loaded) {
    try {
      ContextScope const inner(device);
      driver().ModuleUnload.raw(static_cast<CUmodule>(loaded));  // at process exit the driver may be gone
    } catch (Error const& error) {
      support::report_warning(error.what());
    }
  });
  CUfunction function = nullptr;
  check(driver().ModuleGetFunction.raw(&function, module, kernel.entry.c_str()), "cuModuleGetFunction",
        fmt::format("entry {} of kernel {}", kernel.entry, kernel.name));
  result.function = function;
  result.registers = attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS);
  result.local_bytes = attribute(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  check_fit(kernel, device, function);
  if (kernel.shared_bytes > 0)
    driver().FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                              static_cast<int>(kernel.shared_bytes));
  return result;
}

}  // namespace tegula::runtime::cuda

#endif
