// Counts references to an object of the runtime whose type is not shown: streams, allocations, timers.
#pragma once

namespace tegula::detail {

/// Holds one reference. `State` has functions retain(State*) and release(State*) found by argument-dependent lookup;
/// both accept nullptr.
template <class State>
class Handle {
 public:
  constexpr Handle() = default;
  /// Takes over one reference.
  explicit Handle(State* adopted) : state_(adopted) {}
  Handle(Handle const& other) : state_(other.state_) { retain(state_); }
  Handle(Handle&& other) noexcept : state_(other.state_) { other.state_ = nullptr; }
  Handle& operator=(Handle other) noexcept {
    State* mine = state_;
    state_ = other.state_;
    other.state_ = mine;
    return *this;
  }
  ~Handle() { release(state_); }

  [[nodiscard]] State* get() const { return state_; }
  explicit operator bool() const { return state_ != nullptr; }

 private:
  State* state_ = nullptr;
};

}  // namespace tegula::detail
