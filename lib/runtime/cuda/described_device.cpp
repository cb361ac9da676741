#if TEGULA_HAS_CUDA_HEADER

#include "runtime/cuda/described_device.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "runtime/cuda/driver.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::runtime::cuda {
namespace {

constinit std::atomic<TargetInfo const*> described = nullptr;
constinit std::atomic<bool> answered = false;

TargetInfo const& target() { return *described; }

template <class... P>
CUresult CUDAAPI succeed(P...) {
  return CUDA_SUCCESS;
}

/// Names objects of the driver, of which nothing is asked but that they are there.
template <class Handle>
void make(Handle* handle) {
  *handle = reinterpret_cast<Handle>(std::uintptr_t{64});
}

/// Aligns as the driver does; the memory of the process stands right ahead of it.
constexpr std::size_t alignment = 256;
CUresult allocate(CUdeviceptr* address, std::size_t bytes) {
  auto* const own = static_cast<char*>(std::calloc(bytes + 2 * alignment, 1));
  if (own == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = (reinterpret_cast<CUdeviceptr>(own) / alignment + 2) * alignment;
  std::memcpy(reinterpret_cast<void*>(*address - sizeof own), &own, sizeof own);
  return CUDA_SUCCESS;
}
CUresult release(CUdeviceptr address) {
  char* own = nullptr;
  std::memcpy(&own, reinterpret_cast<void const*>(address - sizeof own), sizeof own);
  std::free(own);
  return CUDA_SUCCESS;
}
template <class Value>
CUresult fill(CUdeviceptr to, Value value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(reinterpret_cast<char*>(to) + i * sizeof value, &value, sizeof value);
  return CUDA_SUCCESS;
}
CUresult move(void* to, void const* from, std::size_t bytes) {
  std::memmove(to, from, bytes);
  return CUDA_SUCCESS;
}
void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

int attribute(CUdevice_attribute name) {
  switch (static_cast<int>(name)) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return target().capability / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return target().capability % 10;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return static_cast<int>(target().shared);
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return target().costs.multiprocessors;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return target().threads;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      return target().registers;
    default:
      return 0;
  }
}

}  // namespace

void describe_device(TargetInfo const& of) {
  described = &of;
  driver_or_reason();
  if (!answered)
    throw UserError("a device cannot be described: this process uses the CUDA driver already; record in another one");
}

bool device_is_described() { return described != nullptr; }

void DescribedDevice::answer(Driver& driver) {
  answered = true;
  driver.version = CUDA_VERSION;
  driver.device_count = 1;
#define TEGULA_DRIVER_FUNCTION(name, version, parameters) \
  driver.name.name_ = "cu" #name;                         \
  driver.name.function_ = succeed;
#include "runtime/cuda/driver.def"
#undef TEGULA_DRIVER_FUNCTION
  driver.DeviceGetCount.function_ = [](int* count) { return *count = 1, CUDA_SUCCESS; };
  driver.DeviceGet.function_ = [](CUdevice* device, int) { return *device = 0, CUDA_SUCCESS; };
  driver.DeviceGetName.function_ = [](char* name, int size, CUdevice) {
    target().architecture.substr(0, static_cast<std::size_t>(size)).copy(name, static_cast<std::size_t>(size));
    return CUDA_SUCCESS;
  };
  driver.DeviceGetAttribute.function_ = [](int* value, CUdevice_attribute name, CUdevice) {
    return *value = attribute(name), CUDA_SUCCESS;
  };
  driver.DeviceTotalMem.function_ = [](std::size_t* bytes, CUdevice) {
    return *bytes = std::size_t{1} << 36, CUDA_SUCCESS;
  };
  driver.DevicePrimaryCtxRetain.function_ = [](CUcontext* context, CUdevice) { return make(context), CUDA_SUCCESS; };
  driver.CtxGetCurrent.function_ = [](CUcontext* context) { return make(context), CUDA_SUCCESS; };
  driver.CtxPopCurrent.function_ = [](CUcontext* context) { return make(context), CUDA_SUCCESS; };
  driver.CtxGetDevice.function_ = [](CUdevice* device) { return *device = 0, CUDA_SUCCESS; };
  driver.StreamCreate.function_ = [](CUstream* stream, unsigned) { return make(stream), CUDA_SUCCESS; };
  driver.StreamGetCtx.function_ = [](CUstream, CUcontext* context) { return make(context), CUDA_SUCCESS; };
  driver.StreamEndCapture.function_ = [](CUstream, CUgraph* graph) { return make(graph), CUDA_SUCCESS; };
  driver.StreamIsCapturing.function_ = [](CUstream, CUstreamCaptureStatus* status) {
    return *status = CU_STREAM_CAPTURE_STATUS_NONE, CUDA_SUCCESS;
  };
  driver.GraphInstantiateWithFlags.function_ = [](CUgraphExec* graph, CUgraph, unsigned long long) {
    return make(graph), CUDA_SUCCESS;
  };
  driver.EventCreate.function_ = [](CUevent* event, unsigned) { return make(event), CUDA_SUCCESS; };
  driver.EventElapsedTime.function_ = [](float* milliseconds, CUevent, CUevent) {
    return *milliseconds = 0, CUDA_SUCCESS;
  };
  driver.MemAlloc.function_ = allocate;
  driver.MemFree.function_ = release;
  driver.MemAllocAsync.function_ = [](CUdeviceptr* address, std::size_t bytes, CUstream) {
    return allocate(address, bytes);
  };
  driver.MemFreeAsync.function_ = [](CUdeviceptr address, CUstream) { return release(address); };
  driver.MemHostAlloc.function_ = [](void** address, std::size_t bytes, unsigned) {
    CUdeviceptr found = 0;
    CUresult const result = allocate(&found, bytes);
    *address = pointer(found);
    return result;
  };
  driver.MemFreeHost.function_ = [](void* address) { return release(reinterpret_cast<CUdeviceptr>(address)); };
  driver.DeviceCanAccessPeer.function_ = [](int* can, CUdevice, CUdevice) { return *can = 0, CUDA_SUCCESS; };
  driver.MemcpyHtoDAsync.function_ = [](CUdeviceptr to, void const* from, std::size_t bytes, CUstream) {
    return move(pointer(to), from, bytes);
  };
  driver.MemcpyDtoHAsync.function_ = [](void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
    return move(to, pointer(from), bytes);
  };
  driver.MemcpyAsync.function_ = [](CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
    return move(pointer(to), pointer(from), bytes);
  };
  driver.MemsetD8Async.function_ = [](CUdeviceptr to, unsigned char value, std::size_t count, CUstream) {
    return fill(to, value, count);
  };
  driver.MemsetD16Async.function_ = [](CUdeviceptr to, unsigned short value, std::size_t count, CUstream) {
    return fill(to, value, count);
  };
  driver.MemsetD32Async.function_ = [](CUdeviceptr to, unsigned value, std::size_t count, CUstream) {
    return fill(to, value, count);
  };
  driver.PointerGetAttribute.function_ = [](void* value, CUpointer_attribute, CUdeviceptr) {
    int const device = 0;
    return std::memcpy(value, &device, sizeof device), CUDA_SUCCESS;
  };
  driver.ModuleLoadDataEx.function_ = [](CUmodule* module, void const*, unsigned, CUjit_option*, void**) {
    return make(module), CUDA_SUCCESS;
  };
  driver.ModuleGetFunction.function_ = [](CUfunction* function, CUmodule, char const*) {
    return make(function), CUDA_SUCCESS;
  };
  driver.FuncGetAttribute.function_ = [](int* value, CUfunction_attribute name, CUfunction) {
    *value = name == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? target().threads : 0;
    return CUDA_SUCCESS;
  };
  driver.OccupancyMaxActiveClusters.function_ = [](int* clusters, CUfunction, CUlaunchConfig const*) {
    return *clusters = 1, CUDA_SUCCESS;
  };
}

}  // namespace tegula::runtime::cuda

#endif
