#if TEGULA_HAS_CUDA_HEADER

#include "runtime/cuda/driver.hpp"

#include "runtime/cuda/described_device.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <vector>

#include "support/locks.hpp"
#include "tegula/support/error.hpp"

namespace tegula::runtime::cuda {

struct DriverLoader : DescribedDevice {
  using GetProcAddress = CUresult(CUDAAPI*)(char const*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

  template <class Function>
  static void resolve(Function& slot, GetProcAddress get, char const* name, int version) {
    slot.name_ = name;
    void* address = nullptr;
    CUdriverProcAddressQueryResult status{};
    if (get(name, &address, version, CU_GET_PROC_ADDRESS_DEFAULT, &status) != CUDA_SUCCESS) return;
    if (status != CU_GET_PROC_ADDRESS_SUCCESS) return;
    slot.function_ = reinterpret_cast<typename Function::Pointer>(address);
  }

  static std::string reason_of(Driver const& driver, char const* call, CUresult result) {
    char const* text = nullptr;
    if (driver.GetErrorString.function_ != nullptr) driver.GetErrorString.function_(result, &text);
    return fmt::format("{} failed: {} ({})", call, text != nullptr ? text : "unknown error", static_cast<int>(result));
  }

  static void load(Driver& driver) {
    if (device_is_described()) return answer(driver);
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      driver.unusable = "no CUDA driver: libcuda.so.1 cannot be opened";
      return;
    }
    auto const get = reinterpret_cast<GetProcAddress>(::dlsym(library, "cuGetProcAddress_v2"));
    if (get == nullptr) {
      driver.unusable = "the CUDA driver is older than 12.0: libcuda.so.1 has no cuGetProcAddress_v2";
      return;
    }
#define TEGULA_DRIVER_FUNCTION(name, version, parameters) resolve(driver.name, get, "cu" #name, version);
#include "runtime/cuda/driver.def"
#undef TEGULA_DRIVER_FUNCTION
    start(driver);
  }

  static void start(Driver& driver) {
    if (driver.Init.function_ == nullptr || driver.DriverGetVersion.function_ == nullptr ||
        driver.DeviceGetCount.function_ == nullptr) {
      driver.unusable = "the CUDA driver lacks cuInit, cuDriverGetVersion or cuDeviceGetCount";
      return;
    }
    if (CUresult const result = driver.Init.function_(0); result != CUDA_SUCCESS) {
      driver.unusable = reason_of(driver, "cuInit", result);
      return;
    }
    driver.DriverGetVersion.function_(&driver.version);
    if (CUresult const result = driver.DeviceGetCount.function_(&driver.device_count); result != CUDA_SUCCESS) {
      driver.unusable = reason_of(driver, "cuDeviceGetCount", result);
    } else if (driver.device_count == 0) {
      driver.unusable = "the CUDA driver reports no device";
    }
  }
};

namespace {

/// Follows the loading of the driver. A child of fork() inherits one that is usable or may become so.
enum class Loading : std::uint8_t { not_begun, begun, usable, unusable };
constinit std::atomic<Loading> loading = Loading::not_begun;
constinit std::atomic<bool> inherited = false;
constinit support::ChildAction inherit([](void*) {
  Loading const of_parent = loading;
  if (of_parent == Loading::begun || of_parent == Loading::usable) inherited = true;
});

/// Stands for the driver in a child of fork() whose parent has begun to use it.
Driver const& inherited_driver() {
  static constinit support::Lasting<Driver const> none;
  return none.get([] {
    auto fresh = std::make_unique<Driver>();
    fresh->unusable =
        "this process was forked from one that had begun to use CUDA, which the driver does not support; fork before "
        "CUDA is used, or start a separate program (exec, posix_spawn)";
    return fresh;
  });
}

}  // namespace

bool driver_is_inherited() { return inherited.load(std::memory_order_relaxed); }

Driver const& driver_or_reason() {
  if (driver_is_inherited()) return inherited_driver();
  static constinit support::Lasting<Driver const> loaded;
  return loaded.get([] {
    inherit.ensure();
    Loading none = Loading::not_begun;
    loading.compare_exchange_strong(none, Loading::begun);
    auto fresh = std::make_unique<Driver>();
    DriverLoader::load(*fresh);
    loading = fresh->unusable.empty() ? Loading::usable : Loading::unusable;
    return fresh;
  });
}

Driver const& driver() {
  Driver const& loaded = driver_or_reason();
  if (!loaded.unusable.empty()) throw UserError("no CUDA device can be used here: " + loaded.unusable);
  return loaded;
}

std::string remedy_of(CUresult result) {
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return "free other buffers, or take smaller tensors";
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
      return "a stream, event or context of the program was destroyed; keep it until its work has ended";
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      return "the driver cannot load this code; install a newer driver, or the ptxas of a CUDA toolkit";
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
      return "an earlier kernel of this process failed, not necessarily this one, and the device does not serve the "
             "process any more; start it again, and find the kernel with TEGULA_SIMULATE=1, TEGULA_CHECKS=bounds or "
             "compute-sanitizer";
    default:
      return "";
  }
}

void check(CUresult result, char const* call, std::string const& context) {
  if (result == CUDA_SUCCESS) return;
  Driver const& loaded = driver_or_reason();
  char const* name = nullptr;
  char const* text = nullptr;
  loaded.GetErrorName.raw(result, &name);
  loaded.GetErrorString.raw(result, &text);
  std::string const remedy = remedy_of(result);
  throw DriverError(
      fmt::format("cuda driver: {} failed: {} ({}, {}){}{}{}{}", call, text != nullptr ? text : "unknown error",
                  name != nullptr ? name : "?", static_cast<int>(result), context.empty() ? "" : "; ", context,
                  remedy.empty() ? "" : "; ", remedy),
      static_cast<int>(result));
}

void missing_function(char const* call) {
  int const version = driver_or_reason().version;
  throw DriverError(fmt::format("cuda driver: {} is missing in this driver (version {}.{}); a newer driver has it",
                                call, version / 1000, version % 1000 / 10),
                    static_cast<int>(CUDA_ERROR_NOT_FOUND));
}

CUcontext primary_context(int device) {
  static constinit support::Lock mutex;
  static constinit support::Lasting<std::vector<CUcontext>> by_device;
  Driver const& loaded = driver();
  std::vector<CUcontext>& contexts = by_device.get();
  if (device < 0 || device >= loaded.device_count)
    throw UserError(
        fmt::format("cuda:{} does not exist: this machine has {} CUDA device(s)", device, loaded.device_count));
  {
    std::lock_guard lock(mutex);
    contexts.resize(static_cast<std::size_t>(loaded.device_count));
    if (CUcontext const known = contexts[static_cast<std::size_t>(device)]; known != nullptr) return known;
  }
  CUdevice handle = 0;
  loaded.DeviceGet(&handle, device);
  CUcontext retained = nullptr;  // one of the device; threads that retain it at once keep it, as the process does
  loaded.DevicePrimaryCtxRetain(&retained, handle);
  std::lock_guard lock(mutex);
  return contexts[static_cast<std::size_t>(device)] = retained;
}

ContextScope::ContextScope(int device) {
  CUcontext const wanted = primary_context(device);
  CUcontext current = nullptr;
  driver().CtxGetCurrent(&current);
  if (current == wanted) return;
  driver().CtxPushCurrent(wanted);
  pushed_ = true;
}

ContextScope::~ContextScope() {
  CUcontext popped = nullptr;
  if (pushed_) driver_or_reason().CtxPopCurrent.raw(&popped);
}

}  // namespace tegula::runtime::cuda

#endif
