// Exchanges tensors with other libraries through DLPack, without copies. It is not part of <tegula/tegula.hpp>: a
// program that includes it has <dlpack/dlpack.h> (package libdlpack-dev).
#pragma once

#include <dlpack/dlpack.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tegula/call/foreign_tensor.hpp"
#include "tegula/runtime/tensor_view.hpp"

namespace tegula {

/// Views the memory of a DLPack tensor, which must stay alive as long as launches use the view. Throws UserError if its
/// element is not T, its rank is not Rank, or its memory is neither the host's nor a CUDA device's.
template <class T, int Rank>
[[nodiscard]] tensor_view<T, Rank> view_dlpack(DLTensor const& tensor, location where = location::current()) {
  detail::check_foreign({tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes}, tensor.ndim,
                        static_cast<int>(tensor.device.device_type), element_v<std::remove_const_t<T>>, Rank);
  detail::check_foreign_memory(tensor.shape, tensor.data, tensor.byte_offset);
  std::int64_t extents[Rank], strides[Rank] = {};
  for (int axis = 0; axis < Rank; ++axis) {
    extents[axis] = tensor.shape[axis];
    if (tensor.strides != nullptr) strides[axis] = tensor.strides[axis];
  }
  auto* const first = reinterpret_cast<T*>(static_cast<std::byte*>(tensor.data) + tensor.byte_offset);
  device const memory = detail::foreign_device(static_cast<int>(tensor.device.device_type), tensor.device.device_id);
  bool const dense = tensor.strides == nullptr;
  return tensor_view<T, Rank>(
      memory, dense ? device_view<T, Rank>(first, extents) : device_view<T, Rank>(first, extents, strides), where);
}

/// Owns a tensor that another library handed over, and gives it back when it dies. Move-only. Work that uses the tensor
/// on a stream must have ended before.
class dlpack_tensor {
 public:
  /// Takes over a tensor; null is an empty one.
  explicit dlpack_tensor(DLManagedTensor* taken) : tensor_(taken) {}
  dlpack_tensor(dlpack_tensor&& other) noexcept : tensor_(other.tensor_) { other.tensor_ = nullptr; }
  dlpack_tensor& operator=(dlpack_tensor&& other) noexcept {
    DLManagedTensor* const mine = tensor_;
    tensor_ = other.tensor_;
    other.tensor_ = mine;
    return *this;
  }
  ~dlpack_tensor() {
    if (tensor_ != nullptr && tensor_->deleter != nullptr) tensor_->deleter(tensor_);
  }

  /// Views it; see view_dlpack.
  template <class T, int Rank>
  [[nodiscard]] tensor_view<T, Rank> view(location where = location::current()) const {
    static DLTensor const none{};
    return view_dlpack<T, Rank>(tensor_ != nullptr ? tensor_->dl_tensor : none, where);
  }

 private:
  DLManagedTensor* tensor_;
};

/// Hands a buffer over to another library, which calls the deleter of the result when it is done. Work on the buffer
/// must have ended, or be ordered before the library's.
template <class T, int Rank>
[[nodiscard]] DLManagedTensor* to_dlpack(buffer<T, Rank>&& given) {
  struct Exported {
    buffer<T, Rank> memory;
    std::int64_t extents[Rank], strides[Rank];
    DLManagedTensor managed;
  };
  T* const first = given.data();
  auto* const exported = new Exported{static_cast<buffer<T, Rank>&&>(given), {}, {}, {}};
  for (int axis = 0; axis < Rank; ++axis) {
    exported->extents[axis] = exported->memory.extent(axis);
    exported->strides[axis] = exported->memory.stride(axis);
  }
  device const where = exported->memory.where();
  detail::ForeignType const type = detail::foreign_type(element_v<std::remove_const_t<T>>);
  DLTensor& tensor = exported->managed.dl_tensor;
  tensor.data = first;
  tensor.device.device_type = where.is_host() ? kDLCPU : static_cast<DLDeviceType>(2);  // CUDA, whose name has changed
  tensor.device.device_id = where.is_host() ? 0 : where.number();
  tensor.ndim = Rank;
  tensor.dtype = {static_cast<std::uint8_t>(type.code), static_cast<std::uint8_t>(type.bits), 1};
  tensor.shape = exported->extents;
  tensor.strides = exported->strides;
  exported->managed.manager_ctx = exported;
  exported->managed.deleter = [](DLManagedTensor* self) { delete static_cast<Exported*>(self->manager_ctx); };
  return &exported->managed;
}

}  // namespace tegula
