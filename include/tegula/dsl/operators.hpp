// Defines the operators on tiles, recipes and run-time scalars: one line each, checks in one place.
#pragma once

#include "tegula/dsl/expr.hpp"

namespace tegula {
namespace detail {

/// Names the set of elements that an op accepts.
enum class Domain { numbers, integers, floats, bits, ordered, equal, any };

enum class Problem {
  none,
  named_recipe,
  tensor,
  not_a_value,
  element_offset,
  bool_mixed,
  fraction,
  wide_index,
  wide_scalar,
  elements,
  narrow,
  domain,
  ranks,
  extents
};

template <class T>
constexpr bool in_domain(Domain domain) {
  constexpr Element e = element_of<T>::value;
  switch (domain) {
    case Domain::numbers:
    case Domain::ordered:
      return is_arithmetic(e);
    case Domain::integers:
      return is_integer(e) && is_arithmetic(e);
    case Domain::floats:
      return is_float(e) && is_arithmetic(e);
    case Domain::bits:
      return (is_integer(e) && is_arithmetic(e)) || e == Element::boolean;
    case Domain::equal:
      return is_arithmetic(e) || e == Element::boolean;
    case Domain::any:
      return true;
  }
  return false;
}

/// True for elements that a kernel stores and does not compute with: of 8 bits, and integers of 16.
template <class T>
inline constexpr bool is_narrow = !is_arithmetic(element_of<T>::value) && !std::is_same_v<T, bool>;
template <class T>
constexpr Problem domain_problem(Domain domain) {
  if (in_domain<T>(domain)) return Problem::none;
  return is_narrow<T> ? Problem::narrow : Problem::domain;
}

/// True if every number of one element is a number of another; integers and floats stay apart, as cast states how those
/// meet.
constexpr bool holds_all_of(Element to, Element from) {
  if (to == from) return true;
  if (is_integer(to) && is_integer(from))
    return is_signed(to) == is_signed(from) ? bits(to) >= bits(from) : is_signed(to) && bits(to) > bits(from);
  if (!is_float(to) || !is_float(from)) return false;
  if (to == Element::f64) return true;
  bool const of_8_bits = is_f8(from);
  if (to == Element::f32) return of_8_bits || from == Element::f16 || from == Element::bf16;
  return of_8_bits && (to == Element::f16 || to == Element::bf16);
}

/// Checks a number or scalar that meets element T. Numbers take the element, rounded to nearest when they are recorded.
/// A number beyond its range, or not 0 and rounded to 0, is refused then. A run-time scalar has its own element and is
/// converted only where that loses no value.
template <class T, class X>
constexpr Problem scalar_problem() {
  constexpr Element e = element_of<T>::value;
  if constexpr (TensorLike<X>)
    return Problem::tensor;
  else if constexpr (Number<X>) {
    constexpr NumberKind kind = number_kind<X>();
    if constexpr ((kind == NumberKind::boolean) != (e == Element::boolean))
      return Problem::bool_mixed;
    else if constexpr (kind == NumberKind::floating && !is_float(e))
      return Problem::fraction;
    else
      return Problem::none;
  } else if constexpr (ScalarLike<X>) {
    constexpr Element s = element_of<typename bare<X>::scalar_element>::value;
    if constexpr (holds_all_of(e, s))
      return Problem::none;
    else if constexpr (s == Element::i64 && e == Element::i32)
      return Problem::wide_index;
    else if constexpr (is_float(s) == is_float(e) && is_integer(s) == is_integer(e))
      return Problem::wide_scalar;
    else if constexpr (s == Element::boolean || e == Element::boolean)
      return Problem::bool_mixed;
    else
      return Problem::elements;
  } else if constexpr (std::is_same_v<bare<X>, elem>)
    return Problem::element_offset;
  else
    return Problem::not_a_value;
}

template <class A, class B>
constexpr Problem tile_problem() {
  if constexpr (!TileLike<A>)
    return scalar_problem<element_t<B>, A>();
  else if constexpr (!TileLike<B>)
    return scalar_problem<element_t<A>, B>();
  else if constexpr (!std::is_same_v<element_t<A>, element_t<B>>) {
    if constexpr (std::is_same_v<element_t<A>, bool> || std::is_same_v<element_t<B>, bool>)
      return Problem::bool_mixed;
    else
      return Problem::elements;
  } else if constexpr (shape_t<A>::rank != shape_t<B>::rank)
    return Problem::ranks;
  else if constexpr (!broadcasts(shape_t<A>::list, shape_t<B>::list))
    return Problem::extents;
  else
    return Problem::none;
}

template <class A, class B>
constexpr Problem scalars_problem() {
  if constexpr (TensorLike<A> || TensorLike<B>)
    return Problem::tensor;
  else if constexpr (!ScalarLike<A>)
    return scalar_problem<scalar_element_t<B>, A>();
  else if constexpr (!ScalarLike<B>)
    return scalar_problem<scalar_element_t<A>, B>();
  else if constexpr (std::is_void_v<typename CommonScalar<A, B>::type>)
    return Problem::elements;
  else
    return Problem::none;
}

/// Finds the element that the op computes in.
template <class A, class B>
struct OperandElement {
  using type = typename CommonScalar<A, B>::type;
};
template <TileLike A, class B>
struct OperandElement<A, B> {
  using type = element_t<A>;
};
template <class A, TileLike B>
requires(!TileLike<A>) struct OperandElement<A, B> {
  using type = element_t<B>;
};

template <Domain domain, class A, class B>
constexpr Problem operand_problem() {
  if constexpr (is_invalid<A> || is_invalid<B>)
    return Problem::none;
  else if constexpr (named_recipe<A> || named_recipe<B>)
    return Problem::named_recipe;
  else {
    constexpr Problem problem = [] {
      if constexpr (TileLike<A> || TileLike<B>)
        return tile_problem<A, B>();
      else
        return scalars_problem<A, B>();
    }();
    if constexpr (problem != Problem::none)
      return problem;
    else
      return domain_problem<typename OperandElement<A, B>::type>(domain);
  }
}

template <class A, class B>
struct BinaryShape {
  using type = shape_t<A>;
};
template <class A, TileLike B>
requires(!TileLike<A>) struct BinaryShape<A, B> {
  using type = shape_t<B>;
};
template <TileLike A, TileLike B>
struct BinaryShape<A, B> {
  using type = broadcast_shape<shape_t<A>, shape_t<B>>;
};

#define TEGULA_ELEM_APART                                                                                    \
  "elem(k) counts elements and a plain index counts tiles, so the two must not mix: calculate in one unit, " \
  "elem(k + n) or k + n"

#define TEGULA_NARROW_ELEMENT                                                                                   \
  "elements of 8 bits and integers of 16 are loaded, stored, selected and converted, but must not be computed " \
  "with: cast first, for instance cast<float>(x)"

/// States the sentences about wrong operands; A and B stand in the compiler's note.
template <Problem problem, class A, class B>
constexpr void check_operands() {
  constexpr bool used_once = problem != Problem::named_recipe;
  constexpr bool loaded = problem != Problem::tensor;
  constexpr bool values = problem != Problem::not_a_value;
  constexpr bool one_unit = problem != Problem::element_offset;
  constexpr bool bool_apart = problem != Problem::bool_mixed;
  constexpr bool fits_integer = problem != Problem::fraction;
  constexpr bool fits_i32 = problem != Problem::wide_index;
  constexpr bool scalar_fits = problem != Problem::wide_scalar;
  constexpr bool same_element = problem != Problem::elements;
  constexpr bool wide = problem != Problem::narrow;
  constexpr bool defined = problem != Problem::domain;
  constexpr bool same_rank = problem != Problem::ranks;
  constexpr bool extents_agree = problem != Problem::extents;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(loaded,
                "an operand must not be a tensor parameter, which is not a tile: read it with load(tensor, shape<...>, "
                "indices...)");
  static_assert(values, "the other operand must be a tile, a traced scalar or a number");
  static_assert(one_unit, TEGULA_ELEM_APART);
  static_assert(bool_apart,
                "the operands must be numbers, and a bool is not a number: masks go into select, &, |, ^ and !; use "
                "cast to count them");
  static_assert(fits_integer, "a scalar beside an integer tile must not be fractional: cast the tile first");
  static_assert(fits_i32,
                "a 64-bit index must not be combined with an i32 tile, which would truncate it: make the tile i64 "
                "(iota<std::int64_t>) or cast<int>(index)");
  static_assert(scalar_fits,
                "the tile's element must hold all values of a run-time scalar, which is not rounded implicitly: cast "
                "the scalar to the tile's element, for instance cast<bf16>(x)");
  static_assert(same_element,
                "the operands must have the same element, and are not converted implicitly: use cast<T>(...)");
  static_assert(wide, TEGULA_NARROW_ELEMENT);
  static_assert(defined,
                "the operator must be defined for this element: arithmetic and order are for numbers, %, << and >> for "
                "integers, &, | and ^ for integers and bool, pow, fmod and atan2 for floats");
  static_assert(same_rank,
                "the tiles must have the same rank: use expand_dims or squeeze so that both have the same axes");
  static_assert(extents_agree, "the tiles' extents must be equal, and only extent 1 broadcasts");
}

/// Returns a op b: a recipe when one is a tile, a scalar if both are scalars. Result is void for the operands' element.
template <Domain domain, class Result, class Op, class A, class B>
constexpr auto binary(Op const& op, std::remove_reference_t<A>& a, std::remove_reference_t<B>& b, location where = {}) {
  constexpr Problem problem = operand_problem<domain, A, B>();
  constexpr bool sound = problem == Problem::none && !is_invalid<A> && !is_invalid<B>;
  using Operand = typename OperandElement<A, B>::type;
  using T = std::conditional_t<std::is_void_v<Result>,
                               std::conditional_t<std::is_void_v<Operand>, std::int64_t, Operand>, Result>;
  if constexpr (TileLike<A> || TileLike<B>) {
    using S = typename BinaryShape<A, B>::type;
    if constexpr (!sound)
      return Invalid<T, S>();
    else
      return Binary<T, Operand, S, Op, stored_t<A>, stored_t<B>>(op, stored(a), stored(b), where);
  } else {
    if constexpr (TensorLike<A> || TensorLike<B>) {
      return Invalid<T, Shape<1>>();
    } else if constexpr (!sound) {
      return scalar<T>(trace::Handle());
    } else {
      auto& recorder = trace::Recorder::current("an index expression", where);
      trace::Id const lhs = scalar_id<Operand>(recorder, a, where);
      trace::Id const rhs = scalar_id<Operand>(recorder, b, where);
      return scalar<T>(recorder.handle(recorder.emit_scalar(op, {lhs, rhs}, scalar_type<T>, where)));
    }
  }
}

template <Domain domain, ir::Predicate predicate, class A, class B>
constexpr auto compare(std::remove_reference_t<A>& a, std::remove_reference_t<B>& b) {
  return binary<domain, bool, ir::CompareOp, A, B>(ir::make_op<ir::CompareOp>(predicate), a, b);
}

template <class A, class B>
concept TracedPair = Traced<A> || Traced<B>;

/// Refuses an element offset and a number, with a sentence.
template <class A, class B>
concept ElementOffsetPair = !TracedPair<A, B> && (std::is_same_v<bare<A>, elem> || std::is_same_v<bare<B>, elem>);
template <class A>
constexpr elem refuse_element_offset() {
  static_assert(never<A>, TEGULA_ELEM_APART);
  return elem(0);
}

template <class A, class Op>
constexpr auto unary(Op const& op, std::remove_reference_t<A>& a, location where = {}) {
  if constexpr (TensorLike<A>) {
    return Invalid<float, Shape<1>>();
  } else if constexpr (named_recipe<A> || is_invalid<A>) {
    return Invalid<element_t<A>, shape_t<A>>();
  } else if constexpr (TileLike<A>) {
    return Unary<element_t<A>, shape_t<A>, Op, stored_t<A>>(op, stored(a), where);
  } else {
    using T = typename bare<A>::scalar_element;
    auto& recorder = trace::Recorder::current("an index expression", where);
    return scalar<T>(
        recorder.handle(recorder.emit_scalar(op, {recorder.use(a.handle(), where)}, scalar_type<T>, where)));
  }
}

template <class X>
struct ElementOrFloat {
  using type = float;
};
template <TileLike X>
struct ElementOrFloat<X> {
  using type = element_t<X>;
};
template <ScalarLike X>
struct ElementOrFloat<X> {
  using type = typename bare<X>::scalar_element;
};

template <class X>
constexpr Problem unary_problem(Domain domain) {
  if (is_invalid<X>) return Problem::none;
  if (named_recipe<X>) return Problem::named_recipe;
  if (TensorLike<X>) return Problem::tensor;
  return domain_problem<typename ElementOrFloat<X>::type>(domain);
}

}  // namespace detail

// Defined without a macro, which would show in every message.
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto operator+(A&& a, B&& b) {
  return detail::check_operands<detail::operand_problem<detail::Domain::numbers, A, B>(), A, B>(),
         detail::binary<detail::Domain::numbers, void, ir::AddOp, A, B>({}, a, b);
}
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto operator-(A&& a, B&& b) {
  return detail::check_operands<detail::operand_problem<detail::Domain::numbers, A, B>(), A, B>(),
         detail::binary<detail::Domain::numbers, void, ir::SubOp, A, B>({}, a, b);
}
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto operator*(A&& a, B&& b) {
  return detail::check_operands<detail::operand_problem<detail::Domain::numbers, A, B>(), A, B>(),
         detail::binary<detail::Domain::numbers, void, ir::MulOp, A, B>({}, a, b);
}
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto operator/(A&& a, B&& b) {
  return detail::check_operands<detail::operand_problem<detail::Domain::numbers, A, B>(), A, B>(),
         detail::binary<detail::Domain::numbers, void, ir::DivOp, A, B>({}, a, b);
}
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto operator%(A&& a, B&& b) {
  return detail::check_operands<detail::operand_problem<detail::Domain::integers, A, B>(), A, B>(),
         detail::binary<detail::Domain::integers, void, ir::RemOp, A, B>({}, a, b);
}
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto operator<<(A&& a, B&& b) {
  return detail::check_operands<detail::operand_problem<detail::Domain::integers, A, B>(), A, B>(),
         detail::binary<detail::Domain::integers, void, ir::ShlOp, A, B>({}, a, b);
}
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto operator>>(A&& a, B&& b) {
  return detail::check_operands<detail::operand_problem<detail::Domain::integers, A, B>(), A, B>(),
         detail::binary<detail::Domain::integers, void, ir::ShrOp, A, B>({}, a, b);
}
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto operator&(A&& a, B&& b) {
  return detail::check_operands<detail::operand_problem<detail::Domain::bits, A, B>(), A, B>(),
         detail::binary<detail::Domain::bits, void, ir::AndOp, A, B>({}, a, b);
}
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto operator|(A&& a, B&& b) {
  return detail::check_operands<detail::operand_problem<detail::Domain::bits, A, B>(), A, B>(),
         detail::binary<detail::Domain::bits, void, ir::OrOp, A, B>({}, a, b);
}
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto operator^(A&& a, B&& b) {
  return detail::check_operands<detail::operand_problem<detail::Domain::bits, A, B>(), A, B>(),
         detail::binary<detail::Domain::bits, void, ir::XorOp, A, B>({}, a, b);
}
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto operator==(A&& a, B&& b) {
  return detail::check_operands<detail::operand_problem<detail::Domain::equal, A, B>(), A, B>(),
         detail::compare<detail::Domain::equal, ir::Predicate::eq, A, B>(a, b);
}
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto operator!=(A&& a, B&& b) {
  return detail::check_operands<detail::operand_problem<detail::Domain::equal, A, B>(), A, B>(),
         detail::compare<detail::Domain::equal, ir::Predicate::ne, A, B>(a, b);
}
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto operator<(A&& a, B&& b) {
  return detail::check_operands<detail::operand_problem<detail::Domain::ordered, A, B>(), A, B>(),
         detail::compare<detail::Domain::ordered, ir::Predicate::lt, A, B>(a, b);
}
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto operator<=(A&& a, B&& b) {
  return detail::check_operands<detail::operand_problem<detail::Domain::ordered, A, B>(), A, B>(),
         detail::compare<detail::Domain::ordered, ir::Predicate::le, A, B>(a, b);
}
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto operator>(A&& a, B&& b) {
  return detail::check_operands<detail::operand_problem<detail::Domain::ordered, A, B>(), A, B>(),
         detail::compare<detail::Domain::ordered, ir::Predicate::gt, A, B>(a, b);
}
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto operator>=(A&& a, B&& b) {
  return detail::check_operands<detail::operand_problem<detail::Domain::ordered, A, B>(), A, B>(),
         detail::compare<detail::Domain::ordered, ir::Predicate::ge, A, B>(a, b);
}

template <detail::Traced A>
constexpr auto operator-(A&& a) {
  detail::check_operands<detail::unary_problem<A>(detail::Domain::numbers), A, A>();
  return detail::unary<A>(ir::NegOp(), a);
}
/// Negates a mask or a traced bool.
template <detail::Traced A>
constexpr auto operator!(A&& a) {
  constexpr bool mask = std::is_same_v<typename detail::ElementOrFloat<A>::type, bool>;
  static_assert(mask, "the operand of ! must be a mask or a traced bool; compare numbers with == 0");
  if constexpr (mask)
    return detail::unary<A>(ir::NotOp(), a);
  else
    return detail::Invalid<bool, Shape<1>>();
}
/// Negates integers and masks bit by bit.
template <detail::Traced A>
constexpr auto operator~(A&& a) {
  detail::check_operands<detail::unary_problem<A>(detail::Domain::bits), A, A>();
  return detail::unary<A>(ir::NotOp(), a);
}

template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto operator&&(A&&, B&& b) {
  static_assert(detail::never<A>,
                "&& must know its left side to skip its right side, and no traced value is known while the kernel is "
                "traced: use &");
  return static_cast<B&&>(b);
}
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto operator||(A&&, B&& b) {
  static_assert(detail::never<A>,
                "|| must know its left side to skip its right side, and no traced value is known while the kernel is "
                "traced: use |");
  return static_cast<B&&>(b);
}

template <class A, class B>
requires detail::ElementOffsetPair<A, B>
constexpr auto operator+(A&&, B&&) { return detail::refuse_element_offset<A>(); }
template <class A, class B>
requires detail::ElementOffsetPair<A, B>
constexpr auto operator-(A&&, B&&) { return detail::refuse_element_offset<A>(); }
template <class A, class B>
requires detail::ElementOffsetPair<A, B>
constexpr auto operator*(A&&, B&&) { return detail::refuse_element_offset<A>(); }
template <class A, class B>
requires detail::ElementOffsetPair<A, B>
constexpr auto operator/(A&&, B&&) { return detail::refuse_element_offset<A>(); }
template <class A, class B>
requires detail::ElementOffsetPair<A, B>
constexpr auto operator%(A&&, B&&) { return detail::refuse_element_offset<A>(); }

template <class T, class S, class B>
tile<T, S>& operator+=(tile<T, S>& a, B&& b) {
  return a = a + static_cast<B&&>(b);
}
template <class T, class S, class B>
tile<T, S>& operator-=(tile<T, S>& a, B&& b) {
  return a = a - static_cast<B&&>(b);
}
template <class T, class S, class B>
tile<T, S>& operator*=(tile<T, S>& a, B&& b) {
  return a = a * static_cast<B&&>(b);
}
template <class T, class S, class B>
tile<T, S>& operator/=(tile<T, S>& a, B&& b) {
  return a = a / static_cast<B&&>(b);
}

namespace detail {

/// Accepts a traced value that no operator changes in place. Tiles have +=, -=, *= and /=.
template <class A>
concept Unchanged = Traced<A> &&(!TileLike<A> || RecipeLike<A>);

template <class A>
constexpr void refuse_change() {
  constexpr bool used_once = !RecipeLike<A> || is_invalid<A>, loaded = !TensorLike<A>, new_name = !ScalarLike<A>,
                 has_operator = RecipeLike<A> || !TileLike<A>;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(loaded,
                "an operand must not be a tensor parameter, which is not a tile: read it with load(tensor, shape<...>, "
                "indices...)");
  static_assert(new_name,
                "a traced scalar must not be assigned to: bind the result to another name, auto next = k + 1, or carry "
                "it from iteration to iteration of a loop");
  static_assert(has_operator,
                "an operator that assigns to a tile must be +=, -=, *= or /=: write a = a % b, a = a & b and so on");
}

}  // namespace detail

// Catch other changes, for the sentence.
template <detail::Unchanged A, class B>
void operator+=(A&, B&&) {
  detail::refuse_change<A>();
}
template <detail::Unchanged A, class B>
void operator-=(A&, B&&) {
  detail::refuse_change<A>();
}
template <detail::Unchanged A, class B>
void operator*=(A&, B&&) {
  detail::refuse_change<A>();
}
template <detail::Unchanged A, class B>
void operator/=(A&, B&&) {
  detail::refuse_change<A>();
}
template <detail::Traced A, class B>
void operator%=(A&, B&&) {
  detail::refuse_change<A>();
}
template <detail::Traced A, class B>
void operator&=(A&, B&&) {
  detail::refuse_change<A>();
}
template <detail::Traced A, class B>
void operator|=(A&, B&&) {
  detail::refuse_change<A>();
}
template <detail::Traced A, class B>
void operator^=(A&, B&&) {
  detail::refuse_change<A>();
}
template <detail::Traced A, class B>
void operator<<=(A&, B&&) {
  detail::refuse_change<A>();
}
template <detail::Traced A, class B>
void operator>>=(A&, B&&) {
  detail::refuse_change<A>();
}
template <detail::Traced A>
void operator++(A&) {
  detail::refuse_change<A>();
}
template <detail::Traced A>
void operator++(A&, int) {
  detail::refuse_change<A>();
}
template <detail::Traced A>
void operator--(A&) {
  detail::refuse_change<A>();
}
template <detail::Traced A>
void operator--(A&, int) {
  detail::refuse_change<A>();
}

}  // namespace tegula
