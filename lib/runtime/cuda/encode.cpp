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

CUtensorMapDataType type_of(Element element) {
  switch (element) {
    case Element::boolean:
    case Element::i8:
    case Element::u8:
    case Element::e4m3:
    case Element::e5m2:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case Element::i16:
    case Element::u16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case Element::i32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case Element::u32:
      return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    case Element::i64:
      return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case Element::u64:
      return CU_TENSOR_MAP_DATA_TYPE_UINT64;
    case Element::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case Element::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case Element::f32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case Element::f64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
  }
  throw InternalError(fmt::format("tensor map: element {}", static_cast<int>(element)));
}

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
