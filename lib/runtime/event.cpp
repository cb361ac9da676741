#include "tegula/runtime/event.hpp"

#include <fmt/format.h>

#include "runtime/reference_counted.hpp"
#include "runtime/cuda/backend.hpp"
#include "tegula/support/error.hpp"

namespace tegula {
namespace detail {

/// Holds a CUDA event; the host does not have state.
struct EventState : runtime::ReferenceCounted {
  device where;
  void* handle = nullptr;
  bool owned = false;
};

void retain(EventState* state) noexcept {
  if (state != nullptr) state->retain();
}

void release(EventState* state) noexcept {
  if (state == nullptr || !state->release()) return;
  if (state->owned) runtime::cuda::destroy_event(state->where.number(), state->handle);
  delete state;
}

}  // namespace detail

event::event(device where, CUevent_st* existing) {
  if (!where.is_cuda()) throw UserError("event: the device is the host; a CUDA event needs the device that it is of");
  if (existing == nullptr) throw UserError("event: the CUDA event is null");
  state_ = detail::Handle<detail::EventState>(new detail::EventState);
  state_.get()->where = where;
  state_.get()->handle = existing;
}

void event::record(stream const& order) {
  device const where = order.where();
  if (state_ && !state_.get()->owned && state_.get()->where != where)
    throw UserError(fmt::format("event: an event of {} cannot be recorded on a stream of {}", state_.get()->where.str(),
                                where.str()));
  if (where.is_host()) {
    state_ = {};
    return;
  }
  if (!state_ || state_.get()->where != where) {
    detail::Handle<detail::EventState> fresh(new detail::EventState);
    fresh.get()->where = where;
    fresh.get()->handle = runtime::cuda::create_event(where.number(), runtime::cuda::EventUse::order);
    fresh.get()->owned = true;
    state_ = fresh;
  }
  runtime::cuda::record_event(where.number(), state_.get()->handle, order.handle());
}

bool event::reached() const {
  return !state_ || runtime::cuda::event_reached(state_.get()->where.number(), state_.get()->handle);
}

void event::synchronize() const {
  if (state_) runtime::cuda::synchronize_event(state_.get()->where.number(), state_.get()->handle);
}

CUevent_st* event::handle() const { return state_ ? static_cast<CUevent_st*>(state_.get()->handle) : nullptr; }

void stream::wait(event const& point) const {
  if (point.handle() == nullptr) return;
  if (where().is_host()) {
    point.synchronize();
  } else {
    runtime::cuda::wait_event(where().number(), handle(), point.handle());
  }
}

}  // namespace tegula
