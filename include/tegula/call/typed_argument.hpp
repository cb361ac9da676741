// Checks whether an argument fits a kernel's parameter, from types alone, and says why not in sentences.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>

#include "tegula/dsl/element.hpp"
#include "tegula/dsl/kernel.hpp"
#include "tegula/runtime/argument.hpp"
#include "tegula/runtime/buffer.hpp"
#include "tegula/runtime/view.hpp"

namespace tegula {

namespace call {

/// Throws UserError: the integer of a scalar argument does not fit the kernel's parameter.
[[noreturn]] void refuse_integer(char const* kernel, int number, bool negative, std::uint64_t magnitude,
                                 Element wanted);
/// Returns the bits of a number in a float element, rounded once to nearest even. Infinities and NaN stay. A finite
/// number beyond the range becomes the maximum in elements of 8 bits; others do not hold it, and it throws UserError.
std::int64_t float_slot(char const* kernel, int number, long double x, Element wanted);

/// Accepts a type with data(), a static rank, extent(axis) and stride(axis) in elements: buffers, views and any type
/// like them. Such a type may name its memory by a static `space` (host if not given) or, at run time, by where().
template <class X>
concept StridedTensor = requires(X& x) {
  *x.data();
  requires std::integral<std::remove_cvref_t<decltype(x.rank)>>;
  requires std::is_convertible_v<decltype(x.extent(0)), std::int64_t>;
  requires std::is_convertible_v<decltype(x.stride(0)), std::int64_t>;
};

/// Accepts a type with data_handle(), rank(), extent(axis) and stride(axis), as std::mdspan; host memory.
template <class X>
concept MdspanLike = requires(X& x) {
  *x.data_handle();
  requires std::integral<decltype(X::rank())>;
  requires std::is_convertible_v<decltype(x.extent(0)), std::int64_t>;
  requires std::is_convertible_v<decltype(x.stride(0)), std::int64_t>;
};

/// Names the type that extent() and stride() take: std::mdspan's is unsigned.
template <class X>
using AxisNumber = std::conditional_t<MdspanLike<X>, std::size_t, int>;

template <class X>
concept TensorArgument = StridedTensor<X> || MdspanLike<X> || detail::ContiguousContainer<X>;

template <class X>
concept ScalarArgument = std::is_arithmetic_v<std::remove_cv_t<X>> || detail::NarrowFloat<X>;

/// Says in which memory an argument is, as far as its type tells.
enum class Space : std::uint8_t { host, cuda, known_at_run_time };

template <class X>
concept StatesSpace = std::same_as<std::remove_cv_t<decltype(X::space)>, DeviceKind>;
template <class X>
concept StatesDevice = requires(X& x) {
  requires std::same_as<std::remove_cvref_t<decltype(x.where())>, device>;
};
template <class X>
concept OwnsAllocation = requires(X& x) {
  requires std::same_as<decltype(x.allocation()), detail::Allocation*>;
};

template <class X>
constexpr Space space_of() {
  if constexpr (StatesSpace<X>)
    return X::space == DeviceKind::host ? Space::host : Space::cuda;
  else if constexpr (StatesDevice<X>)
    return Space::known_at_run_time;
  else
    return Space::host;
}

template <class X>
constexpr int rank_of() {
  if constexpr (StridedTensor<X>)
    return static_cast<int>(X::rank);
  else if constexpr (MdspanLike<X>)
    return static_cast<int>(X::rank());
  else
    return 1;
}

template <class X>
auto address_of(X& x) {
  if constexpr (MdspanLike<X>)
    return x.data_handle();
  else
    return x.data();
}

/// Describes a tensor argument by its type.
template <TensorArgument X>
struct Given {
  using pointee = std::remove_pointer_t<decltype(call::address_of(*static_cast<X*>(nullptr)))>;
  using element = std::remove_cv_t<pointee>;
  static constexpr int rank = rank_of<X>();
  static constexpr Space space = space_of<X>();
  static constexpr bool read_only = std::is_const_v<pointee>;

  static void fill(Argument& argument, X& x) {
    argument.element = element_of<element>::value;
    argument.read_only = read_only;
    argument.rank = rank;
    if constexpr (OwnsAllocation<X>) argument.allocation = x.allocation();
    argument.address = const_cast<element*>(call::address_of(x));
    if constexpr (space == Space::cuda) argument.space = DeviceKind::cuda;
    if constexpr (space == Space::known_at_run_time) {
      device const where = x.where();
      argument.space = where.kind();
      argument.device_number = where.number();
    }
    if constexpr (StridedTensor<X> || MdspanLike<X>) {
      for (int axis = 0; axis < rank; ++axis) {
        argument.extents[axis] = detail::extent_of(x.extent(static_cast<AxisNumber<X>>(axis)));
        argument.strides[axis] = detail::extent_of(x.stride(static_cast<AxisNumber<X>>(axis)), "a stride");
      }
    } else {
      argument.extents[0] = detail::extent_of(x.size());
      argument.strides[0] = 1;
    }
  }
};

/// Says which memories the stream's type allows.
enum class StreamKind : std::uint8_t { any, host, cuda };
template <class Stream>
constexpr StreamKind stream_kind() {
  if constexpr (std::derived_from<Stream, cuda_stream>)
    return StreamKind::cuda;
  else if constexpr (std::derived_from<Stream, host_stream>)
    return StreamKind::host;
  else
    return StreamKind::any;
}

/// True if C++ makes a T of a number X without changing its kind. It refuses bool from or to a number, an integer from
/// a float, and numbers of more digits than a long double has.
template <class X, class T>
constexpr bool number_converts() {
  using B = std::remove_cv_t<X>;
  if constexpr (std::is_arithmetic_v<B> && std::numeric_limits<B>::digits > std::numeric_limits<long double>::digits)
    return false;
  else if constexpr (std::same_as<T, bool> || std::same_as<B, bool>)
    return std::same_as<T, B>;
  else if constexpr (std::integral<T>)
    return std::integral<B>;
  else
    return true;
}

/// Names the mistakes that the types of a call show.
enum class Mistake {
  none,
  count,
  not_a_tensor,
  not_a_number,
  number_kind,
  element,
  rank,
  constant,
  host_on_cuda,
  cuda_on_host
};

template <class P, class X, StreamKind stream>
constexpr Mistake mistake_in() {
  if constexpr (detail::is_arg<P>) {
    if constexpr (!ScalarArgument<X>)
      return Mistake::not_a_number;
    else
      return number_converts<X, typename P::scalar_element>() ? Mistake::none : Mistake::number_kind;
  } else if constexpr (!TensorArgument<X>) {
    return Mistake::not_a_tensor;
  } else {
    using G = Given<X>;
    if (!std::same_as<typename G::element, typename P::element>) return Mistake::element;
    if (G::rank != P::tensor_rank) return Mistake::rank;
    if (P::writable && G::read_only) return Mistake::constant;
    if (stream == StreamKind::cuda && G::space == Space::host) return Mistake::host_on_cuda;
    if (stream == StreamKind::host && G::space == Space::cuda) return Mistake::cuda_on_host;
    return Mistake::none;
  }
}

// Carries the differing types: the compiler prints them below the sentence.
template <int>
struct ArgumentNumber;
template <class...>
struct Found;
template <class...>
struct Expected;
template <int>
struct Rank;
template <int>
struct Count;

template <Mistake, class P, class X>
struct Difference {
  using found = Found<X>;
  using expected = Expected<P>;
};
template <class P, class X>
struct Difference<Mistake::element, P, X> {
  using found = Found<typename Given<X>::element>;
  using expected = Expected<typename P::element>;
};
template <class P, class X>
struct Difference<Mistake::rank, P, X> {
  using found = Found<Rank<Given<X>::rank>>;
  using expected = Expected<Rank<P::tensor_rank>>;
};
template <class P, class X>
struct Difference<Mistake::number_kind, P, X> {
  using found = Found<X>;
  using expected = Expected<typename P::scalar_element>;
};

/// Holds the first mistake of a call.
template <Mistake found = Mistake::none, class Number = void, class F = void, class E = void>
struct Finding {
  static constexpr Mistake mistake = found;
};

template <StreamKind stream, int number, class Parameters, class Arguments>
struct FirstMistake;
template <StreamKind stream, int number>
struct FirstMistake<stream, number, detail::TypeList<>, detail::TypeList<>> {
  using type = Finding<>;
};
template <StreamKind stream, int number, class P, class... Ps, class X, class... Xs>
struct FirstMistake<stream, number, detail::TypeList<P, Ps...>, detail::TypeList<X, Xs...>> {
  static constexpr Mistake mistake = mistake_in<P, X, stream>();
  static auto find() {
    if constexpr (mistake == Mistake::none)
      return typename FirstMistake<stream, number + 1, detail::TypeList<Ps...>, detail::TypeList<Xs...>>::type();
    else
      return Finding<mistake, ArgumentNumber<number>, typename Difference<mistake, P, X>::found,
                     typename Difference<mistake, P, X>::expected>();
  }
  using type = decltype(find());
};

template <StreamKind stream, class Parameters, class Arguments>
auto find_mistake() {
  if constexpr (Parameters::size != Arguments::size)
    return Finding<Mistake::count, void, Found<Count<Arguments::size>>, Expected<Count<Parameters::size>>>();
  else
    return typename FirstMistake<stream, 1, Parameters, Arguments>::type();
}

template <Mistake a, Mistake b>
inline constexpr bool unlike = a != b;

/// Tells whether an integer is one of type T. Signs are compared before numbers, so that none is converted wrongly.
template <class T, class X>
constexpr bool holds_integer(X x) {
  constexpr auto max = static_cast<std::uint64_t>((std::numeric_limits<T>::max)());
  if constexpr (std::is_signed_v<X>)
    if (x < 0) return std::is_signed_v<T> && x >= static_cast<std::int64_t>((std::numeric_limits<T>::min)());
  return static_cast<std::uint64_t>(x) <= max;
}

/// Returns the bits of a number in the parameter's type. Throws UserError for a number that the type does not hold.
template <class T, class X>
std::int64_t scalar_slot(char const* kernel, int number, X x) {
  // All digits of an integer of 64 bits pass through a long double, so that each number is rounded once.
  static_assert(std::numeric_limits<long double>::digits >= 64);
  if constexpr (std::same_as<T, bool>) {
    return x ? 1 : 0;
  } else if constexpr (std::integral<T>) {
    if (!holds_integer<T>(x)) {
      bool const negative = std::is_signed_v<X> && static_cast<std::int64_t>(x) < 0;
      auto const raw = static_cast<std::uint64_t>(x);
      refuse_integer(kernel, number, negative, negative ? 0 - raw : raw, element_of<T>::value);
    }
    return static_cast<std::int64_t>(x);
  } else if constexpr (std::same_as<X, T>) {
    std::int64_t slot = 0;
    std::memcpy(&slot, &x, sizeof x);  // the low bytes: little-endian, as everywhere in argument slots
    return slot;
  } else if constexpr (std::is_arithmetic_v<X>) {
    return float_slot(kernel, number, static_cast<long double>(x), element_of<T>::value);
  } else {
    return float_slot(kernel, number, static_cast<double>(x), element_of<T>::value);
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

}  // namespace call
}  // namespace tegula
