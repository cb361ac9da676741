// Provides typed windows on memory that another object owns: view (host) and device_view (CUDA device), with extents
// and strides in elements, outermost axis first. Making a view does not check anything; a launch checks its arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tegula/runtime/device.hpp"
#include "tegula/support/extents.hpp"

namespace tegula {
namespace detail {

template <class E>
concept ExtentLike = std::is_convertible_v<E, std::int64_t>;

/// Throw UserError.
[[noreturn]] void refuse_extent(std::uint64_t extent, char const* word);
[[noreturn]] void refuse_fraction(double extent);
[[noreturn]] void refuse_distance(int axis, std::int64_t elements, std::int64_t stride);
[[noreturn]] void refuse_step(int axis);
[[noreturn]] void refuse_axis(int axis, int rank);
[[noreturn]] void refuse_range(int axis, std::int64_t first, std::int64_t last, std::int64_t extent);

/// Returns the axis. Throws UserError if a tensor of that rank does not have it.
constexpr int checked_axis(int axis, int rank) {
  if (axis < 0 || axis >= rank) refuse_axis(axis, rank);
  return axis;
}

template <ExtentLike E>
constexpr std::int64_t extent_of(E const& extent, char const* word = "an extent") {
  if constexpr (std::is_unsigned_v<E> && sizeof(E) == sizeof(std::uint64_t))
    if (extent > static_cast<std::uint64_t>(INT64_MAX)) refuse_extent(extent, word);
  if constexpr (std::is_floating_point_v<E>)
    if (!(extent >= -0x1p63 && extent < 0x1p63)) refuse_fraction(static_cast<double>(extent));
  return static_cast<std::int64_t>(extent);
}

// The arithmetic of views, all of it: it never wraps. A product that does not fit becomes the nearest end of 64 bits;
// as a stride between elements that is farther than any memory, which each launch refuses.

constexpr std::int64_t saturated_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}
constexpr std::int64_t saturated_product(std::int64_t const* extents, int count) {
  std::int64_t product = 1;
  bool empty = false;
  for (int axis = 0; axis < count; ++axis) {
    product = saturated_product(product, extents[axis]);
    empty = empty || extents[axis] == 0;
  }
  return empty ? 0 : product;
}
/// Counts the elements of [first, last), every `step`-th of them.
constexpr std::int64_t count_of_steps(std::int64_t first, std::int64_t last, std::int64_t step) {
  if (last <= first) return 0;
  std::uint64_t const length = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first),
                      by = step < 0 ? 0 - static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
  return static_cast<std::int64_t>((length - 1) / by + 1);
}
/// Tells whether there may be memory `bytes` behind an address: in the lower half of 64 bits, as check_arguments
/// expects.
inline bool may_reach(void const* address, std::int64_t bytes) {
  auto const base = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address));
  std::int64_t moved = 0;
  return base >= 0 && !__builtin_add_overflow(base, bytes, &moved) && moved >= 0;
}
/// Returns the address `elements` strides along an axis from `data`; null stays null. Throws UserError where no memory
/// can be.
template <class T>
constexpr T* moved_along(T* data, int axis, std::int64_t elements, std::int64_t stride) {
  if (data == nullptr) return data;
  std::int64_t offset = 0, bytes = 0;
  bool const wraps = __builtin_mul_overflow(elements, stride, &offset) ||
                     __builtin_mul_overflow(offset, static_cast<std::int64_t>(sizeof(T)), &bytes);
  if (wraps || (!std::is_constant_evaluated() && !may_reach(data, bytes))) refuse_distance(axis, elements, stride);
  return data + offset;
}

/// Holds the part that both kinds of view share.
template <class Self, class T, int Rank>
class ViewBase {
  static_assert(Rank >= 1 && Rank <= max_rank, "view: the rank must be 1 to 8");

 public:
  using element_type = T;
  static constexpr int rank = Rank;

  constexpr ViewBase() = default;

  [[nodiscard]] constexpr T* data() const { return data_; }
  /// Counts the elements along `axis`.
  [[nodiscard]] constexpr std::int64_t extent(int axis) const { return extents_[checked_axis(axis, Rank)]; }
  /// Counts the elements between neighbours along `axis`; may be negative or 0.
  [[nodiscard]] constexpr std::int64_t stride(int axis) const { return strides_[checked_axis(axis, Rank)]; }
  [[nodiscard]] constexpr std::int64_t size() const { return saturated_product(extents_, Rank); }

  /// Returns the elements [first, last) along `axis`, every `step`-th of them. A negative step counts from last - 1
  /// down. Throws UserError for a step of 0, and for elements that the view does not have.
  [[nodiscard]] constexpr Self slice(int axis, std::int64_t first, std::int64_t last, std::int64_t step = 1) const {
    if (step == 0) refuse_step(axis);
    if (first < last && (first < 0 || last > extent(axis))) refuse_range(axis, first, last, extent(axis));
    Self result = self();
    ViewBase& base = result;
    std::int64_t const count = count_of_steps(first, last, step);
    base.extents_[checked_axis(axis, Rank)] = count;
    if (count > 0) base.data_ = moved_along(data_, axis, step < 0 ? last - 1 : first, strides_[axis]);
    // The stride between less than two elements is never used.
    base.strides_[axis] = saturated_product(strides_[axis], step);
    return result;
  }
  /// Returns the same elements with two axes exchanged.
  [[nodiscard]] constexpr Self transposed(int axis_a = Rank - 2, int axis_b = Rank - 1) const {
    (void)checked_axis(axis_a, Rank), (void)checked_axis(axis_b, Rank);
    Self result = self();
    ViewBase& base = result;
    base.extents_[axis_a] = extents_[axis_b];
    base.extents_[axis_b] = extents_[axis_a];
    base.strides_[axis_a] = strides_[axis_b];
    base.strides_[axis_b] = strides_[axis_a];
    return result;
  }

 protected:
  constexpr ViewBase(T* data, std::int64_t const* extents, std::int64_t const* strides) : data_(data) {
    std::int64_t dense = 1;
    for (int axis = Rank - 1; axis >= 0; --axis) {
      extents_[axis] = extents[axis];
      strides_[axis] = strides != nullptr ? strides[axis] : dense;
      dense = saturated_product(dense, extents[axis]);
    }
  }
  [[nodiscard]] constexpr Self const& self() const { return static_cast<Self const&>(*this); }

  T* data_ = nullptr;
  std::int64_t extents_[Rank] = {};
  std::int64_t strides_[Rank] = {};
};

/// Accepts a container of contiguous elements: has data() and size().
template <class C>
concept ContiguousContainer = requires(C& c) {
  *c.data();
  requires std::is_convertible_v<decltype(c.size()), std::int64_t>;
}
&&!requires { C::rank; };

template <class C>
using element_in = std::remove_reference_t<decltype(*static_cast<std::remove_reference_t<C>*>(nullptr)->data())>;

}  // namespace detail

/// Views host memory. T may be const.
template <class T, int Rank>
class view : public detail::ViewBase<view<T, Rank>, T, Rank> {
  using Base = detail::ViewBase<view<T, Rank>, T, Rank>;
  using Base::data_;
  using Base::strides_;

 public:
  static constexpr DeviceKind space = DeviceKind::host;

  constexpr view() = default;
  /// Views dense memory, last axis fastest.
  template <detail::ExtentLike... E>
  requires(sizeof...(E) == Rank) constexpr view(T* data, E... extents) : view(data, {detail::extent_of(extents)...}) {}
  constexpr view(T* data, std::int64_t const (&extents)[Rank]) : Base(data, extents, nullptr) {}
  constexpr view(T* data, std::int64_t const (&extents)[Rank], std::int64_t const (&strides)[Rank])
      : Base(data, extents, strides) {}
  /// Views a whole container of contiguous elements.
  template <detail::ContiguousContainer C>
  requires(Rank == 1 && std::is_convertible_v<detail::element_in<C> (*)[], T (*)[]>) constexpr view(C& container)
      : view(container.data(), static_cast<std::int64_t>(container.size())) {}
  /// Converts view<T> to view<T const>.
  template <class U>
  requires(!std::is_same_v<U, T> &&
           std::is_convertible_v<U (*)[], T (*)[]>) constexpr view(view<U, Rank> const& other) {
    data_ = other.data();
    for (int axis = 0; axis < Rank; ++axis) {
      this->extents_[axis] = other.extent(axis);
      strides_[axis] = other.stride(axis);
    }
  }

  /// Returns the element at the given indices; not checked.
  template <detail::ExtentLike... At>
  requires(sizeof...(At) == Rank) constexpr T& operator()(At... indices) const {
    std::int64_t const index[] = {static_cast<std::int64_t>(indices)...};
    std::int64_t offset = 0;
    for (int axis = 0; axis < Rank; ++axis) offset += index[axis] * strides_[axis];
    return data_[offset];
  }
};

template <class T, detail::ExtentLike... E>
view(T*, E...) -> view<T, static_cast<int>(sizeof...(E))>;
template <class T, std::size_t Rank>
view(T*, std::int64_t const (&)[Rank]) -> view<T, static_cast<int>(Rank)>;
template <class T, std::size_t Rank>
view(T*, std::int64_t const (&)[Rank], std::int64_t const (&)[Rank]) -> view<T, static_cast<int>(Rank)>;
template <detail::ContiguousContainer C>
view(C&) -> view<detail::element_in<C>, 1>;

/// Views memory of a CUDA device; the host must not read through it.
template <class T, int Rank>
class device_view : public detail::ViewBase<device_view<T, Rank>, T, Rank> {
  using Base = detail::ViewBase<device_view<T, Rank>, T, Rank>;

 public:
  static constexpr DeviceKind space = DeviceKind::cuda;

  constexpr device_view() = default;
  template <detail::ExtentLike... E>
  requires(sizeof...(E) == Rank) constexpr device_view(T* data, E... extents)
      : device_view(data, {detail::extent_of(extents)...}) {}
  constexpr device_view(T* data, std::int64_t const (&extents)[Rank]) : Base(data, extents, nullptr) {}
  constexpr device_view(T* data, std::int64_t const (&extents)[Rank], std::int64_t const (&strides)[Rank])
      : Base(data, extents, strides) {}
  template <class U>
  requires(!std::is_same_v<U, T> &&
           std::is_convertible_v<U (*)[], T (*)[]>) constexpr device_view(device_view<U, Rank> const& other) {
    this->data_ = other.data();
    for (int axis = 0; axis < Rank; ++axis) {
      this->extents_[axis] = other.extent(axis);
      this->strides_[axis] = other.stride(axis);
    }
  }
};

template <class T, detail::ExtentLike... E>
device_view(T*, E...) -> device_view<T, static_cast<int>(sizeof...(E))>;
template <class T, std::size_t Rank>
device_view(T*, std::int64_t const (&)[Rank]) -> device_view<T, static_cast<int>(Rank)>;
template <class T, std::size_t Rank>
device_view(T*, std::int64_t const (&)[Rank], std::int64_t const (&)[Rank]) -> device_view<T, static_cast<int>(Rank)>;

}  // namespace tegula
