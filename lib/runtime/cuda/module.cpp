// Loads device code: PTX becomes a cubin by ptxas (kept in the disk cache) or is assembled by the driver.
#if TEGULA_HAS_CUDA_HEADER

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "runtime/cache/disk_cache.hpp"
#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/ptxas.hpp"
#include "runtime/cuda/ptxas_log.hpp"
#include "support/diagnostics.hpp"
#include "support/options.hpp"
#include "tegula/abi/profile_format.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::runtime::cuda {
namespace {

/// Holds code and the assembler's output.
struct Image {
  std::string code;
  std::string log;
};

/// Stores an image as one payload of the disk cache: the log's size in decimal, a line feed, log and code.
std::string to_payload(Image const& image) { return fmt::format("{}\n{}", image.log.size(), image.log) + image.code; }

std::optional<Image> from_payload(std::string_view payload) {
  std::size_t size = 0;
  auto const [end, error] = std::from_chars(payload.data(), payload.data() + payload.size(), size);
  payload.remove_prefix(static_cast<std::size_t>(end - payload.data()));
  if (error != std::errc() || !payload.starts_with('\n') || size >= payload.size()) return std::nullopt;
  return Image{std::string(payload.substr(1 + size)), std::string(payload.substr(1, size))};
}

/// Returns the cubin of a PTX kernel from cache or ptxas; empty if the driver is to assemble it.
Image cubin_of(CompiledKernel const& kernel, std::string const& architecture) {
  support::Options const& options = support::options();
  if (options.assembler == support::Assembler::driver) return {};
  try {
    std::string const key = cubin_key(options, kernel.image, architecture);
    if (key.empty() && options.assembler == support::Assembler::automatic) return {};
    DiskCache const cache(options);
    if (auto const found = cache.find(kernel.name, "cubin", key))
      if (auto image = from_payload(*found)) return *std::move(image);
    Assembly assembly = assemble(options, kernel.image, architecture, kernel.name);
    Image image{std::move(assembly.cubin), std::move(assembly.log)};
    cache.store(kernel.name, "cubin", key, to_payload(image));
    return image;
  } catch (Error const& error) {
    if (options.assembler == support::Assembler::ptxas) throw;
    support::report_warning(fmt::format("{}; the driver assembles the PTX instead", error.what()));
    return {};
  }
}

/// Holds a module that the driver accepted, and its log.
struct Loaded {
  CUmodule module = nullptr;
  std::string log;
};

/// Loads PTX (zero-terminated text) or a cubin. The driver's log goes into the error.
Loaded load_image(std::string const& image, std::string_view kernel, char const* format) {
  std::string errors(8192, '\0');
  std::string remarks(16384, '\0');
  auto const size = [](std::string const& text) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(text.size() - 1));
  };
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_INFO_LOG_BUFFER,  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_LOG_VERBOSE,      CU_JIT_GENERATE_LINE_INFO};
  auto const on = reinterpret_cast<void*>(std::uintptr_t{1});
  void* values[] = {errors.data(), size(errors), remarks.data(), size(remarks), on, on};
  unsigned const count = has_lines(image) ? 6 : 5;
  Loaded result;
  CUresult const status = driver().ModuleLoadDataEx.raw(&result.module, image.c_str(), count, options, values);
  if (status != CUDA_SUCCESS)
    check(status, "cuModuleLoadDataEx",
          fmt::format("kernel {} as {}{}{}", kernel, format, errors[0] != '\0' ? "; log: " : "", errors.c_str()));
  result.log = remarks.c_str();
  return result;
}

Loaded load_module(CompiledKernel const& kernel, std::string const& architecture) {
  if (kernel.image_kind == ImageKind::cubin) return load_image(kernel.image, kernel.name, "cubin");
  Image const image = cubin_of(kernel, architecture);
  if (!image.code.empty()) {
    try {
      return {load_image(image.code, kernel.name, "cubin from ptxas").module, image.log};
    } catch (DriverError const& error) {
      // A ptxas newer than the driver makes cubins that the driver does not know.
      if (support::options().assembler == support::Assembler::ptxas) throw;
      support::report_warning(fmt::format("{}; the driver assembles the PTX instead", error.what()));
    }
  }
  return load_image(kernel.image, kernel.name, "PTX");
}

int attribute(CUfunction function, CUfunction_attribute name) {
  int value = 0;
  driver().FuncGetAttribute(&value, name, function);
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

/// Allows the kernel's cluster size. Returns the number of clusters that the device holds at once.
int opt_in_to_clusters(CompiledKernel const& kernel, int device, CUfunction function) {
  constexpr int portable = 8;
  constexpr int max = 16;
  if (kernel.cluster < 1 || kernel.cluster > max)
    throw UserError(
        fmt::format("{}: clusters have 1 to {} CTAs but {} are requested", kernel.name, max, kernel.cluster));
  if (kernel.cluster > portable)
    driver().FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  LaunchConfig const launch({kernel.cluster, kernel.threads_per_cta, kernel.shared_bytes, kernel.cluster, false},
                            nullptr);
  int clusters = 0;
  driver().OccupancyMaxActiveClusters(&clusters, function, launch.config());
  if (clusters == 0)
    throw UserError(
        fmt::format("{}: no cluster of {} CTAs, each with {} threads, {} registers per thread and {} bytes of shared "
                    "memory, fits on cuda:{}; use smaller clusters or less shared memory",
                    kernel.name, kernel.cluster, kernel.threads_per_cta,
                    attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS), kernel.shared_bytes, device));
  return clusters;
}

/// Finds the buffer of records.
void* profile_of(CompiledKernel const& kernel, CUmodule module) {
  CUdeviceptr address = 0;
  std::size_t size = 0;
  check(driver().ModuleGetGlobal.raw(&address, &size, module, profile_symbol), "cuModuleGetGlobal",
        fmt::format("buffer {} of kernel {}", profile_symbol, kernel.name));
  std::int64_t const needed = profile_buffer_bytes(kernel.profile);
  if (std::cmp_less(size, needed))
    throw InternalError(
        fmt::format("{}: the buffer of records has {} bytes, and its layout needs {}", kernel.name, size, needed));
  return reinterpret_cast<void*>(address);
}

}  // namespace

Function load(CompiledKernel const& kernel, int device) {
  if (kernel.image_kind == ImageKind::host_object)
    throw UserError(fmt::format("{} was compiled for the host ({}) and cannot be loaded on cuda:{}", kernel.name,
                                kernel.architecture, device));
  std::string const architecture_here = architecture(device);
  TargetInfo const* const target = find_target(kernel.architecture);
  if (target == nullptr || !target->runs_on(capability(device)))
    throw UserError(fmt::format("{} was compiled for {}, but cuda:{} is {}", kernel.name, kernel.architecture, device,
                                architecture_here));
  ContextScope const scope(device);
  Loaded image = load_module(kernel, architecture_here);
  Function result;
  result.device = device;
  result.module = std::shared_ptr<void>(image.module, [device](void* loaded) {
    give_back([&] {
      ContextScope const inner(device);
      driver().ModuleUnload.raw(static_cast<CUmodule>(loaded));  // fails after an error of any kernel
    });
  });
  enforce(support::options(), kernel.name, image.log, kernel.largest);
  result.assembly_log = std::move(image.log);
  CUfunction function = nullptr;
  check(driver().ModuleGetFunction.raw(&function, image.module, kernel.entry.c_str()), "cuModuleGetFunction",
        fmt::format("entry {} of kernel {}", kernel.entry, kernel.name));
  result.function = function;
  if (kernel.profile.rows > 0) result.profile = profile_of(kernel, image.module);
  result.registers = attribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS);
  result.local_bytes = attribute(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  check_fit(kernel, device, function);
  if (kernel.shared_bytes > 0)
    driver().FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                              static_cast<int>(kernel.shared_bytes));
  if (kernel.cluster != 1) result.active_clusters = opt_in_to_clusters(kernel, device, function);
  if (!kernel.tensor_maps.empty()) make_stand_ins(device);
  return result;
}

}  // namespace tegula::runtime::cuda

#endif
