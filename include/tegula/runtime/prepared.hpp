// Holds a launch that can run again and again.
#pragma once

#include "tegula/runtime/handle.hpp"
#include "tegula/runtime/stream.hpp"

namespace tegula {
namespace detail {

struct PreparedState;
void retain(PreparedState* state) noexcept;
void release(PreparedState* state) noexcept;
/// Runs a prepared launch. Throws UserError for null, the state of a moved-from launch.
void run(PreparedState const* state, stream const& order);

}  // namespace detail

/// Holds a launch with its arguments checked and packed. Copies name the same launch; safe to run from several threads.
class prepared {
 public:
  /// Runs it on a stream of the device it was prepared for; see launch() for the order of work. Throws UserError if the
  /// stream is of another device or a buffer was freed meanwhile.
  void operator()(stream const& order) const { detail::run(state_.get(), order); }

  /// Takes over the state that prepare() made.
  explicit prepared(detail::PreparedState* adopted) : state_(adopted) {}
  /// Returns the state, for the library; null for a moved-from launch.
  [[nodiscard]] detail::PreparedState const* state() const { return state_.get(); }

 private:
  detail::Handle<detail::PreparedState> state_;
};

}  // namespace tegula
