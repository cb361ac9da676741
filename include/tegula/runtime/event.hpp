// Marks points of streams, for other streams and the host to wait for.
#pragma once

#include "tegula/runtime/handle.hpp"
#include "tegula/runtime/stream.hpp"

struct CUevent_st;  // the type that CUevent and cudaEvent_t point to

namespace tegula {
namespace detail {

struct EventState;
void retain(EventState* state) noexcept;
void release(EventState* state) noexcept;

}  // namespace detail

/// Marks a point of a stream. Copies mark the same point. On the host, and before the first record(), the point counts
/// as reached.
class event {
 public:
  event() = default;
  /// Marks the present end of the stream.
  explicit event(stream const& order) { record(order); }
  /// Uses the event of an existing program (CUevent or cudaEvent_t) of a CUDA device as it is and never destroys it.
  /// Throws UserError if `where` is the host or the event is null.
  event(device where, CUevent_st* existing);

  /// Marks the present end of the stream, in place of the point before. Throws UserError for an event of an existing
  /// program on a stream of another device.
  void record(stream const& order);
  /// Tells whether all work before the point has ended. Does not wait. Throws DriverError if the work failed.
  [[nodiscard]] bool reached() const;
  /// Waits until it has.
  void synchronize() const;
  /// Returns the CUDA event; null on the host and before the first record().
  [[nodiscard]] CUevent_st* handle() const;

 private:
  detail::Handle<detail::EventState> state_;  // null: reached
};

}  // namespace tegula
