#if TEGULA_HAS_CUDA_HEADER

#include "runtime/cuda/backend.hpp"

#include <fmt/format.h>

#include <cstring>
#include <set>
#include <utility>

#include "runtime/cuda/driver.hpp"
#include "support/diagnostics.hpp"
#include "support/locks.hpp"
#include "tegula/support/error.hpp"

namespace tegula::runtime::cuda {
namespace {

CUdeviceptr device_address(void const* address) { return reinterpret_cast<CUdeviceptr>(address); }

CUdevice device_handle(int device) {
  require_device(device);
  CUdevice handle = 0;
  driver().DeviceGet(&handle, device);
  return handle;
}

int attribute(CUdevice device, CUdevice_attribute name) {
  int value = 0;
  driver().DeviceGetAttribute(&value, name, device);
  return value;
}

}  // namespace

int device_count() {
  Driver const& loaded = driver_or_reason();
  return loaded.unusable.empty() ? loaded.device_count : 0;
}

std::string unusable_reason() { return driver_or_reason().unusable; }

void require_device(int device) {
  int const count = driver().device_count;
  if (device < 0 || device >= count)
    throw UserError(fmt::format("cuda:{} does not exist: this machine has {} CUDA device(s)", device, count));
}

std::string name(int device) {
  char text[256] = {};
  driver().DeviceGetName(text, sizeof text - 1, device_handle(device));
  return text;
}

int capability(int device) {
  CUdevice const handle = device_handle(device);
  return 10 * attribute(handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
         attribute(handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

std::string architecture(int device) {
  int const found = capability(device);
  // From 9.0 on, the instructions of one architecture alone (wgmma, TMA) are behind the suffix.
  return fmt::format("sm_{}{}", found, found >= 90 ? "a" : "");
}

DeviceLimits limits(int device) {
  CUdevice const handle = device_handle(device);
  std::size_t memory = 0;
  driver().DeviceTotalMem(&memory, handle);
  DeviceLimits result;
  result.memory_bytes = static_cast<std::int64_t>(memory);
  result.shared_bytes_per_cta = attribute(handle, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  result.processors = attribute(handle, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  result.threads_per_cta = attribute(handle, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  result.registers_per_processor = attribute(handle, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  return result;
}

void* allocate(int device, std::int64_t bytes) {
  ContextScope const scope(device);
  CUdeviceptr address = 0;
  check(driver().MemAlloc.raw(&address, static_cast<std::size_t>(bytes)), "cuMemAlloc",
        fmt::format("{} bytes on cuda:{}", bytes, device));
  return reinterpret_cast<void*>(address);
}

void release(int device, void* address) noexcept {
  give_back([&] {
    ContextScope const scope(device);
    driver().MemFree(device_address(address));
  });
}

void* allocate_in_order(int device, CUstream_st* order, std::int64_t bytes) {
  ContextScope const scope(device);
  CUdeviceptr address = 0;
  check(driver().MemAllocAsync.raw(&address, static_cast<std::size_t>(bytes), order), "cuMemAllocAsync",
        fmt::format("{} bytes on cuda:{}", bytes, device));
  return reinterpret_cast<void*>(address);
}

void release_in_order(int device, CUstream_st* order, void* address) noexcept {
  give_back([&] {
    ContextScope const scope(device);
    driver().MemFreeAsync(device_address(address), order);
  });
}

void* allocate_pinned(int device, std::int64_t bytes) {
  ContextScope const scope(device);
  void* address = nullptr;
  check(driver().MemHostAlloc.raw(&address, static_cast<std::size_t>(bytes), CU_MEMHOSTALLOC_PORTABLE),
        "cuMemHostAlloc", fmt::format("{} bytes", bytes));
  return address;
}

void release_pinned(void* address) noexcept {
  give_back([&] { driver().MemFreeHost(address); });
}

bool can_access(int device, int other) {
  int can = 0;
  if (device != other) driver().DeviceCanAccessPeer(&can, device_handle(device), device_handle(other));
  return device == other || can != 0;
}

namespace {

constinit support::Lock access_lock;
/// Holds the pairs of devices of which the first may reach memory of the second.
constinit support::Lasting<std::set<std::pair<int, int>>> access_pairs;

}  // namespace

void enable_access(int device, int other) {
  if (device == other) return;
  ContextScope const scope(device);
  CUresult const result = driver().CtxEnablePeerAccess.raw(primary_context(other), 0);
  if (result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)  // by the program itself
    check(result, "cuCtxEnablePeerAccess", fmt::format("cuda:{} to memory of cuda:{}", device, other));
  std::set<std::pair<int, int>>& pairs = access_pairs.get();
  std::lock_guard const lock(access_lock);
  pairs.emplace(device, other);
}

bool has_access(int device, int other) {
  std::set<std::pair<int, int>> const& pairs = access_pairs.get();
  std::lock_guard const lock(access_lock);
  return pairs.contains({device, other});
}

void upload(int device, CUstream_st* order, void* to, void const* from, std::int64_t bytes) {
  ContextScope const scope(device);
  driver().MemcpyHtoDAsync(device_address(to), from, static_cast<std::size_t>(bytes), order);
}

void download(int device, CUstream_st* order, void* to, void const* from, std::int64_t bytes) {
  ContextScope const scope(device);
  driver().MemcpyDtoHAsync(to, device_address(from), static_cast<std::size_t>(bytes), order);
}

void copy(int device, CUstream_st* order, void* to, void const* from, std::int64_t bytes) {
  ContextScope const scope(device);
  driver().MemcpyAsync(device_address(to), device_address(from), static_cast<std::size_t>(bytes), order);
}

void fill(int device, CUstream_st* order, void* to, void const* pattern, int pattern_bytes, std::int64_t bytes) {
  ContextScope const scope(device);
  auto const count = static_cast<std::size_t>(bytes / pattern_bytes);
  CUdeviceptr const address = device_address(to);
  if (pattern_bytes == 1) {
    unsigned char value = 0;
    std::memcpy(&value, pattern, sizeof value);
    driver().MemsetD8Async(address, value, count, order);
  } else if (pattern_bytes == 2) {
    unsigned short value = 0;
    std::memcpy(&value, pattern, sizeof value);
    driver().MemsetD16Async(address, value, count, order);
  } else {
    unsigned words[2] = {};
    std::memcpy(words, pattern, static_cast<std::size_t>(pattern_bytes));
    if (pattern_bytes == 4 || words[0] == words[1]) {
      driver().MemsetD32Async(address, words[0], static_cast<std::size_t>(bytes / 4), order);
    } else {
      // The driver does not have an 8-byte memset: write one element, then double the written part.
      driver().MemsetD32Async(address, words[0], 1, order);
      driver().MemsetD32Async(address + 4, words[1], 1, order);
      for (std::int64_t done = 8; done < bytes; done *= 2) {
        std::int64_t const next = done < bytes - done ? done : bytes - done;
        driver().MemcpyAsync(address + static_cast<CUdeviceptr>(done), address, static_cast<std::size_t>(next), order);
      }
    }
  }
}

CUstream_st* create_stream(int device) {
  ContextScope const scope(device);
  CUstream stream = nullptr;
  driver().StreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  return stream;
}

void destroy_stream(int device, CUstream_st* stream) noexcept {
  give_back([&] {
    ContextScope const scope(device);
    driver().StreamDestroy(stream);
  });
}

void synchronize(int device, CUstream_st* stream) {
  ContextScope const scope(device);
  driver().StreamSynchronize(stream);
}

void synchronize_device(int device) {
  ContextScope const scope(device);
  driver().CtxSynchronize();
}

int device_of(CUstream_st* stream) {
  Driver const& loaded = driver();
  CUcontext context = nullptr;
  loaded.CtxGetCurrent(&context);
  if (stream == nullptr && context == nullptr) return 0;
  if (stream != nullptr) {
    // The per-thread and legacy default streams can be queried only with a current context.
    if (context == nullptr && reinterpret_cast<std::uintptr_t>(stream) <= 2) return 0;
    check(loaded.StreamGetCtx.raw(stream, &context), "cuStreamGetCtx", "the stream given to cuda_stream");
  }
  loaded.CtxPushCurrent(context);
  CUdevice handle = 0;
  CUresult const result = loaded.CtxGetDevice.raw(&handle);
  CUcontext popped = nullptr;
  loaded.CtxPopCurrent(&popped);
  check(result, "cuCtxGetDevice");
  for (int device = 0; device < loaded.device_count; ++device) {
    if (device_handle(device) != handle) continue;
    if (primary_context(device) != context)
      throw UserError(
          fmt::format("the stream belongs to a context of cuda:{} other than its primary one; tegula works "
                      "in primary contexts, as the CUDA runtime does",
                      device));
    return device;
  }
  throw InternalError("the device of a CUDA stream is not in the driver's list");
}

int device_of_address(void const* address) {
  int device = 0;
  if (driver().PointerGetAttribute.raw(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device_address(address)) !=
      CUDA_SUCCESS)
    throw UserError(fmt::format("{} is not an address of CUDA memory", address));
  return device;
}

void* create_event(int device, EventUse use) {
  ContextScope const scope(device);
  CUevent event = nullptr;
  driver().EventCreate(&event, use == EventUse::time ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING);
  return event;
}

void destroy_event(int device, void* event) noexcept {
  give_back([&] {
    ContextScope const scope(device);
    driver().EventDestroy(static_cast<CUevent>(event));
  });
}

void record_event(int device, void* event, CUstream_st* stream) {
  ContextScope const scope(device);
  driver().EventRecord(static_cast<CUevent>(event), stream);
}

bool event_reached(int device, void* event) {
  ContextScope const scope(device);
  CUresult const result = driver().EventQuery.raw(static_cast<CUevent>(event));
  if (result == CUDA_ERROR_NOT_READY) return false;
  check(result, "cuEventQuery");
  return true;
}

void synchronize_event(int device, void* event) {
  ContextScope const scope(device);
  driver().EventSynchronize(static_cast<CUevent>(event));
}

void wait_event(int device, CUstream_st* stream, void* event) {
  ContextScope const scope(device);
  driver().StreamWaitEvent(stream, static_cast<CUevent>(event), CU_EVENT_WAIT_DEFAULT);
}

double seconds_between(int device, void* start, void* stop) {
  ContextScope const scope(device);
  driver().EventSynchronize(static_cast<CUevent>(stop));
  float milliseconds = 0;
  driver().EventElapsedTime(&milliseconds, static_cast<CUevent>(start), static_cast<CUevent>(stop));
  return static_cast<double>(milliseconds) * 1e-3;
}

LaunchConfig::LaunchConfig(LaunchShape const& shape, CUstream stream) {
  config_.gridDimX = static_cast<unsigned>(shape.blocks);  // one axis: see CompiledKernel
  config_.gridDimY = 1;
  config_.gridDimZ = 1;
  config_.blockDimX = static_cast<unsigned>(shape.threads);
  config_.blockDimY = 1;
  config_.blockDimZ = 1;
  config_.sharedMemBytes = static_cast<unsigned>(shape.shared_bytes);
  config_.hStream = stream;
  config_.attrs = attributes_;
  if (shape.cluster != 1) {
    CUlaunchAttribute& cluster = attributes_[config_.numAttrs++];
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = static_cast<unsigned>(shape.cluster);
    cluster.value.clusterDim.y = 1;
    cluster.value.clusterDim.z = 1;
  }
  if (shape.dependent) {
    CUlaunchAttribute& dependent = attributes_[config_.numAttrs++];
    dependent.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    dependent.value.programmaticStreamSerializationAllowed = 1;
  }
}

void launch(Function const& function, CUstream_st* stream, LaunchShape const& shape, void** parameters,
            std::string_view kernel) {
  ContextScope const scope(function.device);
  LaunchConfig const launch(shape, stream);
  CUresult const result =
      driver().LaunchKernelEx.raw(launch.config(), static_cast<CUfunction>(function.function), parameters, nullptr);
  if (result != CUDA_SUCCESS)
    check(result, "cuLaunchKernelEx",
          fmt::format("kernel {}, {} blocks in clusters of {}, {} threads, {} bytes of shared memory", kernel,
                      shape.blocks, shape.cluster, shape.threads, shape.shared_bytes));
}

}  // namespace tegula::runtime::cuda

#endif
