// Makes device functions: generic bodies whose arguments are bound left to right before the body runs.
#pragma once

#include <tuple>

#include "tegula/dsl/control.hpp"

namespace tegula {

/// Says whether a device function is inlined:
/// - `noinline`: it becomes a function of the IR, called wherever it is traced, and stays one through the passes;
/// - `inlined`: its body is traced at every call;
/// - neither: a function of tiles and scalars becomes one of the IR, and the inliner chooses; any other is traced at
/// every call.
template <trace::FunctionInline inlining>
struct Inlining {};
inline constexpr Inlining<trace::FunctionInline::no> noinline;
inline constexpr Inlining<trace::FunctionInline::yes> inlined;

namespace detail {

/// Passes an argument into a function of the IR: tiles, scalars and tensors become its parameters. Everything else is
/// known to the C++ program and stays as it is.
template <class X>
struct Entering {
  static constexpr bool traced = false;
  static X const& parameter(trace::Recorder&, X const& x) { return x; }
};
template <class X>
requires(TileLike<X> || ScalarLike<X> || TensorLike<X>) struct Entering<X> {
  static constexpr bool traced = true;
  static X parameter(trace::Recorder& inside, X const& x) {
    if constexpr (TileLike<X>)
      return X(inside.tile_parameter(tile_type<element_t<X>, shape_t<X>>, x.handle()));
    else if constexpr (TensorLike<X>)
      return X(inside.tensor_argument(x.handle(), element_of<typename X::element>::value, X::tensor_rank, X::direction,
                                      X::multiple));
    else
      return X(inside.scalar_parameter(element_of<typename X::scalar_element>::value, x.handle()));
  }
};

template <Group X>
struct Entering<X> {
  static constexpr bool traced = true;
  static X parameter(trace::Recorder& inside, X const& x) {
    return with_members(
        x, [&](auto const&... members) { return X{Entering<bare<decltype(members)>>::parameter(inside, members)...}; });
  }
};

/// Holds the arguments of a call in its caller's trace, in order; groups member by member.
template <class... X>
struct PassedValues {
  trace::Handle handles[(Width<X>::value + ... + 1)];
  int count = 0;
  explicit PassedValues(X const&... values) { (add(values), ...); }

 private:
  template <class Value>
  void add(Value const& value) {
    if constexpr (Group<Value>)
      with_members(value, [&](auto const&... members) { (add(members), ...); });
    else if constexpr (Entering<Value>::traced)
      handles[count++] = value.handle();
  }
};

}  // namespace detail

/// Holds a device function: called like its lambda, with recipes bound to tiles first, left to right. It may be called
/// as a statement and from any other function; its result is recorded. On host<T> it runs as it is.
template <class F, trace::FunctionInline inlining>
class Function {
 public:
  constexpr Function(char const* name, F body, location where)
      : body_(static_cast<F&&>(body)), name_(name), where_(where) {}

  template <class... X>
  constexpr auto operator()(X&&... arguments) const {
    static_assert((!detail::named_recipe<X> && ...), TEGULA_NAMED_RECIPE);
    if constexpr (!(detail::named_recipe<X> || ...))
      return with(std::tuple<decltype(bind(static_cast<X&&>(arguments)))...>{bind(static_cast<X&&>(arguments))...},
                  std::index_sequence_for<X...>());
  }

 private:
  // Returns an argument as the body sees it, or a result as the caller does: recipes become tiles.
  template <class X>
  static constexpr auto bind(X&& x) {
    if constexpr (detail::RecipeLike<X>)
      return detail::bound(static_cast<X&&>(x), x.where());
    else
      return detail::bound(static_cast<X&&>(x), {});
  }

  /// True if a call with these arguments becomes a call in the IR.
  template <class Result, class... X>
  static constexpr bool recorded() {
    constexpr bool traced = (detail::Entering<X>::traced || ...);
    if constexpr (inlining == trace::FunctionInline::unset)
      return traced && std::is_empty_v<F> && detail::TileLike<Result> && !detail::is_invalid<Result> &&
             ((detail::TileLike<X> || detail::ScalarLike<X>)&&...);
    else
      return traced && inlining == trace::FunctionInline::no;
  }

  template <class... X, std::size_t... at>
  constexpr auto with(std::tuple<X...> const& values, std::index_sequence<at...>) const {
    using Result = decltype(body_(std::get<at>(values)...));
    constexpr bool returns =
        std::is_void_v<Result> || detail::TileLike<Result> || detail::CarryLike<Result> || detail::Group<Result>;
    constexpr bool fits = returns || !recorded<Result, X...>();
    static_assert(
        fits,
        "function(..., noinline): the body must return nothing, a tile, a struct or tuple of tiles, or carry(...)");
    if constexpr (!fits)
      return;
    else if constexpr (recorded<Result, X...>())
      return call<Result>(std::get<at>(values)...);
    else if constexpr (std::is_void_v<Result>)
      body_(std::get<at>(values)...);
    else
      return bind(body_(std::get<at>(values)...));
  }

  template <class Result, class... X>
  auto call(X const&... values) const {
    auto& caller = trace::Recorder::current("function", where_);
    detail::PassedValues<X...> const passed(values...);
    trace::Recorder inside(caller, name_, where_);
    std::tuple<decltype(detail::Entering<X>::parameter(inside, values))...> const parameters{
        detail::Entering<X>::parameter(inside, values)...};
    if constexpr (std::is_void_v<Result>) {
      std::apply(body_, parameters);
      caller.call(inside, inlining, passed.handles, passed.count, {nullptr, 0});
    } else {
      using List = typename detail::CarriedBy<detail::bare<Result>>::type;
      auto&& result = std::apply(body_, parameters);
      detail::Recorded<detail::bare<Result>> const results(inside, result, where_);
      return detail::TilesFrom<List>::make(caller,
                                           caller.call(inside, inlining, passed.handles, passed.count, results.list()));
    }
  }

  [[no_unique_address]] F body_;
  char const* name_;
  location where_;
};

/// Makes a device function: `function(lambda)`, `function(lambda, noinline)`, `function("gelu", lambda, noinline)`. The
/// name helps readers of the IR; it does not have to be unique.
template <class F, trace::FunctionInline inlining = trace::FunctionInline::unset>
requires(!std::is_convertible_v<F, char const*>) constexpr Function<F, inlining> function(
    F body, Inlining<inlining> = {}, location where = location::current()) {
  return Function<F, inlining>("function", static_cast<F&&>(body), where);
}
template <class F, trace::FunctionInline inlining = trace::FunctionInline::unset>
constexpr Function<F, inlining> function(char const* name, F body, Inlining<inlining> = {},
                                         location where = location::current()) {
  return Function<F, inlining>(name, static_cast<F&&>(body), where);
}

}  // namespace tegula
