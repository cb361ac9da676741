// Encodes tensor maps through the driver, and holds the memory that stands in for tensors without elements.
#if TEGULA_HAS_CUDA_HEADER

#include <fmt/format.h>

#include <cstring>
#include <map>

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/tensor_map.hpp"
#include "support/locks.hpp"
#include "tegula/support/error.hpp"

namespace tegula::runtime::cuda {
namespace {

static_assert(sizeof(TensorMap) == sizeof(CUtensorMap) && alignof(TensorMap) >= alignof(CUtensorMap));

constexpr std::int64_t stand_in_bytes = 128;  ///< each; the largest element has 8

constexpr bool same(TensorMapType ours, CUtensorMapDataType of_driver) {
  return static_cast<int>(ours) == static_cast<int>(of_driver);
}
static_assert(same(TensorMapType::uint8, CU_TENSOR_MAP_DATA_TYPE_UINT8) &&
                  same(TensorMapType::uint16, CU_TENSOR_MAP_DATA_TYPE_UINT16) &&
                  same(TensorMapType::uint32, CU_TENSOR_MAP_DATA_TYPE_UINT32) &&
                  same(TensorMapType::int32, CU_TENSOR_MAP_DATA_TYPE_INT32) &&
                  same(TensorMapType::uint64, CU_TENSOR_MAP_DATA_TYPE_UINT64) &&
                  same(TensorMapType::int64, CU_TENSOR_MAP_DATA_TYPE_INT64) &&
                  same(TensorMapType::float16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16) &&
                  same(TensorMapType::float32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32) &&
                  same(TensorMapType::float64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64) &&
                  same(TensorMapType::bfloat16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16),
              "the numbers of TensorMapType must be those of the driver");

CUtensorMapDataType type_of(Element element) { return static_cast<CUtensorMapDataType>(info(element).tensor_map); }

CUtensorMapSwizzle cuda_swizzle(Swizzle mode) {
  static constexpr CUtensorMapSwizzle modes[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_32B,
                                                 CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_128B};
  return modes[static_cast<int>(mode)];
}

CUtensorMapL2promotion promotion_of(L2Promotion promotion) {
  static constexpr CUtensorMapL2promotion promotions[] = {
      CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_64B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B};
  return promotions[static_cast<int>(promotion)];
}

struct StandIns {
  support::Mutex mutex;
  std::map<int, std::uintptr_t> addresses;
};

/// Returns the address of a device's zeros, followed by its NaNs and its sink, made at the first call.
std::uintptr_t stand_ins(int device) {
  static constinit support::PerProcess<StandIns> all;
  StandIns& known = all.get();
  std::lock_guard const lock(known.mutex);
  std::uintptr_t& address = known.addresses[device];
  if (address == 0) {
    void* const memory = allocate(device, 3 * stand_in_bytes);
    unsigned char const zero = 0;
    unsigned char const ones = 0xff;  // a NaN in every float format
    fill(device, nullptr, memory, &zero, 1, 3 * stand_in_bytes);
    fill(device, nullptr, static_cast<char*>(memory) + stand_in_bytes, &ones, 1, stand_in_bytes);
    synchronize(device, nullptr);
    address = reinterpret_cast<std::uintptr_t>(memory);
  }
  return address;
}

}  // namespace

void make_stand_ins(int device) { stand_ins(device); }

void encode(int device, TensorMapRequest const& request, TensorMap& map) {
  ContextScope const scope(device);
  std::uintptr_t address = request.address;
  if (request.stand_in != StandIn::none)
    address = stand_ins(device) + (static_cast<std::uintptr_t>(request.stand_in) - 1) * stand_in_bytes;
  constexpr cuuint32_t steps[max_tensor_map_axes] = {1, 1, 1, 1, 1};
  cuuint64_t extents[max_tensor_map_axes] = {};
  cuuint64_t strides[max_tensor_map_axes] = {};
  for (std::size_t i = 0; i < request.extents.size(); ++i) extents[i] = request.extents[i];
  for (std::size_t i = 0; i < request.strides.size(); ++i) strides[i] = request.strides[i];
  CUtensorMap encoded;
  CUresult const result = driver().TensorMapEncodeTiled.raw(
      &encoded, type_of(request.element), static_cast<cuuint32_t>(request.rank), reinterpret_cast<void*>(address),
      extents, strides, request.box.data(), steps, CU_TENSOR_MAP_INTERLEAVE_NONE, cuda_swizzle(request.swizzle),
      promotion_of(request.l2_promotion),
      request.nan_fill ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) check(result, "cuTensorMapEncodeTiled", to_string(request));
  std::memcpy(map.bytes, &encoded, sizeof map.bytes);
}

}  // namespace tegula::runtime::cuda

#endif
