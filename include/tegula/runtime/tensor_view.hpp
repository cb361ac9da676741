// Describes a tensor once, on the host, for the launches of many kernels.
#pragma once

#include <type_traits>

#include "tegula/runtime/buffer.hpp"

namespace tegula {
namespace detail {

/// Tells whether TMA copies boxes of such a tensor: address and outer strides are multiples of 16 bytes, and the last
/// axis has unit stride.
bool tma_copies(void const* address, int element_bytes, int rank, std::int64_t const* extents,
                std::int64_t const* strides);
/// Throws UserError if a stated size of elements is not that of their type.
void check_element_size(char const* word, int stated, int of_type);

template <class T>
using untyped = std::conditional_t<std::is_const_v<T>, void const*, void*>;

}  // namespace detail

/// Describes a tensor: address, extents and strides in elements, outermost axis first, and the device of its memory. It
/// is a value that never changes: with_address() returns another one. Kernels take it as they take a buffer or a view,
/// by TMA where the memory allows it, else by pointers. The launcher encodes equal tensors once.
///
/// The view of a buffer keeps the buffer's record without keeping its memory. A use after free() is a UserError that
/// names the places of both. Other memory must stay alive as long as launches use it.
template <class T, int Rank>
class tensor_view {
  static_assert(Rank >= 1 && Rank <= max_rank, "tensor_view: the rank must be 1 to 8");

 public:
  using element_type = T;
  static constexpr int rank = Rank;

  /// Views a whole buffer.
  tensor_view(buffer<std::remove_const_t<T>, Rank>& whole, location where = location::current())
      : tensor_view(whole.where(), whole.data(), Adopt{whole}, where) {}
  tensor_view(buffer<std::remove_const_t<T>, Rank> const& whole,
              location where = location::current()) requires std::is_const_v<T>
      : tensor_view(whole.where(), whole.data(), Adopt{whole}, where) {}
  /// Views the memory of another view: of the host, or of the device whose address it holds.
  tensor_view(view<T, Rank> const& other, location where = location::current())
      : tensor_view(device::host(), other.data(), Adopt{other}, where) {}
  tensor_view(device where, device_view<T, Rank> const& other, location made = location::current())
      : tensor_view(where, other.data(), Adopt{other}, made) {}

  tensor_view(tensor_view const&) = default;
  tensor_view& operator=(tensor_view const&) = delete;  // a descriptor is immutable
  ~tensor_view() = default;

  /// Returns the address. Throws UserError if the buffer was freed.
  [[nodiscard]] T* data() const {
    if (allocation_) detail::address_of(allocation_.get(), made_);
    return data_;
  }
  [[nodiscard]] std::int64_t extent(int axis) const { return extents_[detail::checked_axis(axis, Rank)]; }
  /// Counts the elements between neighbours along `axis`; may be negative or 0.
  [[nodiscard]] std::int64_t stride(int axis) const { return strides_[detail::checked_axis(axis, Rank)]; }
  [[nodiscard]] device where() const { return where_; }
  [[nodiscard]] detail::Allocation* allocation() const { return allocation_.get(); }
  /// True if kernels on a device with TMA copy boxes of it; else they take pointers.
  [[nodiscard]] bool has_tma() const { return detail::tma_copies(data_, sizeof(T), Rank, extents_, strides_); }

  /// Returns a tensor of the same extents and strides at another address of the same device, which no buffer owns.
  [[nodiscard]] tensor_view with_address(T* address, location where = location::current()) const {
    tensor_view other(*this);
    other.data_ = address;
    other.allocation_ = {};
    other.made_ = where;
    return other;
  }
  /// Returns the elements [first, last) along `axis`, every `step`-th of them, of the same buffer. See view::slice.
  [[nodiscard]] tensor_view slice(int axis, std::int64_t first, std::int64_t last, std::int64_t step = 1,
                                  location where = location::current()) const {
    return part(device_view<T, Rank>(data_, extents_, strides_).slice(axis, first, last, step), where);
  }
  /// Returns the same elements with two axes exchanged.
  [[nodiscard]] tensor_view transposed(int axis_a = Rank - 2, int axis_b = Rank - 1,
                                       location where = location::current()) const {
    return part(device_view<T, Rank>(data_, extents_, strides_).transposed(axis_a, axis_b), where);
  }

 private:
  template <class Other>
  struct Adopt {
    Other& other;
  };
  template <class Other>
  Adopt(Other&) -> Adopt<Other>;

  template <class Other>
  tensor_view(device where, T* data, Adopt<Other> from, location made) : data_(data), where_(where), made_(made) {
    for (int axis = 0; axis < Rank; ++axis) {
      extents_[axis] = from.other.extent(axis);
      strides_[axis] = from.other.stride(axis);
    }
    if constexpr (requires { from.other.allocation(); }) {
      detail::retain(from.other.allocation());
      allocation_ = detail::Handle<detail::Allocation>(from.other.allocation());
    }
  }

  [[nodiscard]] tensor_view part(device_view<T, Rank> const& elements, location where) const {
    tensor_view other(*this);
    other.data_ = elements.data();
    for (int axis = 0; axis < Rank; ++axis) {
      other.extents_[axis] = elements.extent(axis);
      other.strides_[axis] = elements.stride(axis);
    }
    other.made_ = where;
    return other;
  }

  T* data_ = nullptr;
  std::int64_t extents_[Rank] = {};
  std::int64_t strides_[Rank] = {};
  device where_;
  detail::Handle<detail::Allocation> allocation_;
  location made_;
};

template <class T, int Rank>
tensor_view(buffer<T, Rank>&) -> tensor_view<T, Rank>;
template <class T, int Rank>
tensor_view(buffer<T, Rank> const&) -> tensor_view<T const, Rank>;
template <class T, int Rank>
tensor_view(view<T, Rank> const&) -> tensor_view<T, Rank>;
template <class T, int Rank>
tensor_view(device, device_view<T, Rank> const&) -> tensor_view<T, Rank>;

/// States the bytes of an element of memory without a type: `tensor_1d<float>(where, address, n, element_size(4))`.
class element_size {
 public:
  explicit constexpr element_size(int in_bytes) : bytes_(in_bytes) {}
  [[nodiscard]] constexpr int in_bytes() const { return bytes_; }

 private:
  int bytes_;
};

/// Describes `n` adjacent elements on a device (the host if none is named). The size of an element follows from T.
template <class T>
tensor_view<T, 1> tensor_1d(device where, T* data, std::int64_t n, location made = location::current()) {
  return tensor_view<T, 1>(where, device_view<T, 1>(data, n), made);
}
template <class T>
tensor_view<T, 1> tensor_1d(T* data, std::int64_t n, location made = location::current()) {
  return tensor_1d(device::host(), data, n, made);
}
/// Describes memory without a type. Throws UserError if T has another size than stated.
template <class T>
tensor_view<T, 1> tensor_1d(device where, detail::untyped<T> data, std::int64_t n, element_size size,
                            location made = location::current()) {
  detail::check_element_size("tensor_1d", size.in_bytes(), sizeof(T));
  return tensor_1d(where, static_cast<T*>(data), n, made);
}

/// Describes a matrix of rows x columns whose columns are adjacent, on a device (the host if none is named).
/// `row_stride`: elements from one row to the next; `columns` if not given.
template <class T>
tensor_view<T, 2> tensor_2d(device where, T* data, std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                            location made = location::current()) {
  return tensor_view<T, 2>(where, device_view<T, 2>(data, {rows, columns}, {row_stride, 1}), made);
}
template <class T>
tensor_view<T, 2> tensor_2d(device where, T* data, std::int64_t rows, std::int64_t columns,
                            location made = location::current()) {
  return tensor_2d(where, data, rows, columns, columns, made);
}
template <class T>
tensor_view<T, 2> tensor_2d(T* data, std::int64_t rows, std::int64_t columns, location made = location::current()) {
  return tensor_2d(device::host(), data, rows, columns, columns, made);
}
template <class T>
tensor_view<T, 2> tensor_2d(T* data, std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                            location made = location::current()) {
  return tensor_2d(device::host(), data, rows, columns, row_stride, made);
}
/// Describes memory without a type. Throws UserError if T has another size than stated.
template <class T>
tensor_view<T, 2> tensor_2d(device where, detail::untyped<T> data, std::int64_t rows, std::int64_t columns,
                            element_size size, location made = location::current()) {
  return tensor_2d<T>(where, data, rows, columns, columns, size, made);
}
template <class T>
tensor_view<T, 2> tensor_2d(device where, detail::untyped<T> data, std::int64_t rows, std::int64_t columns,
                            std::int64_t row_stride, element_size size, location made = location::current()) {
  detail::check_element_size("tensor_2d", size.in_bytes(), sizeof(T));
  return tensor_2d(where, static_cast<T*>(data), rows, columns, row_stride, made);
}

}  // namespace tegula
