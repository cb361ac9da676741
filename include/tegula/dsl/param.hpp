// Defines kernel parameters: tensors with direction, element and rank, run-time scalars, and the facts in their types.
#pragma once

#include "tegula/dsl/scalar.hpp"

namespace tegula {

/// States that a number is a multiple of n: an `arg` of integers, or every extent of a tensor. As every fact in a type,
/// it is checked at each launch (prepared: once), and the code relies on it.
template <std::int64_t n>
struct multiple_of {
  static_assert(n >= 1, "multiple_of: the number must be positive");
  static constexpr std::int64_t multiple = n;
};

/// States that a number is n. The code is made for n alone.
template <std::int64_t n>
struct equals {
  static constexpr std::int64_t number = n;
};

/// States that a number is n, and makes it a constant of C++: `size.value`, where `size` is the arg, or extent<axis>()
/// of the tensor, stands in shapes.
template <std::int64_t n>
struct fixed {
  static constexpr std::int64_t number = n;
};

/// States a fact about the extent of one axis of a tensor: `in<float, 2, along<1, fixed<128>>>`. Negative axes count
/// from the last.
template <int at_axis, class Fact>
struct along {
  static constexpr int axis = at_axis;
  using fact = Fact;
};

namespace detail {

template <class Fact>
inline constexpr bool is_number_fact = false;
template <std::int64_t n>
inline constexpr bool is_number_fact<multiple_of<n>> = true;
template <std::int64_t n>
inline constexpr bool is_number_fact<equals<n>> = true;
template <std::int64_t n>
inline constexpr bool is_number_fact<fixed<n>> = true;
template <class Fact>
inline constexpr bool is_tensor_fact = is_number_fact<Fact>;
template <int axis, class Fact>
inline constexpr bool is_tensor_fact<along<axis, Fact>> = is_number_fact<Fact>;

/// Holds the facts of one number in a type.
struct NumberFacts {
  std::int64_t multiple = 1;
  bool is_known = false, is_fixed = false;
  bool agree = true;  ///< false: no number has all of them
  std::int64_t number = 0;

  constexpr void add_multiple(std::int64_t n) { multiple = multiple / gcd(multiple, n) * n; }
  constexpr void add_number(std::int64_t n, bool constant) {
    agree = agree && (!is_known || number == n);
    is_known = true;
    is_fixed = is_fixed || constant;
    number = n;
  }
  [[nodiscard]] constexpr bool sound() const { return agree && (!is_known || number % multiple == 0); }

 private:
  static constexpr std::int64_t gcd(std::int64_t a, std::int64_t b) {
    while (b != 0) {
      std::int64_t const rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }
};

template <class Fact>
constexpr void add_fact(NumberFacts& facts) {
  if constexpr (requires { Fact::multiple; })
    facts.add_multiple(Fact::multiple);
  else
    facts.add_number(Fact::number, std::is_same_v<Fact, fixed<Fact::number>>);
}
template <class Fact>
constexpr void add_fact_of_axis(NumberFacts& facts, int axis, int rank) {
  if constexpr (!is_tensor_fact<Fact>) {
    return;  // refused by the tensor
  } else if constexpr (requires { typename Fact::fact; }) {
    if (wrap_axis(Fact::axis, rank) == axis) add_fact<typename Fact::fact>(facts);
  } else {
    add_fact<Fact>(facts);
  }
}

template <class Fact>
constexpr bool has_axis_of(int rank) {
  if constexpr (requires { typename Fact::fact; })
    return wrap_axis(Fact::axis, rank) >= 0;
  else
    return rank > 0;
}

template <class... Facts>
constexpr NumberFacts facts_of_number() {
  NumberFacts result;
  if constexpr ((is_number_fact<Facts> && ...)) (add_fact<Facts>(result), ...);
  return result;
}

/// Names a mistake in the facts of a parameter's type.
enum class FactMistake { none, kind, axis, contradiction, element, range };

/// Holds the constant of an arg, if its facts fix one.
template <NumberFacts facts>
struct FixedNumber {};
template <NumberFacts facts>
requires(facts.is_fixed) struct FixedNumber<facts> {
  static constexpr Static<facts.number> constant{};
};

/// Requires a fact of a parameter, or of its extent along `axis` if that is not negative.
template <class Fact>
void require_number(trace::Recorder& recorder, trace::Handle parameter, int number, int axis) {
  if constexpr (requires { Fact::multiple; })
    recorder.require_fact(parameter, number, "multiple_of", Fact::multiple, axis);
  else
    recorder.require_fact(parameter, number, std::is_same_v<Fact, fixed<Fact::number>> ? "fixed" : "equals",
                          Fact::number, axis);
}

template <class T, int rank, Direction towards, class... Facts>
class Tensor {
 public:
  static_assert(rank >= 1 && rank <= max_rank, "a tensor must have 1 to 8 axes");
  /// False for another type than an element: kernel() refuses it. Float stands for it, so that one error follows.
  static constexpr bool has_element = ElementType<T>;
  using element = std::conditional_t<has_element, T, float>;
  static constexpr int tensor_rank = rank;
  static constexpr Direction direction = towards;
  static constexpr bool readable = towards != Direction::out;
  static constexpr bool writable = towards != Direction::in;
  /// Returns what the type states about the extent of an axis.
  static constexpr NumberFacts facts_of([[maybe_unused]] int axis) {
    NumberFacts result;
    (add_fact_of_axis<Facts>(result, axis, rank), ...);
    return result;
  }
  /// Every extent is a multiple of it.
  static constexpr std::int64_t multiple = [] {
    NumberFacts result;
    ((requires { Facts::multiple; } ? add_fact_of_axis<Facts>(result, 0, rank) : void()), ...);
    return result.multiple;
  }();
  /// Names a mistake in the facts, which kernel() refuses.
  static constexpr FactMistake fact_mistake = [] {
    if (!(is_tensor_fact<Facts> && ...)) return FactMistake::kind;
    if (!(has_axis_of<Facts>(rank) && ...)) return FactMistake::axis;
    for (int axis = 0; axis < rank; ++axis)
      if (NumberFacts const facts = facts_of(axis); !facts.sound() || facts.number < 0)
        return FactMistake::contradiction;
    return FactMistake::none;
  }();

  explicit constexpr Tensor(trace::Handle handle) : handle_(handle) {}
  [[nodiscard]] constexpr trace::Handle handle() const { return handle_; }

  /// Returns the run-time extent of an axis, as an index expression; negative axes count from the last. Where the type
  /// states the number, it is a constant.
  [[nodiscard]] scalar<std::int64_t> extent(int axis, location where = location::current()) const {
    auto& recorder = trace::Recorder::current("extent", where);
    if (int const from_first = axis < 0 ? axis + rank : axis; from_first >= 0 && from_first < rank)
      if (NumberFacts const facts = facts_of(from_first); facts.is_known)
        return scalar<std::int64_t>(
            recorder.handle(recorder.constant(literal(facts.number), ir::Type::index(), where)));
    return scalar<std::int64_t>(recorder.handle(recorder.extent(recorder.use(handle_, where), axis, where)));
  }
  /// Returns the extent of an axis; a constant of C++, `x.extent(axis<1>).value`, where the type fixes it.
  template <int axis>
  [[nodiscard]] constexpr auto extent(Axis<axis>, location where = location::current()) const {
    static_assert(wrap_axis(axis, rank) >= 0, "extent: the tensor must have this axis");
    constexpr NumberFacts facts = facts_of(wrap_axis(axis, rank));
    if constexpr (facts.is_fixed)
      return Static<facts.number>();
    else
      return extent(axis, where);
  }

  /// Requires of a launch what the type of parameter `number` states beyond `multiple`.
  void require_facts([[maybe_unused]] trace::Recorder& recorder, [[maybe_unused]] int number) const {
    (require_fact<Facts>(recorder, number), ...);
  }

 private:
  template <class Fact>
  void require_fact(trace::Recorder& recorder, int number) const {
    if constexpr (requires { typename Fact::fact; })
      require_number<typename Fact::fact>(recorder, handle_, number, wrap_axis(Fact::axis, rank));
    else if constexpr (requires { Fact::number; })
      for (int axis = 0; axis < rank; ++axis) require_number<Fact>(recorder, handle_, number, axis);
  }

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
/// Declares a scalar given at each launch by any number of its kind: integers and floats for a float, integers for an
/// integer. A number is rounded once. One that T does not hold is refused, also a finite one that would become an
/// infinity; e4m3 and e5m2 take their maximum instead. Infinities and NaN pass. Facts state what holds of an integer;
/// each launch checks them:
/// - `arg<int, multiple_of<16>>`;
/// - `arg<int, equals<1>>`: the code is made for 1;
/// - `arg<int, fixed<128>> n`: the code is made for 128, and `n.constant.value` stands in shapes.
template <class T, class... Facts>
class arg : public scalar<T>, public detail::FixedNumber<detail::facts_of_number<Facts...>()> {
 public:
  static constexpr detail::NumberFacts facts = detail::facts_of_number<Facts...>();
  /// Names a mistake in the facts, which kernel() refuses.
  static constexpr detail::FactMistake fact_mistake = [] {
    using detail::FactMistake;
    if (!(detail::is_number_fact<Facts> && ...)) return FactMistake::kind;
    if (sizeof...(Facts) > 0 && !std::is_same_v<T, std::int32_t> && !std::is_same_v<T, std::int64_t>)
      return FactMistake::element;
    if (!facts.sound()) return FactMistake::contradiction;
    bool const narrow = facts.number >= INT32_MIN && facts.number <= INT32_MAX && facts.multiple <= INT32_MAX;
    return narrow || sizeof(T) == sizeof(std::int64_t) ? FactMistake::none : FactMistake::range;
  }();
  using scalar<T>::scalar;

  /// Requires of a launch what the type of parameter `number` states; a number that it states becomes a constant.
  void require_facts([[maybe_unused]] trace::Recorder& recorder, [[maybe_unused]] int number) {
    if constexpr (fact_mistake == detail::FactMistake::none)
      (detail::require_number<Facts>(recorder, this->handle(), number, -1), ...);
    if constexpr (facts.is_known)
      *this = arg(recorder.handle(recorder.constant(detail::literal(facts.number), detail::scalar_type<T>, {})));
  }
};

}  // namespace tegula
