#include "tegula/runtime/stream.hpp"

#include "runtime/reference_counted.hpp"
#include "runtime/cuda/backend.hpp"
#include "tegula/support/error.hpp"

namespace tegula {
namespace detail {

/// Holds a CUDA stream; the host does not have state.
struct StreamState : runtime::ReferenceCounted {
  device where;
  CUstream_st* handle = nullptr;
  bool owned = false;
};

void retain(StreamState* state) noexcept {
  if (state != nullptr) state->retain();
}

void release(StreamState* state) noexcept {
  if (state == nullptr || !state->release()) return;
  if (state->owned) runtime::cuda::destroy_stream(state->where.number(), state->handle);
  delete state;
}

namespace {

StreamState* make_state(device where) {
  if (where.is_host()) return nullptr;
  auto* state = new StreamState;
  Handle<StreamState> guard(state);
  state->where = where;
  state->handle = runtime::cuda::create_stream(where.number());
  state->owned = true;
  retain(state);
  return state;
}

StreamState* adopt_state(CUstream_st* existing) {
  device const where = device::cuda(runtime::cuda::device_of(existing));
  auto* state = new StreamState;
  state->where = where;
  state->handle = existing;
  return state;
}

device only_cuda(device where) {
  if (!where.is_cuda()) throw UserError("cuda_stream: the device is the host; use host_stream or stream");
  return where;
}

}  // namespace
}  // namespace detail

stream::stream(device where) : state_(detail::make_state(where)) {}

device stream::where() const { return state_ ? state_.get()->where : device::host(); }

void stream::synchronize() const {
  if (state_) runtime::cuda::synchronize(state_.get()->where.number(), state_.get()->handle);
}

CUstream_st* stream::handle() const { return state_ ? state_.get()->handle : nullptr; }

cuda_stream::cuda_stream(device where) : stream(detail::make_state(detail::only_cuda(where))) {}

cuda_stream::cuda_stream(CUstream_st* existing) : stream(detail::adopt_state(existing)) {}

}  // namespace tegula
