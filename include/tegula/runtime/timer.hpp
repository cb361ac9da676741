// Measures time between two points of a stream.
#pragma once

#include "tegula/runtime/handle.hpp"
#include "tegula/runtime/stream.hpp"

namespace tegula {
namespace detail {

struct TimerState;
void retain(TimerState* state) noexcept;
void release(TimerState* state) noexcept;

}  // namespace detail

/// Measures the work between start() and stop() on one stream: by events on a CUDA device, by the clock on the host.
class timer {
 public:
  explicit timer(stream const& order);
  void start();
  void stop();
  /// Returns the seconds between the last start() and stop(); waits for the work. Throws UserError if either was not
  /// called.
  [[nodiscard]] double seconds() const;

 private:
  detail::Handle<detail::TimerState> state_;
};

}  // namespace tegula
