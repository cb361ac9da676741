#include "tegula/runtime/buffer.hpp"

#include <fmt/format.h>

#include <cstring>
#include <new>

#include "runtime/allocation.hpp"
#include "runtime/counters.hpp"
#include "runtime/cuda/backend.hpp"
#include "runtime/host/huge_pages.hpp"
#include "support/diagnostics.hpp"
#include "tegula/support/error.hpp"

namespace tegula::detail {
namespace {

constexpr std::align_val_t host_alignment{256};
/// Limits the bytes to the range that a 64-bit processor can address.
constexpr std::int64_t max_host_bytes = std::int64_t{1} << 56;

void give_back(Allocation& allocation, location where) noexcept {
  if (!allocation.alive.load(std::memory_order_relaxed)) return;
  allocation.freed_at = where;
  if (!allocation.alive.exchange(false, std::memory_order_acq_rel) || allocation.address == nullptr) return;
  if (allocation.pinned) return runtime::cuda::release_pinned(allocation.address);
  if (allocation.where.is_host()) {
    ::operator delete(allocation.address, host_alignment);
    return;
  }
  int const number = allocation.where.number();
  if (allocation.order) {
    runtime::cuda::release_in_order(number, allocation.order->handle(), allocation.address);
  } else {
    runtime::cuda::release(number, allocation.address);
  }
}

void* live_address(Allocation const* allocation, std::int64_t bytes, location viewed = {}) {
  if (allocation == nullptr) {
    if (bytes == 0) return nullptr;
    throw InternalError("a copy of an empty buffer has a size");
  }
  if (!allocation->alive.load(std::memory_order_acquire))
    throw UserError(fmt::format("the buffer of {} bytes on {} {}, and is used after that{}", allocation->bytes,
                                allocation->where.str(), allocation->freed_text(),
                                viewed.known() ? " through the view made at " + support::to_string(viewed) : ""));
  if (bytes > allocation->bytes) throw InternalError("a copy is larger than its buffer");
  return allocation->address;
}

/// Returns the CUDA stream to order a copy on, for a buffer of `where`.
CUstream_st* order_on(stream const* order, device where) {
  if (order == nullptr) return nullptr;
  if (order->where() != where)
    throw UserError(
        fmt::format("buffer: the stream is of {} but the buffer is on {}", order->where().str(), where.str()));
  return order->handle();
}

/// Waits before a copy without a stream. The copy comes after all work given to the device so far, on any stream, and
/// is complete on return.
void before(stream const* order, device where) {
  if (order == nullptr && where.is_cuda()) runtime::cuda::synchronize_device(where.number());
}
void after(stream const* order, device where) {
  if (order == nullptr && where.is_cuda()) runtime::cuda::synchronize(where.number(), nullptr);
}

}  // namespace

void retain(Allocation* allocation) noexcept {
  if (allocation != nullptr) allocation->retain();
}

void release(Allocation* allocation) noexcept {
  if (allocation == nullptr || !allocation->release()) return;
  give_back(*allocation, {});
  delete allocation;
}

std::int64_t checked_bytes(std::int64_t const* extents, int rank, std::int64_t element_bytes) {
  std::int64_t bytes = element_bytes;
  bool overflow = false;
  bool empty = false;
  for (int axis = 0; axis < rank; ++axis) {
    if (extents[axis] < 0)
      throw UserError(
          fmt::format("buffer: extent {} of axis {} is negative; give 0 where there is nothing", extents[axis], axis));
    empty = empty || extents[axis] == 0;
    overflow = __builtin_mul_overflow(bytes, extents[axis], &bytes) || overflow;
  }
  if (empty) return 0;
  if (overflow) throw UserError("buffer: more bytes than a 64-bit integer holds");
  return bytes;
}

namespace {

void* allocate_on_host(std::int64_t bytes) {
  void* address = nullptr;
  if (bytes <= max_host_bytes) address = ::operator new(static_cast<std::size_t>(bytes), host_alignment, std::nothrow);
  if (address == nullptr) throw UserError(fmt::format("buffer: cannot allocate {} bytes of host memory", bytes));
  runtime::host::prefer_huge_pages(address, bytes);
  return address;
}

/// Makes an allocation whose address `get` returns; it is not called for 0 bytes.
template <class Get>
Handle<Allocation> allocation_of(device where, std::int64_t bytes, Get const& get) {
  auto* const allocation = new Allocation;
  Handle<Allocation> result(allocation);
  allocation->where = where;
  if (bytes > 0) allocation->address = get();
  allocation->bytes = bytes;
  return result;
}

/// Gives up the reference to the caller.
Allocation* given(Handle<Allocation> const& made) {
  retain(made.get());
  return made.get();
}

}  // namespace

Allocation* allocate(device where, std::int64_t bytes) {
  return given(allocation_of(where, bytes, [&] {
    return where.is_host() ? allocate_on_host(bytes) : runtime::cuda::allocate(where.number(), bytes);
  }));
}

Allocation* allocate(stream const& order, std::int64_t bytes) {
  device const where = order.where();
  if (where.is_host()) return allocate(where, bytes);
  Handle<Allocation> const made = allocation_of(
      where, bytes, [&] { return runtime::cuda::allocate_in_order(where.number(), order.handle(), bytes); });
  made.get()->order = order;
  return given(made);
}

Allocation* allocate_pinned(device where, std::int64_t bytes) {
  if (where.is_host()) return allocate(where, bytes);
  Handle<Allocation> const made =
      allocation_of(device::host(), bytes, [&] { return runtime::cuda::allocate_pinned(where.number(), bytes); });
  made.get()->pinned = true;
  return given(made);
}

void free_now(Allocation* allocation, location where) {
  if (allocation != nullptr) give_back(*allocation, where);
}

std::string Allocation::freed_text() const {
  return freed_at.known() ? "was freed at " + support::to_string(freed_at) : "was freed when the buffer died";
}

void* address_of(Allocation const* allocation, location viewed) { return live_address(allocation, 0, viewed); }

device device_of(Allocation const* allocation) { return allocation != nullptr ? allocation->where : device::host(); }

/// Refuses a container without memory.
[[noreturn]] static void refuse_null(char const* direction, std::int64_t bytes) {
  throw UserError(
      fmt::format("buffer: a copy of {} bytes {} a null address; pass a container that holds them", bytes, direction));
}

void upload(Allocation* to, void const* from, std::int64_t bytes, stream const* order) {
  void* const address = live_address(to, bytes);
  device const where = device_of(to);
  CUstream_st* const handle = order_on(order, where);
  if (bytes == 0) return;
  if (from == nullptr) refuse_null("from", bytes);
  if (where.is_host()) {
    std::memcpy(address, from, static_cast<std::size_t>(bytes));
  } else {
    before(order, where);
    runtime::cuda::upload(where.number(), handle, address, from, bytes);
    runtime::count(&runtime::CounterCells::copies_to_device);
    after(order, where);
  }
}

void download(void* to, Allocation const* from, std::int64_t bytes, stream const* order) {
  void const* const address = live_address(from, bytes);
  device const where = device_of(from);
  CUstream_st* const handle = order_on(order, where);
  if (bytes == 0) return;
  if (to == nullptr) refuse_null("to", bytes);
  if (where.is_host()) {
    std::memcpy(to, address, static_cast<std::size_t>(bytes));
  } else {
    before(order, where);
    runtime::cuda::download(where.number(), handle, to, address, bytes);
    after(order, where);
  }
}

void copy(Allocation* to, Allocation const* from, std::int64_t bytes, stream const* order) {
  void const* const source = live_address(from, bytes);
  void* const target = live_address(to, bytes);
  if (device_of(to).is_host()) return download(target, from, bytes, order);
  if (device_of(from).is_host()) return upload(to, source, bytes, order);
  CUstream_st* const handle = order_on(order, device_of(to));
  if (bytes == 0) return;
  before(order, device_of(from));
  before(order, device_of(to));
  runtime::cuda::copy(device_of(to).number(), handle, target, source, bytes);
  after(order, device_of(to));
}

void fill(Allocation* to, void const* pattern, int pattern_bytes, std::int64_t bytes, stream const* order) {
  void* const address = live_address(to, bytes);
  device const where = device_of(to);
  CUstream_st* const handle = order_on(order, where);
  if (bytes == 0) return;
  if (where.is_host()) {
    for (std::int64_t at = 0; at < bytes; at += pattern_bytes)
      std::memcpy(static_cast<char*>(address) + at, pattern, static_cast<std::size_t>(pattern_bytes));
    return;
  }
  if (pattern_bytes != 1 && pattern_bytes != 2 && pattern_bytes != 4 && pattern_bytes != 8)
    throw UserError(
        fmt::format("buffer: fill on {} takes elements of 1, 2, 4 or 8 bytes, not {}", where.str(), pattern_bytes));
  before(order, where);
  runtime::cuda::fill(where.number(), handle, address, pattern, pattern_bytes, bytes);
  after(order, where);
}

void refuse_extent(std::uint64_t extent, char const* word) {
  throw UserError(fmt::format("{} of {} is more than a 64-bit signed integer holds", word, extent));
}

void refuse_fraction(double extent) {
  throw UserError(fmt::format("an extent of {} is not an integer of 64 bits", extent));
}

void refuse_distance(int axis, std::int64_t elements, std::int64_t stride) {
  throw UserError(
      fmt::format("view: element {} along axis {}, whose stride is {}, is outside of the address space; a view covers "
                  "memory that exists",
                  elements, axis, stride));
}

void refuse_axis(int axis, int rank) {
  throw UserError(fmt::format("axis {} of a tensor of {} {}: axes are counted from 0 to {}", axis, rank,
                              rank == 1 ? "axis" : "axes", rank - 1));
}

void refuse_range(int axis, std::int64_t first, std::int64_t last, std::int64_t extent) {
  throw UserError(fmt::format("view: slice of the elements {} to {} along axis {}, which has {}; take a part of them",
                              first, last - 1, axis, extent));
}

void refuse_step(int axis) { throw UserError(fmt::format("view: slice along axis {} with a step of 0", axis)); }

void refuse_sizes(std::int64_t host_elements, std::int64_t buffer_elements) {
  throw UserError(
      fmt::format("buffer: a copy of {} elements does not fit a buffer of {}", host_elements, buffer_elements));
}

void refuse_place(device where, char const* wanted) {
  throw UserError(fmt::format("buffer: a {} view is requested, but the memory is on {}", wanted, where.str()));
}

}  // namespace tegula::detail
