#include "tegula/runtime/timer.hpp"

#include <chrono>

#include "runtime/reference_counted.hpp"
#include "runtime/cuda/backend.hpp"
#include "tegula/support/error.hpp"

namespace tegula {
namespace detail {

struct TimerState : runtime::ReferenceCounted {
  explicit TimerState(stream const& on) : order(on) {}

  using Clock = std::chrono::steady_clock;
  stream order;
  void* events[2] = {};  ///< CUDA only
  Clock::time_point points[2];
  bool marked[2] = {};

  void mark(int end) {
    marked[end] = true;
    if (end == 0) marked[1] = false;
    if (order.where().is_cuda()) {
      runtime::cuda::record_event(order.where().number(), events[end], order.handle());
    } else {
      points[end] = Clock::now();
    }
  }
};

void retain(TimerState* state) noexcept {
  if (state != nullptr) state->retain();
}

void release(TimerState* state) noexcept {
  if (state == nullptr || !state->release()) return;
  for (void* event : state->events)
    if (event != nullptr) runtime::cuda::destroy_event(state->order.where().number(), event);
  delete state;
}

}  // namespace detail

timer::timer(stream const& order) : state_(new detail::TimerState(order)) {
  if (!order.where().is_cuda()) return;
  for (void*& event : state_.get()->events)
    event = runtime::cuda::create_event(order.where().number(), runtime::cuda::EventUse::time);
}

namespace {

detail::TimerState& held(detail::Handle<detail::TimerState> const& state) {
  if (!state) throw UserError("timer: it was moved from");
  return *state.get();
}

}  // namespace

void timer::start() { held(state_).mark(0); }

void timer::stop() {
  if (!held(state_).marked[0]) throw UserError("timer: stop() before start()");
  held(state_).mark(1);
}

double timer::seconds() const {
  detail::TimerState const& state = held(state_);
  if (!state.marked[0] || !state.marked[1]) throw UserError("timer: seconds() before start() and stop()");
  if (state.order.where().is_cuda())
    return runtime::cuda::seconds_between(state.order.where().number(), state.events[0], state.events[1]);
  return std::chrono::duration<double>(state.points[1] - state.points[0]).count();
}

}  // namespace tegula
