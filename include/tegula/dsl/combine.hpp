// Reduces and scans tiles by the user's combiner, a C++ callable that is recorded on tiles.
//
// Elements are joined in the order of Order::pairwise: adjacent pairs first, an odd last one carried up. A scan joins
// groups of four one after another, and their totals by pairs. So a combiner has to be associative and may depend on
// the order of its arguments. Few steps exchange elements between threads: shape ops part the pairs and groups of a
// thread. The rest trades places by butterflies, which leave the elements where they are.
#pragma once

#include "tegula/dsl/control.hpp"
#include "tegula/dsl/scan.hpp"

namespace tegula {

namespace detail {

/// Lists tiles of one shape; `holds` is false for other lists.
template <class List>
struct TileList {
  static constexpr bool holds = false;
};
template <class... T, class S>
struct TileList<Carried<tile<T, S>...>> {
  static constexpr bool holds = true;
  static constexpr int count = static_cast<int>(sizeof...(T));
  static constexpr Element elements[sizeof...(T)] = {element_of<T>::value...};
  using shape = S;
  template <class Other>
  using with_shape = Carried<tile<T, Other>...>;
};

/// Returns one of the values that stand for a list: of carry(...), of results, or the single one.
template <std::size_t at, class X>
constexpr decltype(auto) listed(X& x) {
  if constexpr (!CarryLike<X>)
    return (x);
  else if constexpr (requires { x.items; })
    return pack_item<at>(x.items);
  else
    return x.template get<at>();
}

template <class S, int axis, std::int64_t extent>
struct WithExtent {
  static constexpr Extents extents = [] {
    Extents result = S::list;
    result[axis] = extent;
    return result;
  }();
};
template <class S, int axis, std::int64_t extent>
using with_extent = shape_from<WithExtent<S, axis, extent>>;

/// Holds the ids of several tiles.
template <int count>
struct Bundle {
  trace::Id at[count];
};

/// Calls a combiner on tiles of one shape.
template <class F, class List>
struct CombinerCall;
template <class F, class... Tiles>
struct CombinerCall<F, Carried<Tiles...>> {
  static constexpr bool callable = requires(F & f, Tiles... first, Tiles... second) { f(first..., second...); };
  template <int count>
  static decltype(auto) call(F& f, trace::Recorder& recorder, Bundle<count> const& first, Bundle<count> const& second) {
    return call(f, recorder, first, second, std::index_sequence_for<Tiles...>());
  }
  template <int count, std::size_t... at>
  static decltype(auto) call(F& f, trace::Recorder& recorder, Bundle<count> const& first, Bundle<count> const& second,
                             std::index_sequence<at...>) {
    return f(Tiles(recorder.handle(first.at[at]))..., Tiles(recorder.handle(second.at[at]))...);
  }
};

/// Records steps along one axis of tiles.
struct AxisSteps {
  trace::Recorder& recorder;
  location where;
  int axis;

  [[nodiscard]] ir::Type with(ir::Type const& type, std::int64_t extent) const {
    Extents shape = type.shape();
    shape[axis] = extent;
    return type.with_shape(shape);
  }
  trace::Id number(std::int64_t value, ir::Type const& type) const {
    return recorder.constant({trace::Literal::Kind::integer, value, 0}, type, where);
  }
  /// Returns a tile `extent` elements along the axis: the first ones, or all and anything behind them.
  [[nodiscard]] trace::Id resized(trace::Id x, std::int64_t extent) const {
    ir::Type const type = recorder.type(x);
    return type.shape()[axis] == extent ? x : recorder.emit(ir::ResizeOp{}, {x}, with(type, extent), where);
  }
  /// Takes element `which` of each `group` elements.
  [[nodiscard]] trace::Id one_of(trace::Id x, ir::Type const& type, std::int64_t group, std::int64_t which) const {
    std::int64_t const groups = type.shape()[axis] / group;
    Extents shape = with(type, groups).shape(), offsets;
    shape.insert(axis + 1, group);
    trace::Id const parted = recorder.emit(ir::ReshapeOp{}, {x}, type.with_shape(shape), where);
    for (int i = 0; i < shape.size(); ++i) offsets.push_back(i == axis + 1 ? which : 0);
    shape[axis + 1] = 1;
    trace::Id const part = recorder.emit(ir::make_op<ir::ExtractOp>(offsets), {parted}, type.with_shape(shape), where);
    return recorder.emit(ir::make_op<ir::SqueezeOp>(Extents{axis + 1}), {part}, with(type, groups), where);
  }
  /// Undoes one_of: the parts' elements by turns.
  [[nodiscard]] trace::Id by_turns(trace::Id const* parts, int count, ir::Type const& type) const {
    Extents shape = type.shape();
    shape.insert(axis + 1, 1);
    trace::Id joined[4];
    for (int i = 0; i < count; ++i)
      joined[i] =
          recorder.emit(ir::make_op<ir::ExpandDimsOp>(Extents{axis + 1}), {parts[i]}, type.with_shape(shape), where);
    for (int left = count; left > 1; left /= 2) {
      shape[axis + 1] *= 2;
      for (int i = 0; i < left / 2; ++i)
        joined[i] = recorder.emit(ir::make_op<ir::ConcatenateOp>(std::int64_t{axis + 1}),
                                  {joined[2 * i], joined[2 * i + 1]}, type.with_shape(shape), where);
    }
    return recorder.emit(ir::ReshapeOp{}, {joined[0]}, with(type, type.shape()[axis] * count), where);
  }
  [[nodiscard]] trace::Id butterfly(trace::Id x, ir::Type const& type, std::int64_t stride) const {
    return recorder.emit(ir::make_op<ir::ButterflyOp>(std::int64_t{axis}, stride), {x}, type, where);
  }
  /// Extracts one element of a tile whose elements are all equal.
  [[nodiscard]] trace::Id first_of_equal(trace::Id x, ir::Type const& type) const {
    Extents offsets;
    for (int i = 0; i < type.rank(); ++i) offsets.push_back(0);
    return recorder.emit(ir::make_op<ir::ExtractOp>(offsets, true), {x}, with(type, 1), where);
  }
  /// Returns the coordinates along the axis, as i32 of a tile of that type's shape.
  [[nodiscard]] trace::Id places(ir::Type const& type) const {
    return recorder.emit(ir::make_op<ir::IotaOp>(std::int64_t{axis}), {}, type.with_element(Element::i32), where);
  }
  template <class Op>
  trace::Id with_number(Op const& op, trace::Id x, std::int64_t value) const {
    ir::Type const type = recorder.type(x);
    return recorder.emit(op, {x, number(value, type)}, type, where);
  }
  [[nodiscard]] trace::Id compared(trace::Id x, ir::Predicate predicate, std::int64_t value) const {
    ir::Type const type = recorder.type(x);
    return recorder.emit(ir::make_op<ir::CompareOp>(predicate), {x, number(value, type)},
                         type.with_element(Element::boolean), where);
  }
  /// Returns a mask: true where (place & bits) is not 0.
  [[nodiscard]] trace::Id any_bit(ir::Type const& type, std::int64_t bits) const {
    return compared(with_number(ir::AndOp{}, places(type), bits), ir::Predicate::ne, 0);
  }
  /// Returns a mask: true where scale * place + offset is below `limit`.
  [[nodiscard]] trace::Id below(ir::Type const& type, std::int64_t scale, std::int64_t offset,
                                std::int64_t limit) const {
    return compared(with_number(ir::AddOp{}, with_number(ir::MulOp{}, places(type), scale), offset), ir::Predicate::lt,
                    limit);
  }
  /// Returns a mask: true where the upper of the two blocks of `stride` elements around a place begins below `limit`.
  [[nodiscard]] trace::Id upper_below(ir::Type const& type, std::int64_t stride, std::int64_t limit) const {
    trace::Id const upper = with_number(ir::OrOp{}, places(type), stride);
    return compared(with_number(ir::AndOp{}, upper, -stride), ir::Predicate::lt, limit);
  }
  template <int count>
  Bundle<count> select(trace::Id mask, Bundle<count> const& a, Bundle<count> const& b) const {
    Bundle<count> result;
    for (int i = 0; i < count; ++i)
      result.at[i] = recorder.emit(ir::SelectOp{}, {mask, a.at[i], b.at[i]}, recorder.type(a.at[i]), where);
    return result;
  }
  /// Records a step that returns a tile for each tile: step(id, type).
  template <int count, class Step>
  Bundle<count> each(Bundle<count> const& tiles, Step step) const {
    Bundle<count> result;
    for (int i = 0; i < count; ++i) result.at[i] = step(tiles.at[i], recorder.type(tiles.at[i]));
    return result;
  }
};

constexpr std::int64_t whole_power(std::int64_t extent) {
  std::int64_t power = 1;
  while (power < extent) power *= 2;
  return power;
}

/// Combines tiles of the list's elements along an axis of shape S.
template <class F, class List, class S, int axis>
struct Combination {
  static constexpr int count = List::count;
  static constexpr std::int64_t extent = S::list[axis];
  static constexpr std::int64_t whole = whole_power(extent);  ///< the extent with elements behind the tile's
  static constexpr bool ragged = whole != extent;
  /// Counts the adjacent elements that are joined first; a tile of 8 axes cannot be parted.
  static constexpr std::int64_t group = S::rank == max_rank ? 1 : whole < 4 ? whole : 4;
  static constexpr std::int64_t groups = whole / group;
  using Tiles = Bundle<count>;

  F& f;
  AxisSteps const& steps;

  template <std::int64_t length>
  Tiles call(Tiles const& first, Tiles const& second) const {
    using Call = CombinerCall<F, typename List::template with_shape<with_extent<S, axis, length>>>;
    auto&& result = Call::call(f, steps.recorder, first, second);
    Recorded<bare<decltype(result)>> const recorded(steps.recorder, result, steps.where);
    Tiles ids;
    for (int i = 0; i < count; ++i) ids.at[i] = recorded.list().first[i];
    return ids;
  }
  [[nodiscard]] Tiles part(Tiles const& tiles, std::int64_t of, std::int64_t which) const {
    return steps.each(tiles, [&](trace::Id x, ir::Type const& type) { return steps.one_of(x, type, of, which); });
  }
  [[nodiscard]] ir::Type type_of(Tiles const& tiles) const { return steps.recorder.type(tiles.at[0]); }
  [[nodiscard]] Tiles lengthened(Tiles const& tiles) const {
    return steps.each(tiles, [&](trace::Id x, ir::Type const&) { return steps.resized(x, whole); });
  }
  [[nodiscard]] Tiles neighbours(Tiles const& tiles, std::int64_t stride) const {
    return steps.each(tiles, [&](trace::Id x, ir::Type const& type) { return steps.butterfly(x, type, stride); });
  }

  /// Joins adjacent pairs of a tile of `length` places, each of which stands for whole / length elements.
  template <std::int64_t length>
  Tiles pairs(Tiles const& tiles) const {
    Tiles const first = part(tiles, 2, 0), second = part(tiles, 2, 1);
    Tiles const both = call<length / 2>(first, second);
    constexpr std::int64_t unit = whole / length;
    if (!ragged || (length - 1) * unit < extent) return both;
    return steps.select(steps.below(type_of(both), 2 * unit, unit, extent), both, first);
  }

  /// Returns the total of all elements, with extent 1.
  [[nodiscard]] Tiles total(Tiles const& tiles) const {
    Tiles all = lengthened(tiles);
    if constexpr (group >= 2) all = pairs<whole>(all);
    if constexpr (group >= 4) all = pairs<whole / 2>(all);
    if constexpr (groups == 1) return all;
    for (std::int64_t stride = 1; stride < groups; stride *= 2) {
      Tiles const other = neighbours(all, stride);
      trace::Id const is_upper = steps.any_bit(type_of(all), stride);
      Tiles const lower = steps.select(is_upper, other, all);
      Tiles const both = call<groups>(lower, steps.select(is_upper, all, other));
      all = ragged ? steps.select(steps.upper_below(type_of(all), stride, (extent + group - 1) / group), both, lower)
                   : both;
    }
    return steps.each(all, [&](trace::Id x, ir::Type const& type) { return steps.first_of_equal(x, type); });
  }

  /// Joins each element with those ahead of it, or behind it, after `init`, whose extent along the axis is `groups`.
  [[nodiscard]] Tiles scanned(Tiles const& tiles, Tiles const& init, bool leaves_out_own, bool backwards) const {
    Tiles const all = lengthened(tiles);
    Tiles own[group] = {}, joined[group] = {};  // own elements of all groups, and with those ahead in the group
    for (int i = 0; i < group; ++i) own[i] = group == 1 ? all : part(all, group, i);
    auto const at = [&](int i) { return backwards ? static_cast<int>(group) - 1 - i : i; };
    ir::Type const type = type_of(own[0]);
    // In reverse, places behind the tile come first: they are left out.
    auto const inside = [&](Tiles const& with, Tiles const& without, int place) {
      return ragged && backwards ? steps.select(steps.below(type, group, place, extent), with, without) : with;
    };
    joined[at(0)] = own[at(0)];
    for (int i = 1; i < group; ++i)
      joined[at(i)] = inside(call<groups>(joined[at(i - 1)], own[at(i)]), own[at(i)], at(i - 1));
    Tiles const ahead = before_groups(joined[at(static_cast<int>(group) - 1)], init, backwards);

    Tiles result[group] = {};
    for (int i = 0; i < group; ++i) {
      if (!leaves_out_own)
        result[at(i)] = call<groups>(ahead, joined[at(i)]);
      else
        result[at(i)] = i == 0 ? ahead : inside(call<groups>(ahead, joined[at(i - 1)]), ahead, at(i - 1));
    }
    Tiles whole_tiles;
    for (int v = 0; v < count; ++v) {
      trace::Id parts[group];
      for (int i = 0; i < group; ++i) parts[i] = result[i].at[v];
      ir::Type const part_type = steps.recorder.type(parts[0]);
      trace::Id const together = group == 1 ? parts[0] : steps.by_turns(parts, static_cast<int>(group), part_type);
      whole_tiles.at[v] = steps.resized(together, extent);
    }
    return whole_tiles;
  }

 private:
  /// Returns for each group the total of those ahead, after `init`.
  [[nodiscard]] Tiles before_groups(Tiles totals, Tiles const& init, bool backwards) const {
    if constexpr (groups == 1) return init;
    ir::Type const type = type_of(totals);
    constexpr std::int64_t last = (extent + group - 1) / group;  // groups that have elements
    Tiles before = totals;                                       // of the block so far; anything where that is nothing
    for (std::int64_t stride = 1; stride < groups; stride *= 2) {
      Tiles const other = neighbours(totals, stride);
      trace::Id const is_upper = steps.any_bit(type, stride);
      if (stride == 1) {
        before = other;
      } else {
        // Places that have something ahead in the block so far: not its first, in reverse not its last.
        trace::Id const some = backwards ? not_last(type, stride, last) : steps.any_bit(type, stride - 1);
        Tiles const more = steps.select(some, call<groups>(other, before), other);
        Tiles const ahead_is_empty = before;
        before = backwards ? steps.select(is_upper, before, more) : steps.select(is_upper, more, before);
        if (ragged && backwards) before = steps.select(steps.upper_below(type, stride, last), before, ahead_is_empty);
      }
      if (2 * stride == groups) break;
      Tiles const lower = steps.select(is_upper, other, totals), upper = steps.select(is_upper, totals, other);
      Tiles const both = backwards ? call<groups>(upper, lower) : call<groups>(lower, upper);
      totals = ragged && backwards ? steps.select(steps.upper_below(type, stride, last), both, lower) : both;
    }
    trace::Id const some = backwards ? steps.below(type, 1, 1, last) : steps.any_bit(type, groups - 1);
    return steps.select(some, call<groups>(init, before), init);
  }
  /// Returns a mask: true for places that have a next one in their block, with elements in it.
  [[nodiscard]] trace::Id not_last(ir::Type const& type, std::int64_t block, std::int64_t groups_with_elements) const {
    trace::Id const within =
        steps.compared(steps.with_number(ir::AndOp{}, steps.places(type), block - 1), ir::Predicate::ne, block - 1);
    if (!ragged) return within;
    trace::Id const exists = steps.below(type, 1, 1, groups_with_elements);
    return steps.recorder.emit(ir::AndOp{}, {within, exists}, type.with_element(Element::boolean), steps.where);
  }
};

/// Tells whether an initial tile has its tile's element, and extents that broadcast to the result's. Numbers are
/// checked where they are recorded.
template <class Tiles, class Result, class Init, std::size_t at>
constexpr bool initial_tile_fits() {
  using Part = bare<decltype(listed<at>(std::declval<Init&>()))>;
  if constexpr (!TileLike<Part> || is_invalid<Part>)
    return true;
  else
    return element_of<element_t<Part>>::value == Tiles::elements[at] &&
           broadcasts(shape_t<Part>::list, Result::extents) &&
           broadcast_extents(shape_t<Part>::list, Result::extents) == Result::extents;
}
template <class Tiles, class Result, class Init, std::size_t... at>
constexpr bool initial_tiles_fit(std::index_sequence<at...>) {
  return (initial_tile_fits<Tiles, Result, Init, at>() && ...);
}

/// Checks the operands of a reduction or scan by a combiner, and holds their types.
template <class X, class Init, class F, int... along>
struct Combining {
  using List = typename CarriedBy<bare<X>>::type;
  using Tiles = TileList<List>;
  static constexpr bool tiles = Tiles::holds || is_invalid<X>;
  static constexpr bool used_once = !named_recipe<X> && !named_recipe<Init>;
  static constexpr int rank = [] {
    if constexpr (Tiles::holds)
      return Tiles::shape::rank;
    else
      return 0;
  }();
  static constexpr Extents axes = sorted_axes({along...}, rank);
  static constexpr bool on_axes = !tiles || is_invalid<X> || !axes.empty();
  static constexpr bool same_count = [] {
    if constexpr (!Tiles::holds)
      return true;
    else if constexpr (CarryLike<Init>)
      return CarriedBy<bare<Init>>::type::size == Tiles::count;
    else
      return Tiles::count == 1;
  }();
  static constexpr bool initial_fits = [] {
    if constexpr (!Tiles::holds || !on_axes || !same_count)
      return true;
    else
      return initial_tiles_fit<Tiles, Reduced<typename Tiles::shape, along...>, bare<Init>>(
          std::make_index_sequence<Tiles::count>());
  }();
  static constexpr bool sound_operands = Tiles::holds && used_once && on_axes && same_count && initial_fits;
  static constexpr bool callable = [] {
    if constexpr (sound_operands)
      return CombinerCall<F, List>::callable;
    else
      return true;
  }();
  static constexpr bool gives_same = [] {
    if constexpr (sound_operands && callable) {
      using Result = bare<decltype(CombinerCall<F, List>::call(std::declval<F&>(), std::declval<trace::Recorder&>(),
                                                               std::declval<Bundle<Tiles::count> const&>(),
                                                               std::declval<Bundle<Tiles::count> const&>()))>;
      return std::is_same_v<typename CarriedBy<Result>::type, List>;
    } else {
      return true;
    }
  }();
  static constexpr bool sound = sound_operands && callable && gives_same;

  static constexpr void check() {
    static_assert(used_once, TEGULA_NAMED_RECIPE);
    static_assert(tiles, "a combiner must join the elements of a tile, or of carry(...) of tiles of one shape");
    static_assert(on_axes, "a combiner must work along axes that the tiles have, each named once");
    static_assert(same_count, "the initial value must have one part for each tile: carry(...) for several");
    static_assert(initial_fits,
                  "an initial tile must have its tile's element, and its shape with extent 1 along the axes");
    static_assert(callable,
                  "the combiner must take two elements: for several tiles, those of the first, then of the second");
    static_assert(
        gives_same,
        "the combiner must return as many values as there are tiles, each of its tile's element and shape: one, or "
        "carry(...) for several");
  }
};

/// Records an initial value as tiles of shape S: each part is a number, a scalar, or a tile that broadcasts to it.
template <class List, class S, class Init>
struct InitialTiles;
template <class... T, class From, class S, class Init>
struct InitialTiles<Carried<tile<T, From>...>, S, Init> {
  template <class Element, class Part>
  static trace::Id record_part(trace::Recorder& recorder, Part&& part, location where) {
    if constexpr (!TileLike<Part>) {
      constexpr Problem problem = scalar_problem<Element, Part>();
      check_operands<problem, Part, Element>();
      if constexpr (problem != Problem::none) return -1;
    }
    auto&& held = stored(part);
    return record_as<Element, S>(recorder, held, where);
  }
  static Bundle<sizeof...(T)> record(trace::Recorder& recorder, Init& init, location where) {
    return record(recorder, init, where, std::index_sequence_for<T...>());
  }
  template <std::size_t... at>
  static Bundle<sizeof...(T)> record(trace::Recorder& recorder, Init& init, location where,
                                     std::index_sequence<at...>) {
    return {{record_part<T>(recorder, listed<at>(init), where)...}};
  }
};

template <class List, class S>
auto tiles_of(trace::Recorder& recorder, Bundle<TileList<List>::count> const& ids) {
  return [&]<class... T, class From>(Carried<tile<T, From>...>) {
    return [&]<std::size_t... at>(std::index_sequence<at...>) {
      if constexpr (sizeof...(T) == 1)
        return (tile<T, S>(recorder.handle(ids.at[at])), ...);
      else
        return Results<tile<T, S>...>(tile<T, S>(recorder.handle(ids.at[at]))...);
    }
    (std::index_sequence_for<T...>());
  }(List());
}

template <class List, class X>
Bundle<TileList<List>::count> recorded_tiles(trace::Recorder& recorder, X& x, location where) {
  Recorded<bare<X>> const recorded(recorder, x, where);
  Bundle<TileList<List>::count> ids;
  for (int i = 0; i < TileList<List>::count; ++i) ids.at[i] = recorded.list().first[i];
  return ids;
}

template <class Check, class S, int left, class F>
auto total_along_axes(trace::Recorder& recorder, F& f, Bundle<Check::Tiles::count> const& tiles, location where) {
  if constexpr (left == 0) {
    return tiles;
  } else {
    constexpr auto axis = static_cast<int>(Check::axes[left - 1]);
    AxisSteps const steps{recorder, where, axis};
    auto const total = Combination<F, typename Check::Tiles, S, axis>{f, steps}.total(tiles);
    return total_along_axes<Check, with_extent<S, axis, 1>, left - 1>(recorder, f, total, where);
  }
}

/// Stands for several tiles after an error.
template <int count>
struct InvalidResults {
  template <std::size_t>
  [[nodiscard]] constexpr auto get() const {
    return Invalid<float, Shape<1>>();
  }
};
/// Stands for the result of a refused reduction or scan.
template <class X>
constexpr auto refused_combination() {
  if constexpr (TileLike<X>)
    return Invalid<element_t<X>, shape_t<X>>();
  else
    return InvalidResults<CarriedBy<bare<X>>::type::size>();
}

template <class X>
concept Combined = TileLike<X> || CarryLike<X>;
template <class X>
concept Initial = Number<X> || ScalarLike<X> || TileLike<X> || CarryLike<X>;

}  // namespace detail

/// Joins elements along axes, which stay with extent 1, by a combiner: `reduce(x, axis<1>, 0, [](auto a, auto b) {
/// return a + b; })`. f is associative. It takes and returns elements as tiles, and is recorded. Of several tiles of
/// one shape, it takes those of the first elements, then those of the second, and returns carry(...): `auto [m, i] =
/// reduce(carry(x, places), axis<1>, carry(-inf, 0), f)`. The result is f(init, total). The total joins adjacent pairs
/// first, and an odd last one is carried up; several axes are reduced one after another, the last first.
template <detail::Combined X, int... along, detail::Initial Init, class F>
auto reduce(X&& x, Axis<along...>, Init&& init, F f, location where = location::current()) {
  using Check = detail::Combining<X, Init, F, along...>;
  Check::check();
  if constexpr (Check::sound) {
    using S = typename Check::Tiles::shape;
    using R = detail::shape_from<detail::Reduced<S, along...>>;
    using List = typename Check::List;
    auto& recorder = trace::Recorder::current("reduce", where);
    auto const tiles = detail::recorded_tiles<List>(recorder, x, where);
    auto const start = detail::InitialTiles<List, R, std::remove_reference_t<Init>>::record(recorder, init, where);
    auto const total = detail::total_along_axes<Check, S, Check::axes.size()>(recorder, f, tiles, where);
    using Call = detail::CombinerCall<F, typename Check::Tiles::template with_shape<R>>;
    auto&& result = Call::call(f, recorder, start, total);
    return detail::tiles_of<List, R>(recorder, detail::recorded_tiles<List>(recorder, result, where));
  } else {
    return detail::refused_combination<X>();
  }
}

/// Returns at each place along an axis f(init, total of the elements up to it); the rules of reduce apply. `exclusive`
/// leaves the element itself out, `reverse` begins with the last one: `scan(carry(a, b), axis<1>, carry(1, h), [](auto
/// a1, auto b1, auto a2, auto b2) { return carry(a1 * a2, b1 * a2 + b2); })` computes h = a * h + b. Groups of four
/// elements are joined one after another, and their totals by pairs: the same bits on every executor.
template <detail::Combined X, int along, detail::Initial Init, class F, detail::ScanOption First = detail::Inclusive,
          detail::ScanOption Second = detail::Inclusive>
auto scan(X&& x, Axis<along>, Init&& init, F f, First = {}, Second = {}, location where = location::current()) {
  using Check = detail::Combining<X, Init, F, along>;
  Check::check();
  if constexpr (Check::sound) {
    using S = typename Check::Tiles::shape;
    using List = typename Check::List;
    constexpr auto axis = static_cast<int>(Check::axes[0]);
    using Plan = detail::Combination<F, typename Check::Tiles, S, axis>;
    using Groups = detail::with_extent<S, axis, Plan::groups>;
    auto& recorder = trace::Recorder::current("scan", where);
    auto const tiles = detail::recorded_tiles<List>(recorder, x, where);
    using Start = detail::InitialTiles<List, detail::with_extent<S, axis, 1>, std::remove_reference_t<Init>>;
    auto start = Start::record(recorder, init, where);
    for (trace::Id& id : start.at) id = recorder.adapt(id, recorder.type(id).with_shape(Groups::list), where);
    detail::AxisSteps const steps{recorder, where, axis};
    constexpr bool leaves_out_own =
        std::is_same_v<First, detail::Exclusive> || std::is_same_v<Second, detail::Exclusive>;
    constexpr bool backwards = std::is_same_v<First, detail::Reverse> || std::is_same_v<Second, detail::Reverse>;
    return detail::tiles_of<List, S>(recorder, Plan{f, steps}.scanned(tiles, start, leaves_out_own, backwards));
  } else {
    return detail::refused_combination<X>();
  }
}

}  // namespace tegula

namespace std {
template <int count>
struct tuple_size<tegula::detail::InvalidResults<count>> : integral_constant<size_t, count> {};
template <size_t at, int count>
struct tuple_element<at, tegula::detail::InvalidResults<count>> {
  using type = tegula::detail::Invalid<float, tegula::Shape<1>>;
};
}  // namespace std
