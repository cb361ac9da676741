// Defines recipes: move-only nodes with their children by value in plain members, recorded by a walk left to right.
//
// Every node has element, tile_shape, where() and record(recorder, binding); leaves are TileRef, scalar and Literal.
#pragma once

#include "tegula/dsl/tile.hpp"

namespace tegula::detail {

/// Refers to a tile inside a recipe.
template <class T, class S>
struct TileRef {
  trace::Handle handle;
  [[nodiscard]] constexpr location where() const { return {}; }
  trace::Id record(trace::Recorder& recorder, location at) const { return recorder.use(handle, at); }
};

template <class T>
struct ScalarRef {
  trace::Handle handle;
  [[nodiscard]] constexpr location where() const { return {}; }
  trace::Id record(trace::Recorder& recorder, location at) const { return recorder.use(handle, at); }
};

struct LiteralRef {
  trace::Literal value;
  [[nodiscard]] constexpr location where() const { return {}; }
};

/// Finds the form in which a node keeps an operand.
template <class X>
struct Stored {
  using type = LiteralRef;
  static constexpr type make(X const& x) { return {literal(x)}; }
};
template <RecipeLike X>
struct Stored<X> {
  using type = X;
  static constexpr X&& make(X& x) { return static_cast<X&&>(x); }
};
template <TileLike X>
requires(!RecipeLike<X>) struct Stored<X> {
  using type = TileRef<element_t<X>, shape_t<X>>;
  static type make(X const& x) { return {x.handle()}; }
};
template <ScalarLike X>
struct Stored<X> {
  using type = ScalarRef<typename X::scalar_element>;
  static constexpr type make(X const& x) { return {x.handle()}; }
};
template <class X>
using stored_t = typename Stored<bare<X>>::type;
template <class X>
constexpr decltype(auto) stored(X& x) {
  return Stored<bare<X>>::make(x);
}

/// Records an operand as a tile of element T and shape S: numbers and scalars in every element, axes of extent 1
/// broadcast.
template <class T, class S, class X>
trace::Id record_as(trace::Recorder& recorder, X& x, location at) {
  if constexpr (std::is_same_v<bare<X>, LiteralRef>)
    return recorder.constant(x.value, tile_type<T, S>, at);
  else
    return recorder.adapt(x.record(recorder, at), tile_type<T, S>, at);
}

constexpr location nearest(location own, location a) { return own.known() ? own : a; }

/// Holds one op on one tile; `Op` is an op struct of the IR.
template <class T, class S, class Op, class A>
class Unary : public Recipe<T, S> {
 public:
  constexpr Unary(Op const& op, A&& operand, location where)
      : op_(op), operand_(static_cast<A&&>(operand)), where_(where) {}
  [[nodiscard]] location where() const { return nearest(where_, operand_.where()); }
  trace::Id record(trace::Recorder& recorder, location binding) {
    location const at = nearest(where(), binding);
    trace::Id const a = operand_.record(recorder, at);
    return recorder.emit(op_, {a}, tile_type<T, S>, at);
  }

 private:
  Op op_;
  A operand_;
  location where_;
};

/// Holds an elementwise op on two operands of element U.
template <class T, class U, class S, class Op, class A, class B>
class Binary : public Recipe<T, S> {
 public:
  constexpr Binary(Op const& op, A&& lhs, B&& rhs, location where)
      : op_(op), lhs_(static_cast<A&&>(lhs)), rhs_(static_cast<B&&>(rhs)), where_(where) {}
  [[nodiscard]] location where() const { return nearest(nearest(where_, lhs_.where()), rhs_.where()); }
  trace::Id record(trace::Recorder& recorder, location binding) {
    location const at = nearest(where(), binding);
    trace::Id const a = record_as<U, S>(recorder, lhs_, at);
    trace::Id const b = record_as<U, S>(recorder, rhs_, at);
    return recorder.emit(op_, {a, b}, tile_type<T, S>, at);
  }

 private:
  Op op_;
  A lhs_;
  B rhs_;
  location where_;
};

/// Holds condition ? a : b, element by element.
template <class T, class S, class C, class A, class B>
class Select : public Recipe<T, S> {
 public:
  constexpr Select(C&& condition, A&& lhs, B&& rhs, location where)
      : condition_(static_cast<C&&>(condition)),
        lhs_(static_cast<A&&>(lhs)),
        rhs_(static_cast<B&&>(rhs)),
        where_(where) {}
  [[nodiscard]] location where() const { return where_; }
  trace::Id record(trace::Recorder& recorder, location) {
    trace::Id const c = record_as<bool, S>(recorder, condition_, where_);
    trace::Id const a = record_as<T, S>(recorder, lhs_, where_);
    trace::Id const b = record_as<T, S>(recorder, rhs_, where_);
    return recorder.emit(ir::SelectOp{}, {c, a, b}, tile_type<T, S>, where_);
  }

 private:
  C condition_;
  A lhs_;
  B rhs_;
  location where_;
};

/// Records a value that is bound, stored or returned, and returns the id of the tile or recipe.
template <TileLike X>
trace::Id record_value(trace::Recorder& recorder, X& x, location at) {
  if constexpr (RecipeLike<X>)
    return x.record(recorder, at);
  else
    return recorder.use(x.handle(), at);
}

}  // namespace tegula::detail
