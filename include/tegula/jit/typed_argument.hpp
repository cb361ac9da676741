// What may be handed to a kernel, and whether it fits the parameter: decided from types alone, in sentences.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>

#include "tegula/dsl/element.hpp"
#include "tegula/dsl/kernel.hpp"
#include "tegula/jit/launcher.hpp"
#include "tegula/runtime/argument.hpp"
#include "tegula/runtime/buffer.hpp"
#include "tegula/runtime/view.hpp"

namespace tegula {


namespace jit {

/// Has data(), a static rank, extent(axis) and stride(axis) in elements; buffers, views and any type like them. Such a type
/// may say where its memory is by a static `space` (host if not said) or, at run time, by where().
template <class X>
concept StridedTensor = requires(X& x) {
  *x.data();
  requires std::integral<std::remove_cvref_t<decltype(x.rank)>>;
  requires std::convertible_to<decltype(x.extent(0)), std::int64_t>;
  requires std::convertible_to<decltype(x.stride(0)), std::int64_t>;
};

/// Has data_handle(), rank(), extent(axis) and stride(axis), as std::mdspan; host memory.
template <class X>
concept MdspanLike = requires(X& x) {
  *x.data_handle();
  requires std::integral<decltype(X::rank())>;
  requires std::convertible_to<decltype(x.extent(0)), std::int64_t>;
  requires std::convertible_to<decltype(x.stride(0)), std::int64_t>;
};

template <class X>
concept TensorArgument = StridedTensor<X> || MdspanLike<X> || detail::ContiguousContainer<X>;

template <class X>
concept ScalarArgument = std::is_arithmetic_v<std::remove_cv_t<X>> || std::same_as<std::remove_cv_t<X>, f16> ||
                         std::same_as<std::remove_cv_t<X>, bf16>;

/// Where an argument's memory is, as far as its type tells.
enum class Space : std::uint8_t { host, cuda, known_at_run_time };

template <TensorArgument X>
struct Given {
  static constexpr int rank = [] {
    if constexpr (StridedTensor<X>) return static_cast<int>(X::rank);
    else if constexpr (MdspanLike<X>) return static_cast<int>(X::rank());
    else return 1;
  }();
  static constexpr Space space = [] {
    if constexpr (requires { X::space; }) return X::space == DeviceKind::host ? Space::host : Space::cuda;
    else if constexpr (requires(X& x) { { x.where() } -> std::convertible_to<device>; }) return Space::known_at_run_time;
    else return Space::host;
  }();
  static auto address(X& x) {
    if constexpr (MdspanLike<X>) return x.data_handle();
    else return x.data();
  }
  using pointee = std::remove_pointer_t<decltype(address(*static_cast<X*>(nullptr)))>;
  using element = std::remove_cv_t<pointee>;
  static constexpr bool read_only = std::is_const_v<pointee>;

  static void fill(Argument& argument, X& x) {
    argument.element = element_of<element>::value;
    argument.read_only = read_only;
    argument.rank = rank;
    if constexpr (requires { { x.allocation() } -> std::same_as<detail::Allocation*>; }) argument.allocation = x.allocation();
    argument.address = const_cast<element*>(address(x));
    if constexpr (space == Space::cuda) argument.space = DeviceKind::cuda;
    if constexpr (space == Space::known_at_run_time) {
      device const where = x.where();
      argument.space = where.kind();
      argument.device_number = where.number();
    }
    if constexpr (StridedTensor<X> || MdspanLike<X>) {
      for (int axis = 0; axis < rank; ++axis) {
        argument.extents[axis] = static_cast<std::int64_t>(x.extent(axis));
        argument.strides[axis] = static_cast<std::int64_t>(x.stride(axis));
      }
    } else {
      argument.extents[0] = static_cast<std::int64_t>(x.size());
      argument.strides[0] = 1;
    }
  }
};

// The facts of an error, spelt in types: GCC and Clang print them below the sentence.
template <int> struct ArgumentNumber;
template <class> struct Found;
template <class> struct Expected;
template <int> struct FoundCount;
template <int> struct ExpectedCount;

template <class, class>
inline constexpr bool agree = false;
template <class T>
inline constexpr bool agree<Found<T>, Expected<T>> = true;
template <int n>
inline constexpr bool agree<FoundCount<n>, ExpectedCount<n>> = true;

template <class F, class E>
concept CountsAgree = agree<F, E>;
template <class Number, class F, class E>
concept RanksAgree = agree<F, E>;
template <class Number, class F, class E>
concept ElementsAgree = agree<F, E>;
template <class Number, class X>
concept IsTensor = TensorArgument<X>;
template <class Number, class X>
concept IsScalar = ScalarArgument<X>;
template <class Number, class X>
concept IsWritable = !Given<X>::read_only;
template <class Number, class X>
concept OnTheHost = Given<X>::space != Space::cuda;
template <class Number, class X>
concept OnTheDevice = Given<X>::space != Space::host;

/// Whether C++ converts a number of type X to the kernel's T without changing its kind.
template <class X, class T>
constexpr bool scalar_converts() {
  using B = std::remove_cv_t<X>;
  constexpr bool from_bool = std::same_as<B, bool>;
  if constexpr (std::same_as<T, bool>) return from_bool;
  else if constexpr (std::integral<T>) return std::integral<B> && !from_bool;
  else return !from_bool && (std::floating_point<T> || std::same_as<B, T> || std::is_arithmetic_v<B>);
}
template <class Number, class F, class E>
inline constexpr bool kinds_agree = false;
template <class Number, class X, class T>
inline constexpr bool kinds_agree<Number, Found<X>, Expected<T>> = scalar_converts<X, T>();
template <class Number, class F, class E>
concept ScalarKindsAgree = kinds_agree<Number, F, E>;

/// Which places the stream's type allows.
enum class StreamKind : std::uint8_t { any, host, cuda };
template <class Stream>
constexpr StreamKind stream_kind() {
  if constexpr (std::derived_from<Stream, cuda_stream>) return StreamKind::cuda;
  else if constexpr (std::derived_from<Stream, host_stream>) return StreamKind::host;
  else return StreamKind::any;
}

/// Asserts, one sentence for the first thing wrong, that argument `number` (from 1) fits parameter P.
template <class P, int number, StreamKind stream, class X>
constexpr bool fits() {
  using N = ArgumentNumber<number>;
  if constexpr (detail::is_arg<P>) {
    static_assert(IsScalar<N, X>, "launch: the kernel takes a number here, the argument is none");
    if constexpr (ScalarArgument<X>) {
      using T = typename P::scalar_element;
      constexpr bool same_kind = scalar_converts<X, T>();
      static_assert(ScalarKindsAgree<N, Found<X>, Expected<T>>,
                    "launch: a number of another kind than the kernel's parameter");
      return same_kind;
    } else {
      return false;
    }
  } else if constexpr (!TensorArgument<X>) {
    static_assert(IsTensor<N, X>, "launch: the kernel takes a tensor here: a buffer, a view, or a type with data() and extents");
    return false;
  } else {
    using G = Given<X>;
    constexpr bool element = std::same_as<typename G::element, typename P::element>;
    static_assert(ElementsAgree<N, Found<typename G::element>, Expected<typename P::element>>,
                  "launch: an argument's element differs from the kernel's parameter");
    if constexpr (!element) return false;
    constexpr bool rank = G::rank == P::tensor_rank;
    static_assert(!element || RanksAgree<N, FoundCount<G::rank>, ExpectedCount<P::tensor_rank>>,
                  "launch: an argument's rank differs from the kernel's parameter");
    constexpr bool writable = !P::writable || !G::read_only;
    static_assert(!element || !rank || !P::writable || IsWritable<N, X>,
                  "launch: the kernel writes this argument, but its elements are const");
    constexpr bool reachable = !(stream == StreamKind::cuda && G::space == Space::host) &&
                               !(stream == StreamKind::host && G::space == Space::cuda);
    static_assert(!element || !rank || !writable || stream != StreamKind::cuda || OnTheDevice<N, X>,
                  "launch: host memory on a CUDA stream; copy it to a buffer on the device");
    static_assert(!element || !rank || !writable || stream != StreamKind::host || OnTheHost<N, X>,
                  "launch: device memory on a host stream; copy it to a buffer on the host");
    return element && rank && writable && reachable;
  }
}

/// The bits of a number in the parameter's type. Throws UserError for an integer that does not fit.
template <class T, class X>
std::int64_t scalar_slot(char const* kernel, int number, X x) {
  if constexpr (std::same_as<T, bool>) {
    return x ? 1 : 0;
  } else if constexpr (std::integral<T>) {
    bool fits = true;
    if constexpr (std::is_unsigned_v<X>)
      fits = static_cast<std::uint64_t>(x) <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
    else
      fits = x >= std::numeric_limits<T>::min() && x <= std::numeric_limits<T>::max();
    if (!fits) refuse_scalar(kernel, number, static_cast<std::int64_t>(x), element_of<T>::value);
    return static_cast<std::int64_t>(x);
  } else {
    T const value = [&] {
      if constexpr (std::same_as<X, T>) return x;
      else if constexpr (std::is_arithmetic_v<X>) return static_cast<T>(static_cast<double>(x));
      else return static_cast<T>(static_cast<double>(x));
    }();
    std::int64_t slot = 0;
    std::memcpy(&slot, &value, sizeof value);  // the low bytes: little-endian, as everywhere in argument slots
    return slot;
  }
}

template <class P, class X>
Argument make_argument(char const* kernel, int number, X& x) {
  Argument argument;
  if constexpr (detail::is_arg<P>) {
    using T = typename P::scalar_element;
    argument.kind = ParameterKind::scalar;
    argument.element = element_of<T>::value;
    argument.scalar = scalar_slot<T>(kernel, number, static_cast<std::remove_cv_t<X>>(x));
  } else {
    Given<X>::fill(argument, x);
  }
  return argument;
}

}  // namespace jit
}  // namespace tegula
