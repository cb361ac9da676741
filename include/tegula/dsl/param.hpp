// Defines kernel parameters: tensors with direction, element and rank, run-time scalars, and the facts in their types.
#pragma once

#include "tegula/dsl/scalar.hpp"

namespace tegula {

/// States a fact that the user vouches for: every extent of the tensor is a multiple of n.
template <std::int64_t n>
struct multiple_of {
  static_assert(n >= 1, "multiple_of: a positive number is expected");
  static constexpr std::int64_t multiple = n;
};

namespace detail {

template <class Fact>
concept TensorFact = requires {
  Fact::multiple;
};

template <class T, int rank, Direction towards, class... Facts>
class Tensor {
 public:
  static_assert(rank >= 1 && rank <= max_rank, "a tensor has 1 to 8 axes");
  static_assert((TensorFact<Facts> && ...), "a fact in a tensor's type is multiple_of<n>");
  /// False for another type than an element: kernel() refuses it. Float stands for it, so that one error follows.
  static constexpr bool has_element = ElementType<T>;
  using element = std::conditional_t<has_element, T, float>;
  static constexpr int tensor_rank = rank;
  static constexpr Direction direction = towards;
  static constexpr bool readable = towards != Direction::out;
  static constexpr bool writable = towards != Direction::in;
  static constexpr std::int64_t multiple = [] {
    std::int64_t result = 1;
    ((result = Facts::multiple > result ? Facts::multiple : result), ...);
    return result;
  }();

  explicit constexpr Tensor(trace::Handle handle) : handle_(handle) {}
  [[nodiscard]] constexpr trace::Handle handle() const { return handle_; }

  /// Gives the run-time extent of an axis, as an index expression; negative axes count from the last.
  [[nodiscard]] scalar<std::int64_t> extent(int axis, location where = location::current()) const {
    auto& recorder = trace::Recorder::current("extent", where);
    return scalar<std::int64_t>(recorder.handle(recorder.extent(recorder.use(handle_, where), axis, where)));
  }
  template <int axis>
  [[nodiscard]] scalar<std::int64_t> extent(Axis<axis>, location where = location::current()) const {
    static_assert(wrap_axis(axis, rank) >= 0, "extent: the tensor does not have this axis");
    return extent(axis, where);
  }

 private:
  trace::Handle handle_;
};

template <class P>
constexpr trace::Handle handle_of(P const& parameter) {
  if constexpr (TensorLike<P>)
    return parameter.handle();
  else
    return {};
}

}  // namespace detail

/// Declares a tensor that the kernel reads. It never overlaps a tensor that the kernel writes (checked at the launch).
template <class T, int rank, class... Facts>
class in : public detail::Tensor<T, rank, Direction::in, Facts...> {
 public:
  using detail::Tensor<T, rank, Direction::in, Facts...>::Tensor;
};
/// Declares a tensor that the kernel writes.
template <class T, int rank, class... Facts>
class out : public detail::Tensor<T, rank, Direction::out, Facts...> {
 public:
  using detail::Tensor<T, rank, Direction::out, Facts...>::Tensor;
};
/// Declares a tensor that the kernel reads and writes. Within a block a load sees the stores that precede it in the
/// text.
template <class T, int rank, class... Facts>
class inout : public detail::Tensor<T, rank, Direction::inout, Facts...> {
 public:
  using detail::Tensor<T, rank, Direction::inout, Facts...>::Tensor;
};
/// Declares a scalar given at each launch.
template <class T>
class arg : public scalar<T> {
 public:
  using scalar<T>::scalar;
};

}  // namespace tegula
