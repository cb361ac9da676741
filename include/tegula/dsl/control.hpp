// Provides statements with regions, loop, while_ and if_, the values they carry, and let.
#pragma once

#include <tuple>
#include <utility>

#include "tegula/dsl/create.hpp"
#include "tegula/dsl/members.hpp"
#include "tegula/support/pack.hpp"

namespace tegula {

namespace detail {

template <class... Tiles>
class Results;
template <class... X>
struct Carry;
template <class X>
inline constexpr bool is_carry = false;
template <class... X>
inline constexpr bool is_carry<Carry<X...>> = true;
template <class... Tiles>
inline constexpr bool is_carry<Results<Tiles...>> = true;

template <class X>
inline constexpr bool is_group = false;
template <class List>
inline constexpr bool all_carried = false;
template <class... X>
inline constexpr bool all_carried<TypeList<X...>> = sizeof...(X) > 0 && (((TileLike<X> && !RecipeLike<X>) ||
                                                                          ScalarLike<X> || is_group<X>)&&...);
template <class X>
inline constexpr bool is_tuple = requires {
  std::tuple_size<X>::value;
};
template <class X>
requires(std::is_class_v<X> && !Number<X> && !RecipeLike<X> && !is_carry<X> &&
         (std::is_aggregate_v<X> || is_tuple<X> || StatesMembers<X>)) inline constexpr bool is_group<X> = [] {
  if constexpr (has_listed_members<X>)
    return all_carried<decltype(member_types(std::declval<X&>()))>;
  else
    return false;
}();
/// Accepts a struct or tuple of tiles, scalars and such groups: it is carried, passed and returned as a whole.
template <class X>
concept Group = is_group<bare<X>>;

/// Accepts a value that a loop or branch carries: a tile, a recipe, a scalar, a number or a group of them.
template <class X>
concept Carryable = TileLike<X> || ScalarLike<X> || Number<X> || Group<X>;

/// Finds the type of a carried value in the body and in the result: a tile or a scalar.
template <class X>
struct HeldOf {
  using type = X;
};
template <Number X>
struct HeldOf<X> {
  using type = scalar<typename OwnElement<X>::type>;
};
template <ScalarLike X>
struct HeldOf<X> {
  using type = scalar<typename X::scalar_element>;
};
template <TileLike X>
struct HeldOf<X> {
  using type = tile<element_t<X>, shape_t<X>>;
};
template <class X>
using held_of = typename HeldOf<bare<X>>::type;

/// Accepts a struct or tuple that a loop does not carry, for the sentence.
template <class X>
concept NoGroup = std::is_class_v<X> && !Carryable<X> && !is_carry<X> &&
                  (std::is_aggregate_v<X> || is_tuple<X> || StatesMembers<X>)&&(BoundMembers<X>::value > 0);
/// Returns its first member that is not carried, or itself if its members are not known.
template <class X>
constexpr auto first_not_carried() {
  if constexpr (has_listed_members<X>)
    return first_not_carried(decltype(member_types(std::declval<X&>()))());
  else
    return TypeList<X>();
}
template <class X, class... Rest>
constexpr auto first_not_carried(TypeList<X, Rest...>) {
  if constexpr (all_carried<TypeList<X>>)
    return first_not_carried(TypeList<Rest...>());
  else
    return TypeList<X>();
}
// The compiler prints the type found below the sentence.
template <class Found>
inline constexpr bool is_carried = false;
template <class X>
requires(!is_made_of_members<X>) inline constexpr bool is_carried<TypeList<X>> = true;
#define TEGULA_CARRIED_GROUP                                                                                       \
  "a carried struct or tuple must have 1 to 32 members, which are tiles, scalars and such structs; numbers stand " \
  "beside it in carry(...)"

/// Counts the values of the IR that hold a carried value.
template <class X>
struct Width {
  static constexpr int value = 1;
};
template <class List>
struct WidthOfMembers;
template <class... X>
struct WidthOfMembers<TypeList<X...>> {
  static constexpr int value = (Width<X>::value + ...);
};
template <Group X>
struct Width<X> {
  static constexpr int value = WidthOfMembers<decltype(member_types(std::declval<X&>()))>::value;
};

/// Records a carried value and returns its id.
template <Carryable X>
requires(!Group<X>) trace::Id record_carried(trace::Recorder& recorder, X& x, location at) {
  if constexpr (TileLike<X>)
    return record_value(recorder, x, at);
  else
    return scalar_id<typename OwnElement<X>::type>(recorder, x, at);
}
/// Records a carried value, a group member by member, and appends the ids.
template <Carryable X>
void record_into(trace::Id*& ids, trace::Recorder& recorder, X& x, location at) {
  if constexpr (Group<X>)
    with_members(x, [&](auto&... members) { (record_into(ids, recorder, members, at), ...); });
  else
    *ids++ = record_carried(recorder, x, at);
}

/// Makes a carried value of its ids, which it takes off the list.
template <class X>
X taken_from(trace::Id const*& ids, trace::Recorder& recorder);
template <class X, class... Members>
X group_from(TypeList<Members...>, trace::Id const*& ids, trace::Recorder& recorder) {
  return X{taken_from<Members>(ids, recorder)...};
}
template <class X>
X taken_from(trace::Id const*& ids, trace::Recorder& recorder) {
  if constexpr (Group<X>)
    return group_from<X>(decltype(member_types(std::declval<X&>()))(), ids, recorder);
  else
    return X(recorder.handle(*ids++));
}

/// Holds the tiles that a loop or branch returns, for structured bindings.
template <class... Tiles>
class Results {
 public:
  constexpr explicit Results(Tiles const&... tiles) : items_{{tiles}...} {}
  template <std::size_t at>
  [[nodiscard]] constexpr auto get() const {
    return pack_item<at>(items_);
  }

 private:
  Pack<Tiles...> items_;
};

/// Holds values to carry; the recipes among them are not recorded yet.
template <class... X>
struct Carry {
  static constexpr int size = static_cast<int>(sizeof...(X));
  using results = Results<held_of<X>...>;
  Pack<X...> items;
};

/// Accepts several values: of carry(...), or the results of a loop or branch.
template <class X>
concept CarryLike = is_carry<bare<X>>;

/// Lists the types in which the values of a Carryable, Carry or void are held, for comparing inits and yields.
template <class... Tiles>
struct Carried {
  static constexpr int size = static_cast<int>(sizeof...(Tiles));
  static constexpr int ids = (Width<Tiles>::value + ... + 0);  ///< values of the IR
};
template <class X>
struct CarriedBy {
  using type = Carried<X>;
};
template <>
struct CarriedBy<void> {
  using type = Carried<>;
};
template <Carryable X>
struct CarriedBy<X> {
  using type = Carried<held_of<X>>;
};
template <class... X>
struct CarriedBy<Carry<X...>> {
  using type = Carried<held_of<X>...>;
};
template <class... Tiles>
struct CarriedBy<Results<Tiles...>> {
  using type = Carried<Tiles...>;
};

/// Records the values of a Carryable, Carry or Results in order and holds their ids; list() returns them.
template <class X>
struct Recorded {
  static constexpr int count = CarriedBy<X>::type::ids;
  trace::Id ids[count];
  template <class Values>
  Recorded(trace::Recorder& recorder, Values& values, location at) {
    trace::Id* next = ids;
    if constexpr (!is_carry<X>)
      record_into(next, recorder, values, at);
    else
      add(next, recorder, values, at, std::make_index_sequence<CarriedBy<X>::type::size>());
  }
  [[nodiscard]] trace::Ids list() const { return {ids, count}; }

 private:
  template <class... Values, std::size_t... at>
  static void add(trace::Id*& next, trace::Recorder& recorder, Carry<Values...>& values, location where,
                  std::index_sequence<at...>) {
    (record_into(next, recorder, pack_item<at>(values.items), where), ...);
  }
  template <class... Tiles, std::size_t... at>
  static void add(trace::Id*& next, trace::Recorder& recorder, Results<Tiles...> const& values, location where,
                  std::index_sequence<at...>) {
    auto const one = [&](auto tile) { record_into(next, recorder, tile, where); };
    (one(values.template get<at>()), ...);
  }
};

/// Names a value: recipes become tiles, left to right, and numbers in carry(...) scalars. Everything else stays as it
/// is.
template <class X>
constexpr auto bound(X&& x, [[maybe_unused]] location where) {
  if constexpr (RecipeLike<X>)
    return held_of<X>(static_cast<X&&>(x), where);
  else
    return static_cast<X&&>(x);
}
template <class... X, std::size_t... at>
auto bound(Carry<X...>& carry, location where, std::index_sequence<at...>) {
  auto& recorder = trace::Recorder::current("let", where);
  Recorded<Carry<X...>> const recorded(recorder, carry, where);
  trace::Id const* next = recorded.ids;
  return Results<held_of<X>...>{taken_from<held_of<X>>(next, recorder)...};
}
template <class... X>
auto bound(Carry<X...>&& carry, location where) {
  return bound(carry, where, std::index_sequence_for<X...>());
}

/// Makes carried values of consecutive ids, from `first` on (-1: of an error), or of a list of ids.
template <class List>
struct TilesFrom;
template <class... X>
struct TilesFrom<Carried<X...>> {
  static auto make(trace::Recorder& recorder, trace::Id first) {
    trace::Id ids[Carried<X...>::ids];
    for (trace::Id& id : ids) id = first < 0 ? first : first++;
    trace::Id const* next = ids;
    if constexpr (sizeof...(X) == 1)
      return taken_from<X...>(next, recorder);
    else
      return Results<X...>{taken_from<X>(next, recorder)...};
  }
  template <class Function, class... Further>
  static decltype(auto) call(Function& function, trace::Recorder& recorder, trace::Ids ids, Further... further) {
    [[maybe_unused]] trace::Id const* next = ids.first;
    std::tuple<X...> values{taken_from<X>(next, recorder)...};
    return std::apply([&](X const&... value) -> decltype(auto) { return function(further..., value...); }, values);
  }
};

template <class Body, class List>
struct BodyCall;
template <class Body, class... X>
struct BodyCall<Body, Carried<X...>> {
  static constexpr bool callable = requires(Body & body, scalar<std::int64_t> i, X... values) { body(i, values...); };
  static decltype(auto) call(Body& body, trace::Recorder& recorder) {
    trace::Id ids[Carried<X...>::ids + 1];
    for (int i = 0; i < Carried<X...>::ids; ++i) ids[i] = recorder.region_argument(i + 1);
    scalar<std::int64_t> const index(recorder.handle(recorder.region_argument(0)));
    return TilesFrom<Carried<X...>>::call(body, recorder, {ids, Carried<X...>::ids}, index);
  }
};

/// Holds the bounds and the step of a loop.
struct Range {
  trace::Coordinate lower, upper, step;
};
template <class C>
constexpr Range range_of(C const& count) {
  if constexpr (std::is_same_v<C, Range>)
    return count;
  else
    return {{}, coordinate(count), {{}, 1, false}};
}
template <class X>
inline constexpr bool is_hint = std::is_same_v<X, location>;
template <int depth, int distance, bool exact>
inline constexpr bool is_hint<Stages<depth, distance, exact>> = true;
template <int factor>
inline constexpr bool is_hint<Unroll<factor>> = true;
template <class C>
concept LoopCount = std::is_same_v<bare<C>, Range> || IntegerScalar<C> || Integer<C>;

}  // namespace detail

/// Carries several values through a loop or out of a branch: `carry(m, l * a, o)`.
template <class... X>
constexpr auto carry(X&&... values) {
  static_assert(sizeof...(X) > 0, "carry: at least one value must be given");
  static_assert((detail::Carryable<detail::bare<X>> && ...),
                "carry: a carried value must be a tile, an expression of tiles, a scalar, a number, or a struct or "
                "tuple of tiles");
  static_assert((!detail::named_recipe<X> && ...), TEGULA_NAMED_RECIPE);
  return detail::Carry<detail::bare<X>...>{{{static_cast<X&&>(values)}...}};
}

/// Returns the numbers lower, lower + step, ... below upper, for a loop. The step is positive. The launch checks a step
/// that its arguments decide, like a `require`. Three kinds of loops do not run where their step is 0 or less, and the
/// simulator reports it:
/// - a loop in a branch,
/// - a loop in a function of the IR,
/// - a loop whose step depends on the block or on another loop.
template <class A, class B, class C = std::int64_t>
constexpr detail::Range range(A const& lower, B const& upper, C const& step = 1) {
  return {detail::coordinate(lower), detail::coordinate(upper), detail::coordinate(step)};
}

/// Catches a count that is a tile or a float, for the sentence.
template <class C, detail::TileLike Init, class... Rest>
requires(!detail::LoopCount<C>) constexpr auto loop(C const&, Init&&, Rest&&...) {
  constexpr bool count_is_integer = detail::LoopCount<C>;
  static_assert(
      count_is_integer,
      "loop: the count must be an integer, an index expression or range(lower, upper, step); sum(x) and item(x, i) "
      "are scalars of tiles");
  return detail::Invalid<detail::element_t<Init>, detail::shape_t<Init>>();
}

/// Catches two bounds ahead of the carried value, for the sentence.
template <detail::LoopCount A, detail::LoopCount B, class Init, class Body, class... Hints>
requires(detail::TileLike<Init> || detail::CarryLike<Init>) constexpr auto loop(A const&, B const&, Init&&, Body&&,
                                                                                Hints&&...) {
  static_assert(detail::never<Init>,
                "loop: two bounds must be joined by range(lower, upper): loop(range(lower, upper), init, body)");
  if constexpr (detail::TileLike<Init>)
    return detail::Invalid<detail::element_t<Init>, detail::shape_t<Init>>();
  else
    return detail::TilesFrom<typename detail::CarriedBy<detail::bare<Init>>::type>::make(
        trace::Recorder::current("loop", {}), -1);
}

/// Catches a struct or tuple with a member that is not carried, for the sentence. Hints follow the body of a loop that
/// carries nothing.
template <detail::LoopCount C, class Init, class Body, class... Hints>
requires(detail::NoGroup<detail::bare<Init>> &&
         !detail::is_hint<detail::bare<Body>>) constexpr auto loop(C const&, Init&& init, Body&&, Hints&&...) {
  using X = detail::bare<Init>;
  static_assert(detail::is_carried<decltype(detail::first_not_carried<X>())>, "loop: " TEGULA_CARRIED_GROUP);
  static_assert(detail::is_made_of_members<X>, "loop: " TEGULA_MADE_OF_MEMBERS);
  return static_cast<Init&&>(init);
}

/// Runs a loop at run time: body(k, carried...) for k = 0, 1, ... count - 1 (or a range) is traced once. Its result is
/// carried to the next iteration. After the last one it is returned as the tile, scalar, struct or tuple of tiles
/// that it is. For carry(...) several values are returned, for structured bindings. Compile options override these
/// hints:
/// - `stages<n>` asks for circular buffers of that depth, or of as many stages as fit; wgmma products take 2 or more,
/// - `exactly(stages<n>)` for that depth, or an error,
/// - `stages<n, d>` for copies that begin d iterations ahead,
/// - `unroll<n>`, after them or alone, for code of n iterations at once.
template <detail::LoopCount C, class Init, class Body, int depth = 0, int distance = 0, bool exact = false,
          int factor = 0>
requires(detail::Carryable<detail::bare<Init>> ||
         detail::CarryLike<Init>) auto loop(C const& count, Init&& init, Body&& body,
                                            Stages<depth, distance, exact> = {}, Unroll<factor> = {},
                                            location where = location::current()) {
  using List = typename detail::CarriedBy<detail::bare<Init>>::type;
  using Call = detail::BodyCall<std::remove_reference_t<Body>, List>;
  constexpr bool used_once = !detail::named_recipe<Init>;
  constexpr bool callable = Call::callable;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(callable, "loop: the body must take the index and one argument for each carried value");
  auto& recorder = trace::Recorder::current("loop", where);
  if constexpr (callable && used_once) {
    using Result = detail::bare<decltype(Call::call(body, recorder))>;
    using Returned = typename detail::CarriedBy<Result>::type;
    constexpr bool carries = detail::Carryable<Result> || detail::CarryLike<Result>;
    constexpr bool same_count = !carries || Returned::size == List::size;
    constexpr bool same = std::is_same_v<Returned, List>;
    constexpr bool tile_for_number =
        carries && same_count && detail::TileLike<Result> && !detail::TileLike<Init> && !detail::Group<Init>;
    constexpr bool same_types = !carries || !same_count || same || tile_for_number || detail::is_invalid<Result>;
    static_assert(!tile_for_number || detail::is_invalid<Result>,
                  "loop: the body returns a tile, so the initial value must be a tile: begin with full(shape<...>, x)");
    static_assert(
        carries, "loop: the body must return the carried values of the next iteration: one, or carry(...) for several");
    static_assert(same_count, "loop: the body must return as many values as the loop carries");
    static_assert(
        same_types,
        "loop: the body must return the element and shape that the loop carries; the carried value keeps its type "
        "in every iteration");
    if constexpr (same) {
      detail::Range const range = detail::range_of(count);
      trace::Id const lower = recorder.index_value(range.lower, where);
      trace::Id const upper = recorder.index_value(range.upper, where);
      trace::Id const step = recorder.index_value(range.step, where);
      detail::Recorded<detail::bare<Init>> const inits(recorder, init, where);
      recorder.begin_loop(lower, upper, step, inits.list(), {depth, distance, factor, exact}, where);
      while (recorder.enters()) {
        auto&& result = Call::call(body, recorder);
        detail::Recorded<Result> const yields(recorder, result, where);
        if (!recorder.again(yields.list()))
          return detail::TilesFrom<List>::make(recorder, recorder.end_loop(yields.list()));
      }
      return detail::TilesFrom<List>::make(recorder, recorder.end_loop(inits.list()));
    } else if constexpr (tile_for_number) {
      return detail::Invalid<detail::element_t<Result>, detail::shape_t<Result>>();
    } else {
      return detail::TilesFrom<List>::make(recorder, -1);
    }
  } else {
    return detail::TilesFrom<List>::make(recorder, -1);
  }
}
template <detail::LoopCount C, class Init, class Body>
requires(detail::Carryable<detail::bare<Init>> || detail::CarryLike<Init>) auto loop(C const& count, Init&& init,
                                                                                     Body&& body, location where) {
  return loop(count, static_cast<Init&&>(init), body, Stages<0>(), Unroll<0>(), where);
}
template <detail::LoopCount C, class Init, class Body, int factor>
requires(detail::Carryable<detail::bare<Init>> ||
         detail::CarryLike<Init>) auto loop(C const& count, Init&& init, Body&& body, Unroll<factor> unrolled,
                                            location where = location::current()) {
  return loop(count, static_cast<Init&&>(init), body, Stages<0>(), unrolled, where);
}

/// Runs a loop that carries nothing and works by its stores.
template <detail::LoopCount C, class Body, int depth = 0, int distance = 0, bool exact = false, int factor = 0>
requires(!detail::Carryable<detail::bare<Body>> &&
         !detail::CarryLike<Body>) void loop(C const& count, Body&& body, Stages<depth, distance, exact> = {},
                                             Unroll<factor> = {}, location where = location::current()) {
  using Call = detail::BodyCall<std::remove_reference_t<Body>, detail::Carried<>>;
  static_assert(Call::callable, "loop: without carried values the body must take the index alone");
  if constexpr (Call::callable) {
    auto& recorder = trace::Recorder::current("loop", where);
    detail::Range const range = detail::range_of(count);
    trace::Id const lower = recorder.index_value(range.lower, where);
    trace::Id const upper = recorder.index_value(range.upper, where);
    trace::Id const step = recorder.index_value(range.step, where);
    recorder.begin_loop(lower, upper, step, {nullptr, 0}, {depth, distance, factor, exact}, where);
    static_assert(
        std::is_void_v<decltype(Call::call(body, recorder))>,
        "loop: a returned value is carried, so the loop must have its initial value: loop(count, init, body)");
    if (recorder.enters()) {
      do Call::call(body, recorder);
      while (recorder.again({nullptr, 0}));
    }
    recorder.end_loop({nullptr, 0});
  }
}
template <detail::LoopCount C, class Body, int factor>
requires(!detail::Carryable<detail::bare<Body>> &&
         !detail::CarryLike<Body>) void loop(C const& count, Body&& body, Unroll<factor> unrolled,
                                             location where = location::current()) {
  loop(count, body, Stages<0>(), unrolled, where);
}

/// Runs a loop at run time as long as a condition holds. condition(carried...) returns a bool scalar;
/// body(carried...) returns the carried values of the next iteration. Both take one argument for each value of `init`.
/// A value is a tile, a scalar, a number, or a struct or tuple of tiles and scalars; carry(...) holds several. The
/// condition is tested before each iteration; after it fails, the carried values are the result. A loop that ends early
/// carries the scalar that decides it: `while_(carry(x, 0, flag), [&](auto, auto k, auto go) { return (k < n) & go; },
/// ...)`.
template <class Init, class Condition, class Body>
requires(detail::Carryable<detail::bare<Init>> ||
         detail::CarryLike<Init>) auto while_(Init&& init, Condition&& condition, Body&& body,
                                              location where = location::current()) {
  using List = typename detail::CarriedBy<detail::bare<Init>>::type;
  using From = detail::TilesFrom<List>;
  constexpr bool used_once = !detail::named_recipe<Init>;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  using Tested =
      detail::bare<decltype(From::call(condition, trace::Recorder::current("", where), trace::Ids(nullptr, 0)))>;
  using Result = detail::bare<decltype(From::call(body, trace::Recorder::current("", where), trace::Ids(nullptr, 0)))>;
  constexpr bool tests = std::is_same_v<detail::scalar_element_t<Tested>, bool>;
  constexpr bool same = std::is_same_v<typename detail::CarriedBy<Result>::type, List>;
  static_assert(
      tests,
      "while_: the condition must return a comparison of scalars; any(x), all(x) and item(x) make one of a mask");
  static_assert(
      same, "while_: the body must return the values that the loop carries: their number, elements and shapes stay");
  auto& recorder = trace::Recorder::current("while_", where);
  if constexpr (used_once && tests && same) {
    detail::Recorded<detail::bare<Init>> const inits(recorder, init, where);
    recorder.begin_if(recorder.use(From::call(condition, recorder, inits.list()).handle(), where), where);
    trace::Id results[List::ids] = {};
    bool const runs = recorder.takes(true);
    if (runs) {
      recorder.begin_repeat(inits.list(), where);
      trace::Id arguments[List::ids];
      for (int i = 0; i < List::ids; ++i) arguments[i] = recorder.region_argument(i);
      for (bool more = true; more;) {
        auto&& next = From::call(body, recorder, {arguments, List::ids});
        detail::Recorded<Result> const yields(recorder, next, where);
        trace::Id const again = recorder.use(From::call(condition, recorder, yields.list()).handle(), where);
        more = recorder.again(again, yields.list());
        if (!more) results[0] = recorder.end_repeat(again, yields.list());
      }
      for (int i = 1; i < List::ids; ++i) results[i] = results[0] + i;
    }
    recorder.begin_else({results, runs ? List::ids : 0});
    return From::make(recorder, recorder.end_if(inits.list()));
  } else {
    return From::make(recorder, -1);
  }
}

/// Catches a struct or tuple with a member that is not carried, for the sentence.
template <class Init, class Condition, class Body>
requires detail::NoGroup<detail::bare<Init>>
constexpr auto while_(Init&& init, Condition&&, Body&&) {
  using X = detail::bare<Init>;
  static_assert(detail::is_carried<decltype(detail::first_not_carried<X>())>, "while_: " TEGULA_CARRIED_GROUP);
  static_assert(detail::is_made_of_members<X>, "while_: " TEGULA_MADE_OF_MEMBERS);
  return static_cast<Init&&>(init);
}

/// Branches at run time, the whole block at once: both lambdas are traced, one runs. Both return nothing, or both
/// return values of the same elements and shapes, which the statement returns. The values are one, a struct or tuple of
/// tiles, or carry(...).
template <class C, class Then, class Else>
auto if_(C const& condition, Then&& then_branch, Else&& else_branch, location where = location::current()) {
  constexpr bool traced = std::is_same_v<detail::scalar_element_t<C>, bool>;
  static_assert(
      traced,
      "if_: the condition must be a comparison of index expressions or arguments; any(x), all(x) and item(x) make "
      "one of a mask; plain if takes C++ values, select takes masks");
  using A = detail::bare<decltype(then_branch())>;
  using B = detail::bare<decltype(else_branch())>;
  using List = typename detail::CarriedBy<A>::type;
  constexpr bool same = std::is_same_v<List, typename detail::CarriedBy<B>::type>;
  constexpr bool returns = detail::Carryable<A> || detail::CarryLike<A> || std::is_void_v<A>;
  static_assert(returns, "if_: a branch must return nothing, a tile, a scalar or carry(...)");
  static_assert(!returns || same, "if_: both branches must return values of the same elements and shapes, or nothing");
  auto& recorder = trace::Recorder::current("if_", where);
  if constexpr (traced && returns && same) {
    recorder.begin_if(recorder.use(condition.handle(), where), where);
    if constexpr (std::is_void_v<A>) {
      if (recorder.takes(true)) then_branch();
      recorder.begin_else({nullptr, 0});
      if (recorder.takes(false)) else_branch();
      recorder.end_if({nullptr, 0});
    } else {
      if (recorder.takes(true)) {
        auto&& a = then_branch();
        detail::Recorded<A> const values(recorder, a, where);
        recorder.begin_else(values.list());
      } else {
        recorder.begin_else({nullptr, 0});
      }
      if (!recorder.takes(false)) return detail::TilesFrom<List>::make(recorder, recorder.end_if({nullptr, 0}));
      auto&& b = else_branch();
      detail::Recorded<B> const values(recorder, b, where);
      return detail::TilesFrom<List>::make(recorder, recorder.end_if(values.list()));
    }
  } else if constexpr (returns && !std::is_void_v<A>) {
    return detail::TilesFrom<List>::make(recorder, -1);
  }
}
/// Runs a branch that works by its stores.
template <class C, class Then>
void if_(C const& condition, Then&& then_branch, location where = location::current()) {
  static_assert(std::is_void_v<decltype(then_branch())>, "if_: a branch that returns a value must have an else branch");
  if_(
      condition, static_cast<Then&&>(then_branch), [] {}, where);
}

/// Names an intermediate value in generic code. Records a recipe, or those of carry(...) for structured bindings;
/// passes tiles, scalars and host values on.
template <class X>
constexpr auto let(X&& x, [[maybe_unused]] location where = location::current()) {
  static_assert(!detail::named_recipe<X>, TEGULA_NAMED_RECIPE);
  if constexpr (detail::named_recipe<X>)
    return detail::Invalid<detail::element_t<X>, detail::shape_t<X>>();
  else
    return detail::bound(static_cast<X&&>(x), where);
}

}  // namespace tegula

namespace std {
template <class... Tiles>
struct tuple_size<tegula::detail::Results<Tiles...>> : integral_constant<size_t, sizeof...(Tiles)> {};
template <size_t at, class... Tiles>
struct tuple_element<at, tegula::detail::Results<Tiles...>> : tuple_element<at, tuple<Tiles...>> {};
}  // namespace std
