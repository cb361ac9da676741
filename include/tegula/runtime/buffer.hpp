// Owns typed memory on a device.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tegula/runtime/device.hpp"
#include "tegula/runtime/handle.hpp"
#include "tegula/runtime/stream.hpp"
#include "tegula/runtime/view.hpp"
#include "tegula/support/location.hpp"

namespace tegula {
namespace detail {

struct Allocation;
void retain(Allocation* allocation) noexcept;
void release(Allocation* allocation) noexcept;

/// Counts the bytes of `extents` elements of `element_bytes`. Throws UserError for a negative extent or more than int64
/// holds.
std::int64_t checked_bytes(std::int64_t const* extents, int rank, std::int64_t element_bytes);
Allocation* allocate(device where, std::int64_t bytes);
/// Allocates in the order of the stream; the memory is freed in that order too.
Allocation* allocate(stream const& order, std::int64_t bytes);
/// Allocates host memory that `where` copies without staging.
Allocation* allocate_pinned(device where, std::int64_t bytes);
/// Frees the memory; a later use of the allocation gets a UserError that names `where`.
void free_now(Allocation* allocation, location where = {});
/// Returns the address. Throws UserError if the memory was freed; nullptr for no allocation. `viewed` is the place of
/// the view through which it is used.
void* address_of(Allocation const* allocation, location viewed = {});
device device_of(Allocation const* allocation);
/// Copies between host memory and an allocation, checked against its size; with `order`, on that stream.
void upload(Allocation* to, void const* from, std::int64_t bytes, stream const* order);
void download(void* to, Allocation const* from, std::int64_t bytes, stream const* order);
void copy(Allocation* to, Allocation const* from, std::int64_t bytes, stream const* order);
/// Fills with a pattern of 1, 2, 4 or 8 bytes.
void fill(Allocation* to, void const* pattern, int pattern_bytes, std::int64_t bytes, stream const* order);
[[noreturn]] void refuse_sizes(std::int64_t host_elements, std::int64_t buffer_elements);
[[noreturn]] void refuse_place(device where, char const* wanted);

}  // namespace detail

/// Owns a dense array on a device, last axis fastest, uninitialised at first; the address is 256-byte aligned.
/// Move-only. The memory is freed when the buffer dies or free() is called, after the work already on CUDA streams.
///
/// Copies without a stream wait for all work given to the device so far and are complete when they return. Copies with
/// one are ordered on it, and the host memory must stay alive until the stream is synchronised.
template <class T, int Rank = 1>
class buffer {
  static_assert(std::is_trivially_copyable_v<T>, "buffer<T>: T must be trivially copyable");
  static_assert(!std::is_const_v<T>, "buffer<T>: T must not be const");
  static_assert(Rank >= 1 && Rank <= max_rank, "buffer<T, Rank>: the rank must be 1 to 8");

 public:
  using element_type = T;
  static constexpr int rank = Rank;

  /// Makes a buffer without memory; extents 0.
  buffer() = default;
  template <detail::ExtentLike... E>
  requires(sizeof...(E) == Rank) explicit buffer(device where, E... extents) : extents_{detail::extent_of(extents)...} {
    allocation_ = Handle(detail::allocate(where, detail::checked_bytes(extents_, Rank, sizeof(T))));
  }
  /// Makes a buffer in the order of a stream: work on it after this call may use the memory. It is freed in that order
  /// too, without waiting, so other streams must have waited for their use of it. On the host as the constructor above.
  template <detail::ExtentLike... E>
  requires(sizeof...(E) == Rank) explicit buffer(stream const& order, E... extents)
      : extents_{detail::extent_of(extents)...} {
    allocation_ = Handle(detail::allocate(order, detail::checked_bytes(extents_, Rank, sizeof(T))));
  }
  /// Makes a buffer in host memory that is page-locked where `where` is a CUDA device: copies between the two are
  /// asynchronous and do not go through a staging buffer.
  template <detail::ExtentLike... E>
  requires(sizeof...(E) == Rank) static buffer pinned(device where, E... extents) {
    buffer result;
    std::int64_t const given[Rank] = {detail::extent_of(extents)...};
    for (int axis = 0; axis < Rank; ++axis) result.extents_[axis] = given[axis];
    result.allocation_ = Handle(detail::allocate_pinned(where, detail::checked_bytes(given, Rank, sizeof(T))));
    return result;
  }
  /// Copies a container of contiguous elements.
  template <detail::ContiguousContainer C>
  requires(Rank == 1 && std::is_same_v<std::remove_const_t<detail::element_in<C const>>, T>)
      buffer(device where, C const& values)
      : buffer(where, static_cast<std::int64_t>(values.size())) {
    copy_from(values);
  }
  buffer(buffer&& other) noexcept { swap(other); }
  buffer& operator=(buffer&& other) noexcept {
    buffer taken(static_cast<buffer&&>(other));
    swap(taken);
    return *this;
  }
  ~buffer() { detail::free_now(allocation_.get()); }

  [[nodiscard]] std::int64_t extent(int axis) const { return extents_[detail::checked_axis(axis, Rank)]; }
  /// Counts the elements between neighbours along `axis`.
  [[nodiscard]] std::int64_t stride(int axis) const {
    int const inner = detail::checked_axis(axis, Rank) + 1;
    return detail::saturated_product(extents_ + inner, Rank - inner);
  }
  [[nodiscard]] std::int64_t size() const { return detail::saturated_product(extents_, Rank); }
  [[nodiscard]] device where() const { return detail::device_of(allocation_.get()); }
  /// Returns the address on its device; const elements of a const buffer. Throws UserError after free().
  [[nodiscard]] T* data() { return static_cast<T*>(detail::address_of(allocation_.get())); }
  [[nodiscard]] T const* data() const { return static_cast<T const*>(detail::address_of(allocation_.get())); }

  /// Copies a whole container of size() elements. Throws UserError if the sizes differ.
  template <detail::ContiguousContainer C>
  requires std::is_same_v<std::remove_const_t<detail::element_in<C const>>, T>
  void copy_from(C const& values) { copy_from(values.data(), static_cast<std::int64_t>(values.size()), nullptr); }
  template <detail::ContiguousContainer C>
  requires std::is_same_v<std::remove_const_t<detail::element_in<C const>>, T>
  void copy_from(stream const& order, C const& values) {
    copy_from(values.data(), static_cast<std::int64_t>(values.size()), &order);
  }
  template <detail::ContiguousContainer C>
  requires std::is_same_v<detail::element_in<C>, T>
  void copy_to(C&& values) const { copy_to(values.data(), static_cast<std::int64_t>(values.size()), nullptr); }
  template <detail::ContiguousContainer C>
  requires std::is_same_v<detail::element_in<C>, T>
  void copy_to(stream const& order, C&& values) const {
    copy_to(values.data(), static_cast<std::int64_t>(values.size()), &order);
  }
  /// Copies from another buffer of the same size, on the same or another device.
  void copy_from(buffer const& other) {
    if (other.size() != size()) detail::refuse_sizes(other.size(), size());
    detail::copy(allocation_.get(), other.allocation_.get(), bytes(), nullptr);
  }
  /// Copies from another buffer of the same size in the order of a stream, which is of the device of this buffer, or of
  /// the other's if this one is the host's. Both must stay alive until the stream is synchronised.
  void copy_from(stream const& order, buffer const& other) {
    if (other.size() != size()) detail::refuse_sizes(other.size(), size());
    detail::copy(allocation_.get(), other.allocation_.get(), bytes(), &order);
  }
  void fill(T value) { detail::fill(allocation_.get(), &value, sizeof(T), bytes(), nullptr); }
  void fill(stream const& order, T value) { detail::fill(allocation_.get(), &value, sizeof(T), bytes(), &order); }

  /// Returns the window for host code. Throws UserError if the memory is a device's.
  [[nodiscard]] view<T, Rank> on_host() {
    if (!where().is_host()) detail::refuse_place(where(), "host");
    return view<T, Rank>(data(), extents_);
  }
  [[nodiscard]] view<T const, Rank> on_host() const { return const_cast<buffer*>(this)->on_host(); }
  /// Returns the window for launches on a CUDA stream. Throws UserError if the memory is the host's.
  [[nodiscard]] device_view<T, Rank> on_device() {
    if (!where().is_cuda()) detail::refuse_place(where(), "cuda");
    return device_view<T, Rank>(data(), extents_);
  }
  [[nodiscard]] device_view<T const, Rank> on_device() const { return const_cast<buffer*>(this)->on_device(); }

  /// Frees the memory now. A later use, also by a prepared launch, is a UserError that names this place.
  void free(location where = location::current()) { detail::free_now(allocation_.get(), where); }

  /// Returns the allocation to the launcher.
  [[nodiscard]] detail::Allocation* allocation() const { return allocation_.get(); }

 private:
  using Handle = detail::Handle<detail::Allocation>;

  [[nodiscard]] std::int64_t bytes() const { return size() * static_cast<std::int64_t>(sizeof(T)); }
  void copy_from(T const* from, std::int64_t elements, stream const* order) {
    if (elements != size()) detail::refuse_sizes(elements, size());
    detail::upload(allocation_.get(), from, bytes(), order);
  }
  void copy_to(T* to, std::int64_t elements, stream const* order) const {
    if (elements != size()) detail::refuse_sizes(elements, size());
    detail::download(to, allocation_.get(), bytes(), order);
  }
  void swap(buffer& other) noexcept {
    Handle mine = static_cast<Handle&&>(allocation_);
    allocation_ = static_cast<Handle&&>(other.allocation_);
    other.allocation_ = static_cast<Handle&&>(mine);
    for (int axis = 0; axis < Rank; ++axis) {
      std::int64_t const extent = extents_[axis];
      extents_[axis] = other.extents_[axis];
      other.extents_[axis] = extent;
    }
  }

  Handle allocation_;
  std::int64_t extents_[Rank] = {};
};

template <detail::ContiguousContainer C>
buffer(device, C const&) -> buffer<std::remove_const_t<detail::element_in<C const>>, 1>;

}  // namespace tegula
