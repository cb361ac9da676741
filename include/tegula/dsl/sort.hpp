// Sorts tiles along an axis and finds their largest elements, by networks of butterflies and by reductions.
#pragma once

#include "tegula/dsl/combine.hpp"

namespace tegula {

namespace detail {

struct Descending {};

/// Returns the integer whose order sorts an element.
constexpr Element key_of(Element element) { return bytes(element) == 8 ? Element::i64 : Element::i32; }
constexpr std::int64_t highest_key(Element key) { return key == Element::i64 ? INT64_MAX : INT32_MAX; }

/// Records integers that are ordered as the elements of a tile, or the other way round. A NaN has the highest one.
inline trace::Id keys_of(AxisSteps const& steps, trace::Id x, bool descending) {
  trace::Recorder& recorder = steps.recorder;
  ir::Type type = recorder.type(x);
  ir::Type const keys = type.with_element(key_of(type.element()));
  std::int64_t const highest = highest_key(keys.element());
  trace::Id key = x;
  if (is_float(type.element())) {
    type = type.with_element(type.element() == Element::f64 ? Element::f64 : Element::f32);
    if (recorder.type(x) != type) x = recorder.emit(ir::CastOp{}, {x}, type, steps.where);
    trace::Id const bits = recorder.emit(ir::BitcastOp{}, {x}, keys, steps.where);
    trace::Id const sign = steps.with_number(ir::ShrOp{}, bits, keys.element() == Element::i64 ? 63 : 31);
    key = recorder.emit(ir::XorOp{}, {bits, steps.with_number(ir::AndOp{}, sign, highest)}, keys, steps.where);
  } else if (type.element() == Element::u32 || type.element() == Element::u64) {
    trace::Id const bits = recorder.emit(ir::BitcastOp{}, {x}, keys, steps.where);
    key = steps.with_number(ir::XorOp{}, bits, -highest - 1);
  } else if (type != keys) {
    key = recorder.emit(ir::CastOp{}, {x}, keys, steps.where);
  }
  if (descending) key = recorder.emit(ir::NotOp{}, {key}, keys, steps.where);
  if (!is_float(type.element())) return key;
  trace::Id const number = recorder.emit(ir::make_op<ir::CompareOp>(ir::Predicate::eq), {x, x},
                                         type.with_element(Element::boolean), steps.where);
  return recorder.emit(ir::SelectOp{}, {number, key, steps.number(highest, keys)}, keys, steps.where);
}

/// Records the elements of keys.
inline trace::Id elements_of(AxisSteps const& steps, trace::Id key, Element element, bool descending) {
  trace::Recorder& recorder = steps.recorder;
  ir::Type const keys = recorder.type(key);
  ir::Type const type = keys.with_element(element);
  std::int64_t const highest = highest_key(keys.element());
  if (descending) key = recorder.emit(ir::NotOp{}, {key}, keys, steps.where);
  if (is_float(element)) {
    trace::Id const sign = steps.with_number(ir::ShrOp{}, key, keys.element() == Element::i64 ? 63 : 31);
    trace::Id const bits =
        recorder.emit(ir::XorOp{}, {key, steps.with_number(ir::AndOp{}, sign, highest)}, keys, steps.where);
    ir::Type const wide = type.with_element(element == Element::f64 ? Element::f64 : Element::f32);
    trace::Id const value = recorder.emit(ir::BitcastOp{}, {bits}, wide, steps.where);
    return wide == type ? value : recorder.emit(ir::CastOp{}, {value}, type, steps.where);
  }
  if (element == Element::u32 || element == Element::u64)
    return recorder.emit(ir::BitcastOp{}, {steps.with_number(ir::XorOp{}, key, -highest - 1)}, type, steps.where);
  return type == keys ? key : recorder.emit(ir::CastOp{}, {key}, type, steps.where);
}

/// Tells whether the first tile of `b` goes ahead of that of `a`; of equal ones the second tile decides.
template <int count>
trace::Id goes_ahead(AxisSteps const& steps, Bundle<count> const& b, Bundle<count> const& a) {
  trace::Recorder& recorder = steps.recorder;
  ir::Type const mask = recorder.type(a.at[0]).with_element(Element::boolean);
  auto const compared = [&](ir::Predicate predicate, int i) {
    return recorder.emit(ir::make_op<ir::CompareOp>(predicate), {b.at[i], a.at[i]}, mask, steps.where);
  };
  trace::Id const lower = compared(ir::Predicate::lt, 0), equal = compared(ir::Predicate::eq, 0);
  trace::Id const tie = recorder.emit(ir::AndOp{}, {equal, compared(ir::Predicate::lt, 1)}, mask, steps.where);
  return recorder.emit(ir::OrOp{}, {lower, tie}, mask, steps.where);
}

/// Records the steps that sort blocks of `block` elements, each of which is bitonic: it rises, then falls, or the other
/// way round. Blocks whose places have the bit `falling` fall, the others rise.
template <int count>
Bundle<count> merged(AxisSteps const& steps, Bundle<count> tiles, std::int64_t block, std::int64_t falling) {
  trace::Recorder& recorder = steps.recorder;
  ir::Type const type = recorder.type(tiles.at[0]);
  ir::Type const mask = type.with_element(Element::boolean);
  for (std::int64_t stride = block / 2; stride > 0; stride /= 2) {
    Bundle<count> const other =
        steps.each(tiles, [&](trace::Id x, ir::Type const& own) { return steps.butterfly(x, own, stride); });
    trace::Id takes_larger = steps.any_bit(type, stride);
    if (falling < type.shape()[steps.axis])
      takes_larger = recorder.emit(ir::XorOp{}, {takes_larger, steps.any_bit(type, falling)}, mask, steps.where);
    if constexpr (count == 1) {
      trace::Id const larger = recorder.emit(ir::MaxOp{}, {tiles.at[0], other.at[0]}, type, steps.where);
      trace::Id const smaller = recorder.emit(ir::MinOp{}, {tiles.at[0], other.at[0]}, type, steps.where);
      tiles.at[0] = recorder.emit(ir::SelectOp{}, {takes_larger, larger, smaller}, type, steps.where);
    } else {
      trace::Id const ahead = goes_ahead(steps, other, tiles);
      tiles = steps.select(recorder.emit(ir::XorOp{}, {ahead, takes_larger}, mask, steps.where), other, tiles);
    }
  }
  return tiles;
}

/// Records a bitonic network that sorts tiles whose extent along the axis is a power of two. It sorts by the first
/// tile, or by the first two where there are more. The others follow.
template <int count>
Bundle<count> bitonic(AxisSteps const& steps, Bundle<count> tiles) {
  std::int64_t const extent = steps.recorder.type(tiles.at[0]).shape()[steps.axis];
  for (std::int64_t block = 2; block <= extent; block *= 2) tiles = merged(steps, tiles, block, block);
  return tiles;
}

/// Records a network that sorts the lowest `wanted` elements of tiles: blocks of them are sorted, those of the first
/// half rising, of the other half falling. Of two such blocks the lower element of each place belongs to the lowest,
/// and these are bitonic again. So half of the elements are left, until one block is. Both extents are powers of two.
template <int count>
Bundle<count> lowest_by_halves(AxisSteps const& steps, Bundle<count> tiles, std::int64_t wanted) {
  trace::Recorder& recorder = steps.recorder;
  std::int64_t extent = recorder.type(tiles.at[0]).shape()[steps.axis];
  for (std::int64_t block = 2; block <= wanted; block *= 2)
    tiles = merged(steps, tiles, block, block == wanted && wanted < extent ? extent / 2 : block);
  for (; extent > wanted; extent /= 2) {
    auto const half = [&](std::int64_t which) {
      return steps.each(tiles, [&](trace::Id x, ir::Type const& type) {
        Extents offsets;
        for (int i = 0; i < type.rank(); ++i) offsets.push_back(i == steps.axis ? which * extent / 2 : 0);
        return recorder.emit(ir::make_op<ir::ExtractOp>(offsets), {x}, steps.with(type, extent / 2), steps.where);
      });
    };
    Bundle<count> const first = half(0), second = half(1);
    tiles = steps.select(goes_ahead(steps, second, first), second, first);
    tiles = merged(steps, tiles, wanted, extent / 2 == wanted ? wanted : extent / 4);
  }
  return tiles;
}

/// Lengthens keys to a power of two, with the highest ones.
inline trace::Id lengthened_keys(AxisSteps const& steps, trace::Id key) {
  std::int64_t const extent = steps.recorder.type(key).shape()[steps.axis], whole = whole_power(extent);
  if (extent == whole) return key;
  trace::Id const longer = steps.resized(key, whole);
  ir::Type const type = steps.recorder.type(longer);
  trace::Id const inside = steps.compared(steps.places(type), ir::Predicate::lt, extent);
  trace::Id const highest = steps.number(highest_key(type.element()), type);
  return steps.recorder.emit(ir::SelectOp{}, {inside, longer, highest}, type, steps.where);
}

/// Sorts keys with their places, and returns the first `extent` of both. Further tiles follow.
template <int count>
Bundle<count + 2> sorted_with_places(AxisSteps const& steps, trace::Id key, Bundle<count> const& others,
                                     std::int64_t extent) {
  Bundle<count + 2> tiles;
  tiles.at[0] = lengthened_keys(steps, key);
  ir::Type const whole = steps.recorder.type(tiles.at[0]);
  tiles.at[1] = steps.places(whole);
  std::int64_t const length = whole.shape()[steps.axis];
  for (int i = 0; i < count; ++i) tiles.at[i + 2] = steps.resized(others.at[i], length);
  tiles = bitonic(steps, tiles);
  for (trace::Id& tile : tiles.at) tile = steps.resized(tile, extent);
  return tiles;
}

/// Finds the lowest keys one after another: each of them, and of equal ones the first place, by two reductions.
inline Bundle<2> lowest_by_reductions(AxisSteps const& steps, trace::Id key, int wanted) {
  trace::Recorder& recorder = steps.recorder;
  ir::Type const type = recorder.type(key), mask = type.with_element(Element::boolean);
  std::int64_t const extent = type.shape()[steps.axis], highest = highest_key(type.element());
  ir::Type const found = steps.with(type, wanted);
  trace::Id const place = steps.places(type), position = steps.places(found);
  ir::Type const places = recorder.type(place), positions = recorder.type(position);
  Bundle<2> result{{steps.number(0, found), steps.number(0, positions)}};
  trace::Id left = recorder.constant({trace::Literal::Kind::boolean, 1, 0}, mask, steps.where);
  auto const least = [&](trace::Id x, ir::Type const& of) {
    return reduce_along(recorder, x, of, {steps.axis}, ir::Combine::min, ir::Order::any, steps.where);
  };
  auto const everywhere = [&](trace::Id x, ir::Type const& as) { return recorder.adapt(x, as, steps.where); };
  auto const compared = [&](ir::Predicate predicate, trace::Id a, trace::Id b) {
    return recorder.emit(ir::make_op<ir::CompareOp>(predicate), {a, b}, mask, steps.where);
  };
  for (int i = 0; i < wanted; ++i) {
    trace::Id const lowest = least(key, type);
    trace::Id const equal = compared(ir::Predicate::eq, key, everywhere(lowest, type));
    trace::Id const candidates = recorder.emit(ir::AndOp{}, {equal, left}, mask, steps.where);
    trace::Id const first = least(
        recorder.emit(ir::SelectOp{}, {candidates, place, steps.number(extent, places)}, places, steps.where), places);
    trace::Id const here = steps.compared(position, ir::Predicate::eq, i);
    result.at[0] = recorder.emit(ir::SelectOp{}, {here, everywhere(lowest, found), result.at[0]}, found, steps.where);
    result.at[1] =
        recorder.emit(ir::SelectOp{}, {here, everywhere(first, positions), result.at[1]}, positions, steps.where);
    if (i + 1 == wanted) break;
    trace::Id const others = compared(ir::Predicate::ne, place, everywhere(first, places));
    left = recorder.emit(ir::AndOp{}, {left, others}, mask, steps.where);
    key = recorder.emit(ir::SelectOp{}, {others, key, steps.number(highest, type)}, type, steps.where);
  }
  return result;
}

/// Checks the operands of a sort.
template <class X, int along>
struct Sorting {
  using List = typename CarriedBy<bare<X>>::type;
  using Tiles = TileList<List>;
  static constexpr bool used_once = !named_recipe<X>;
  static constexpr bool tiles = Tiles::holds || is_invalid<X>;
  static constexpr bool numbers = !Tiles::holds || is_invalid<X> || [] {
    if constexpr (Tiles::holds)
      return Tiles::elements[0] != Element::boolean;
    else
      return true;
  }();
  static constexpr int axis = [] {
    if constexpr (Tiles::holds)
      return wrap_axis(along, Tiles::shape::rank);
    else
      return 0;
  }();
  static constexpr bool on_axis = axis >= 0 || is_invalid<X>;
  static constexpr bool sound = used_once && Tiles::holds && numbers && axis >= 0 && !is_invalid<X>;
  static constexpr void check() {
    static_assert(used_once, TEGULA_NAMED_RECIPE);
    static_assert(
        tiles,
        "sort: the argument must be a tile, or carry(...) of tiles of one shape, of which the first decides the order");
    static_assert(numbers, "sort: the tile must be of numbers, and a bool is not a number: cast the mask first");
    static_assert(on_axis, "sort: the tile must have this axis");
  }
};

template <class O>
inline constexpr bool is_descending = std::is_same_v<O, Descending>;
struct Ascending {};
template <class O>
concept SortOption = std::is_same_v<O, Ascending> || std::is_same_v<O, Descending>;

inline constexpr int max_by_reductions = 16;

}  // namespace detail

/// Sorts from the largest element to the smallest.
inline constexpr detail::Descending descending;

/// Sorts the elements along an axis: `sort(x, axis<1>)`, `sort(x, axis<1>, descending)`. NaN come last, as one NaN, and
/// -0 is below 0. Of carry(keys, values...), tiles of one shape, the first decides the order of all; equal keys stay in
/// their order.
template <detail::Combined X, int along, detail::SortOption Way = detail::Ascending>
auto sort(X&& x, Axis<along>, Way = {}, location where = location::current()) {
  using Check = detail::Sorting<X, along>;
  Check::check();
  if constexpr (Check::sound) {
    using S = typename Check::Tiles::shape;
    using List = typename Check::List;
    constexpr bool down = detail::is_descending<Way>;
    constexpr int count = Check::Tiles::count;
    constexpr Element element = Check::Tiles::elements[0];
    auto& recorder = trace::Recorder::current("sort", where);
    auto ids = detail::recorded_tiles<List>(recorder, x, where);
    detail::AxisSteps const steps{recorder, where, Check::axis};
    trace::Id key = detail::keys_of(steps, ids.at[0], down);
    if constexpr (count == 1) {
      key = detail::bitonic(steps, detail::Bundle<1>{{detail::lengthened_keys(steps, key)}}).at[0];
      key = steps.resized(key, S::list[Check::axis]);
    } else {
      detail::Bundle<count - 1> others;
      for (int i = 1; i < count; ++i) others.at[i - 1] = ids.at[i];
      auto const sorted = detail::sorted_with_places(steps, key, others, S::list[Check::axis]);
      key = sorted.at[0];
      for (int i = 1; i < count; ++i) ids.at[i] = sorted.at[i + 1];
    }
    ids.at[0] = detail::elements_of(steps, key, element, down);
    return detail::tiles_of<List, S>(recorder, ids);
  } else {
    return detail::refused_combination<X>();
  }
}

/// Returns the places along an axis, as i32, from which sort would take its elements; equal ones stay in their order.
template <detail::TileLike X, int along, detail::SortOption Way = detail::Ascending>
auto argsort(X&& x, Axis<along>, Way = {}, location where = location::current()) {
  using Check = detail::Sorting<X, along>;
  Check::check();
  if constexpr (Check::sound) {
    using S = typename Check::Tiles::shape;
    auto& recorder = trace::Recorder::current("argsort", where);
    auto const ids = detail::recorded_tiles<typename Check::List>(recorder, x, where);
    detail::AxisSteps const steps{recorder, where, Check::axis};
    trace::Id const key = detail::keys_of(steps, ids.at[0], detail::is_descending<Way>);
    trace::Id const whole = detail::lengthened_keys(steps, key);
    auto const sorted = detail::bitonic(steps, detail::Bundle<2>{{whole, steps.places(recorder.type(whole))}});
    return tile<std::int32_t, S>(recorder.handle(steps.resized(sorted.at[1], S::list[Check::axis])));
  } else {
    return detail::Invalid<std::int32_t, detail::shape_t<X>>();
  }
}

/// Finds the largest elements along an axis, with their places as i32: `auto [values, places] = top_k<8>(x, axis<1>)`
/// of 4 x 1000 returns two tiles of 4 x 8. Their order is that of a descending sort: the largest first, of equal ones
/// the first, NaN last.
template <int wanted, detail::TileLike X, int along>
auto top_k(X&& x, Axis<along>, location where = location::current()) {
  using Check = detail::Sorting<X, along>;
  Check::check();
  constexpr bool enough = [] {
    if constexpr (Check::sound)
      return wanted >= 1 && wanted <= Check::Tiles::shape::list[Check::axis];
    else
      return true;
  }();
  static_assert(enough, "top_k: at least 1 and at most all elements along the axis must be asked for");
  using T = detail::element_t<X>;
  if constexpr (Check::sound && enough) {
    using R = detail::with_extent<typename Check::Tiles::shape, Check::axis, wanted>;
    auto& recorder = trace::Recorder::current("top_k", where);
    auto const ids = detail::recorded_tiles<typename Check::List>(recorder, x, where);
    detail::AxisSteps const steps{recorder, where, Check::axis};
    trace::Id const key = detail::keys_of(steps, ids.at[0], true);
    detail::Bundle<2> best;
    if (wanted <= detail::max_by_reductions) {
      best = detail::lowest_by_reductions(steps, key, wanted);
    } else {
      trace::Id const whole = detail::lengthened_keys(steps, key);
      best = detail::lowest_by_halves(steps, detail::Bundle<2>{{whole, steps.places(recorder.type(whole))}},
                                      detail::whole_power(wanted));
    }
    trace::Id const values = detail::elements_of(steps, best.at[0], Check::Tiles::elements[0], true);
    return detail::Results<tile<T, R>, tile<std::int32_t, R>>(
        tile<T, R>(recorder.handle(steps.resized(values, wanted))),
        tile<std::int32_t, R>(recorder.handle(steps.resized(best.at[1], wanted))));
  } else {
    return detail::InvalidResults<2>();
  }
}

}  // namespace tegula
