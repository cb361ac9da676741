// Orders work: launches and copies on one stream happen one after the other.
#pragma once

#include "tegula/runtime/device.hpp"
#include "tegula/runtime/handle.hpp"

struct CUstream_st;  // the type that CUstream and cudaStream_t point to

namespace tegula {

class event;  // tegula/runtime/event.hpp

namespace detail {

struct StreamState;
void retain(StreamState* state) noexcept;
void release(StreamState* state) noexcept;

}  // namespace detail

/// Names a stream of any device. Copies name the same stream. On the host, work is done when the call returns; on a
/// CUDA device it is done after synchronize().
class stream {
 public:
  /// Makes a new stream of the device.
  explicit stream(device where = device::best());
  // Copies name the same stream. A moved-from stream stays valid: a move copies.
  stream(stream const&) = default;
  stream& operator=(stream const&) = default;
  ~stream() = default;

  [[nodiscard]] device where() const;
  /// Waits for all work on this stream and throws DriverError if any of it failed.
  void synchronize() const;
  /// Lets later work on this stream start only when the event's point is reached, which may be on a stream of any
  /// device. The host stream waits at once.
  void wait(event const& point) const;
  /// Returns the CUDA stream; null on the host (and for CUDA's default stream).
  [[nodiscard]] CUstream_st* handle() const;

 protected:
  explicit stream(detail::StreamState* adopted) : state_(adopted) {}

 private:
  detail::Handle<detail::StreamState> state_;  // null: the host
};

/// Names a stream known at compile time to be the host's.
class host_stream : public stream {
 public:
  host_stream() : stream(device::host()) {}
};

/// Names a stream known at compile time to be a CUDA device's: launching on it with host views does not compile.
class cuda_stream : public stream {
 public:
  /// Makes a new stream of the device. Throws UserError if `where` is the host.
  explicit cuda_stream(device where = device::cuda());
  /// Uses the stream of an existing program (CUstream or cudaStream_t) as it is and never destroys it. Null is the
  /// default stream of the current context, or of device 0 if there is none. The context must be a primary one.
  explicit cuda_stream(CUstream_st* existing);
};

}  // namespace tegula
