// Offers a CUDA device to the rest of the runtime, without naming a CUDA type. The driver answers in backend.cpp, and
// in a build without cuda.h no_backend.cpp throws one UserError.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/cuda/tensor_map.hpp"
#include "tegula/runtime/device.hpp"
#include "tegula/runtime/stream.hpp"
#include "tegula/abi/compiled_kernel.hpp"

namespace tegula::runtime::cuda {

/// Counts the devices; 0 if the driver cannot be used. Never throws.
int device_count();
/// Explains why the driver cannot be used; empty if it can. Never throws.
std::string unusable_reason();
/// Throws UserError with the reason if the device does not exist.
void require_device(int device);

std::string name(int device);
std::string architecture(int device);
/// Returns the compute capability: 90 for 9.0.
int capability(int device);
DeviceLimits limits(int device);

void* allocate(int device, std::int64_t bytes);
/// Frees in a destructor: a failure is a warning.
void release(int device, void* address) noexcept;
/// Allocates and frees in the order of a stream.
void* allocate_in_order(int device, CUstream_st* order, std::int64_t bytes);
void release_in_order(int device, CUstream_st* order, void* address) noexcept;
/// Allocates page-locked host memory for copies of any device.
void* allocate_pinned(int device, std::int64_t bytes);
void release_pinned(void* address) noexcept;

/// True if kernels of a device can reach memory of another one.
bool can_access(int device, int other);
/// Lets them.
void enable_access(int device, int other);
/// True after enable_access() of the two.
bool has_access(int device, int other);

// Ordered on the stream, which may be the default one. The host side of an upload or download must stay alive until the
// stream is synchronised.
void upload(int device, CUstream_st* order, void* to, void const* from, std::int64_t bytes);
void download(int device, CUstream_st* order, void* to, void const* from, std::int64_t bytes);
/// Copies between two device addresses, also of different devices.
void copy(int device, CUstream_st* order, void* to, void const* from, std::int64_t bytes);
/// Fills; pattern_bytes is 1, 2, 4 or 8.
void fill(int device, CUstream_st* order, void* to, void const* pattern, int pattern_bytes, std::int64_t bytes);

CUstream_st* create_stream(int device);
void destroy_stream(int device, CUstream_st* stream) noexcept;
void synchronize(int device, CUstream_st* stream);
/// Waits for all work of all streams of the device.
void synchronize_device(int device);
/// Returns the device whose primary context the stream belongs to. Throws UserError for another context.
int device_of(CUstream_st* stream);

/// Returns the device that an address belongs to. Throws UserError if it is not device memory.
int device_of_address(void const* address);

/// Says what an event is for: order alone costs less than time.
enum class EventUse : std::uint8_t { order, time };
void* create_event(int device, EventUse use);
void destroy_event(int device, void* event) noexcept;
void record_event(int device, void* event, CUstream_st* stream);
bool event_reached(int device, void* event);
void synchronize_event(int device, void* event);
/// Lets later work of a stream of `device` wait for an event of any device.
void wait_event(int device, CUstream_st* stream, void* event);
/// Returns the seconds between two recorded events; waits for the second.
double seconds_between(int device, void* start, void* stop);

/// Holds a kernel on a device, ready to launch.
struct Function {
  int device = 0;
  void* function = nullptr;
  std::shared_ptr<void> module;  ///< unloads it
  void* profile = nullptr;       ///< the buffer of CompiledKernel::profile; null: it records nothing
  int registers = 0;             ///< per thread
  std::int64_t local_bytes = 0;  ///< per thread; more than 0 means spills or a stack frame
  int active_clusters = 0;       ///< that the device holds at once; of a kernel with clusters
  /// Output of ptxas or the driver's assembler; empty for a cubin given as such, or for the driver's own cached code.
  std::string assembly_log;
};

/// Loads PTX or a cubin and opts in to its dynamic shared memory and cluster size. Throws:
/// - UserError if the kernel does not fit the device (need and limit);
/// - DriverError with the driver's log if the code is refused;
/// - InternalError for code that the assembler objects to (see enforce in ptxas_log.hpp).
Function load(CompiledKernel const& kernel, int device);

/// Holds the sizes of a launch besides its parameters.
struct LaunchShape {
  std::int64_t blocks = 1;  ///< along the first axis; a multiple of cluster
  int threads = 1;          ///< per CTA
  std::int64_t shared_bytes = 0;
  int cluster = 1;
  bool dependent = false;  ///< programmatic stream serialization
};

/// Launches; `parameters` points to one pointer per parameter of the entry.
void launch(Function const& function, CUstream_st* stream, LaunchShape const& shape, void** parameters,
            std::string_view kernel);

/// Encodes a tensor map through the driver. Throws DriverError, with the request in words, if it refuses.
void encode(int device, TensorMapRequest const& request, TensorMap& map);

}  // namespace tegula::runtime::cuda
