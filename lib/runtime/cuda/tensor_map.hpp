// Describes tensor maps: the 128-byte descriptors that TMA copies take by value. A tensor, a box and a swizzle become
// the driver's arguments here, after a check of every rule of cuTensorMapEncodeTiled. This does not need a driver. The
// call itself is cuda::encode (backend.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/locks.hpp"
#include "tegula/runtime/argument.hpp"
#include "tegula/abi/compiled_kernel.hpp"

namespace tegula::runtime::cuda {

/// Holds the driver's opaque descriptor. It is passed by value as one grid_constant kernel parameter. So it does not
/// need a fence or a copy to the device, and a captured graph keeps it.
struct alignas(128) TensorMap {
  std::byte bytes[128] = {};
};
static_assert(sizeof(TensorMap) == 128);

inline constexpr int max_tensor_map_axes = 5;

/// Replaces the memory of a tensor without elements: the smallest map has one element, and a kernel that runs
/// nevertheless may copy it. Loads find the values that they would find outside a tensor; stores go to memory that is
/// never read.
enum class StandIn : std::uint8_t { none, zeros, nans, sink };

/// Holds the arguments of cuTensorMapEncodeTiled. Innermost axis first, strides of all axes but the innermost, in
/// bytes.
struct TensorMapRequest {
  Element element = Element::f32;
  int rank = 1;
  std::uint64_t address = 0;  ///< if stand_in is none
  std::array<std::uint64_t, max_tensor_map_axes> extents = {};
  std::array<std::uint64_t, max_tensor_map_axes - 1> strides = {};
  std::array<std::uint32_t, max_tensor_map_axes> box = {};
  Swizzle swizzle = Swizzle::none;
  L2Promotion l2_promotion = L2Promotion::none;
  bool nan_fill = false;
  StandIn stand_in = StandIn::none;
  friend bool operator==(TensorMapRequest const&, TensorMapRequest const&) = default;
};

/// Makes the request for one tensor map of a kernel. `parameters` and `arguments` are the kernel's; they passed
/// check_arguments. Throws InternalError for a map without a tensor parameter. Throws UserError with value and remedy
/// for a tensor or a box that TMA cannot copy. The rules:
/// - rank 1 to 5;
/// - address and outer strides multiples of 16 bytes, strides from 0 to below 2^40 bytes;
/// - unit inner stride;
/// - at most 2^31 elements along an axis (coordinates are signed 32-bit numbers);
/// - box extents 1 to 256;
/// - rows of the box multiples of 16 bytes within the swizzle's span;
/// - NaN for floats alone.
TensorMapRequest describe(std::string_view kernel, TensorMapInfo const& map, std::span<ParameterInfo const> parameters,
                          std::span<Argument const> arguments);

/// Prints "bf16 box 64x128 of 4096x4096 at 0x7f.., innermost axis first, strides in bytes 8192, swizzle b128": for
/// errors.
std::string to_string(TensorMapRequest const& request);

/// Keeps encoded maps by request, shared by all launches of the process. Bounded: a request with the slot of another
/// one replaces it. Safe to use from any thread.
class TensorMapCache {
 public:
  using Encode = void (*)(int device, TensorMapRequest const& request, TensorMap& map);
  explicit TensorMapCache(Encode encode, std::size_t places = 512) : encode_(encode), entries_(places) {}

  /// Fills `map`, through `encode` if it is not kept. Passes on exceptions of `encode`.
  void get(int device, TensorMapRequest const& request, TensorMap& map);

 private:
  struct Entry {
    int device = -1;
    TensorMapRequest request;
    TensorMap map;
  };
  Encode encode_;
  support::Mutex mutex_;
  std::vector<Entry> entries_;
};

/// Returns the process's cache over cuda::encode.
TensorMapCache& tensor_map_cache();

}  // namespace tegula::runtime::cuda
