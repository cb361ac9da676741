// Loads and stores boxes of global memory.
#pragma once

#include "tegula/dsl/operators.hpp"

namespace tegula {

namespace detail {

struct Pad {
  trace::Literal value;
};

template <class... X>
inline constexpr bool ends_with_pad = false;
template <class First, class... X>
inline constexpr bool ends_with_pad<First, X...> = ends_with_pad<X...>;
template <>
inline constexpr bool ends_with_pad<Pad> = true;

template <class P>
struct TensorElement {
  using type = float;
  static constexpr int rank = 0;
  static constexpr bool readable = true, writable = true;
};
template <TensorLike P>
struct TensorElement<P> {
  using type = typename P::element;
  static constexpr int rank = P::tensor_rank;
  static constexpr bool readable = P::readable, writable = P::writable;
};

/// Holds the coordinates of a box; it has space for one even if there are none.
template <int count>
struct Coordinates {
  trace::Coordinate list[count == 0 ? 1 : count];
  int filled = 0;
  template <class X>
  constexpr void add(X const& x) {
    if constexpr (IndexLike<X>)
      if (filled < count) list[filled++] = coordinate(x);
  }
};

template <class X>
constexpr void set_pad(trace::Literal& pad, X const& x) {
  if constexpr (std::is_same_v<X, Pad>) {
    pad = x.value;
    pad.stated = true;
  }
}
template <class T>
inline constexpr trace::Literal zero_pad =
    std::is_same_v<T, bool> ? trace::Literal{trace::Literal::Kind::boolean, 0, 0} : trace::Literal{};

/// Stands for the shape of a load that returns one element.
struct OneElement {
  static constexpr int rank = 0;
};
/// Stands for the shape of a load whose arguments are in no order of the three.
struct Disordered {};
template <class S>
concept LoadShape = is_shape<S> || std::is_same_v<S, OneElement> || std::is_same_v<S, Disordered>;
/// Holds the stated range of a loaded scalar: min <= x < end, and a multiple of a number.
template <std::int64_t min, std::int64_t end, std::int64_t multiple>
struct Within {
  static constexpr std::int64_t lowest = min, past = end, divisor = multiple;
};
template <class X>
inline constexpr bool is_range = false;
template <std::int64_t min, std::int64_t end, std::int64_t multiple>
inline constexpr bool is_range<Within<min, end, multiple>> = true;

/// True unless X states a range that has no integer, or others than those of T.
template <class T, class X>
inline constexpr bool range_fits = true;
template <class T, std::int64_t min, std::int64_t end, std::int64_t multiple>
inline constexpr bool range_fits<T, Within<min, end, multiple>> =
    min<end && multiple> 0 &&
    min >= min_integer(element_v<T>) && end - 1 <= max_integer(element_v<T>) && multiple <= max_integer(element_v<T>);

template <class X>
concept IndexOrOption = IndexLike<X> || std::is_same_v<X, Pad> || is_range<X>;

/// Counts the indices among a load's arguments; -1 where one stands behind pad(x) or within<...>.
template <class... X>
constexpr int count_indices() {
  int count = 0;
  bool last = false, ordered = true;
  ((IndexLike<X> ? (ordered = ordered && !last, ++count) : (last = true, count)), ...);
  return ordered ? count : -1;
}

}  // namespace detail

/// States of a loaded scalar that min <= x < end, and that it is a multiple of a number, for instance of 8:
/// `load(offsets, i, within<0, 4096, 8>)`. The compiler relies on it. The host and the simulator of tiles check it as
/// device_assert does, and a GPU with TEGULA_ASSERTS=all. Else a value beyond the range becomes its nearest end, and
/// one that is not a multiple is rounded toward 0.
template <std::int64_t min, std::int64_t end, std::int64_t multiple = 1>
inline constexpr detail::Within<min, end, multiple> within{};

namespace detail {

template <class P>
struct SliceOf {
  using type = P;
};
/// Finds the type of a slice: its extents have none of the facts that the tensor's type states.
template <TensorLike P>
struct SliceOf<P> {
  using T = typename P::element;
  static constexpr int rank = P::tensor_rank;
  using type = std::conditional_t<P::direction == Direction::in, in<T, rank>,
                                  std::conditional_t<P::direction == Direction::out, out<T, rank>, inout<T, rank>>>;
};

}  // namespace detail

/// Returns the elements begin .. end - 1 along an axis as a tensor: `slice(x, axis<0>, first, last)`. Both are numbers
/// of elements, known only when the kernel runs, for instance loaded from another tensor. Loads and stores count from
/// `begin` on, and elements beyond lie outside of the slice. Numbers beyond the tensor are clipped to it. A slice of a
/// slice cuts another axis, or the same one again.
///
/// A GPU copies boxes of a slice as those of a tensor, by a descriptor that each CTA builds when it begins. For that
/// the slice stands outside of loops and branches, and its bounds follow from arguments, block indices and elements of
/// `in` tensors. Else loads and stores use pointers.
template <class P, int along, class Begin, class End>
requires(detail::TensorLike<P>) auto slice(P const& tensor, Axis<along>, Begin const& begin, End const& end,
                                           location where = location::current()) {
  using R = typename detail::SliceOf<detail::bare<P>>::type;
  constexpr bool has_axis = detail::wrap_axis(along, R::tensor_rank) >= 0;
  constexpr bool numbers = detail::IndexLike<Begin> && detail::IndexLike<End> &&
                           !std::is_same_v<detail::bare<Begin>, elem> && !std::is_same_v<detail::bare<End>, elem>;
  static_assert(has_axis, "slice: the tensor must have this axis");
  static_assert(numbers, "slice: begin and end must be integers, or scalars of i32 or i64, that count elements");
  if constexpr (has_axis && numbers) {
    auto& recorder = trace::Recorder::current("slice", where);
    trace::Id const of = recorder.use(tensor.handle(), where);
    trace::Id const first = recorder.index_value(detail::coordinate(begin), where);
    trace::Id const last = recorder.index_value(detail::coordinate(end), where);
    return R(recorder.handle(recorder.slice(of, detail::wrap_axis(along, R::tensor_rank), first, last, where)));
  } else {
    return R(tensor.handle());
  }
}

/// Sets the value of elements outside of the tensor in a load: `pad(-inf)`.
template <detail::Number X>
constexpr detail::Pad pad(X value) {
  return {detail::literal(value)};
}

/// Loads load(tensor, shape<...>, indices..., pad(x)): the box of that shape at the indices. There is one per axis of
/// the tensor; it counts tiles (elem(k): elements). A shape of lower rank takes one element of each leading axis.
/// Elements outside of the tensor give pad, by default 0. A recipe: it reads when it is recorded, with the memory as it
/// was when written.
template <class P, detail::LoadShape S, class... Rest>
class load : public detail::Recipe<typename detail::TensorElement<P>::type, S> {
  using facts = detail::TensorElement<P>;
  static constexpr bool is_tensor = detail::TensorLike<P>, readable = facts::readable;
  static constexpr int indices = static_cast<int>(sizeof...(Rest)) - (detail::ends_with_pad<Rest...> ? 1 : 0);
  static constexpr bool indices_are = ((detail::IndexLike<Rest> || std::is_same_v<Rest, detail::Pad>)&&...);
  static constexpr bool rank_fits = !is_tensor || S::rank <= facts::rank,
                        index_count_fits = !is_tensor || !indices_are || indices == facts::rank;
  static_assert(is_tensor, "load: the first argument must be a tensor parameter (in or inout)");
  static_assert(readable, "load: an out parameter must not be read; declare it inout");
  static_assert(rank_fits, "load: the shape must not have more axes than the tensor");
  static_assert(index_count_fits, "load: one index must be given per axis of the tensor");
  static_assert(indices_are,
                "load: an index must be an integer, an index expression or elem(k); pad(x) comes last; gather takes "
                "tiles of indices and mask(m)");

 public:
  load(P const& tensor, S, Rest... rest, location where = location::current())
      : tensor_(detail::handle_of(tensor)), where_(where), epoch_(trace::Recorder::current("load", where).epoch()) {
    (coordinates_.add(rest), ...);
    (detail::set_pad(pad_, rest), ...);
  }
  [[nodiscard]] location where() const { return where_; }
  trace::Id record(trace::Recorder& recorder, location binding) {
    return recorder.load(tensor_, epoch_, coordinates_.list, facts::rank, pad_,
                         detail::tile_type<typename facts::type, S>, where_, detail::nearest(binding, where_));
  }

 private:
  trace::Handle tensor_;
  location where_;
  trace::Epoch epoch_;
  detail::Coordinates<facts::rank> coordinates_;
  trace::Literal pad_ = detail::zero_pad<typename facts::type>;
};

template <class P, std::int64_t... extents, class... Rest>
load(P const&, Shape<extents...>, Rest...) -> load<P, Shape<extents...>, Rest...>;

/// Loads one element: load(tensor, indices..., pad(x), within<min, end>) returns a run-time scalar. Of integers it is
/// an index expression: an index of a load or store, a bound of a loop, a condition of if_. Indices count elements.
/// Outside the tensor it returns pad, by default 0.
template <class P, class... Rest>
class load<P, detail::OneElement, Rest...> : public scalar<typename detail::TensorElement<P>::type> {
  using facts = detail::TensorElement<P>;
  using T = typename facts::type;
  static constexpr bool is_tensor = detail::TensorLike<P>, readable = facts::readable;
  static constexpr bool index_count_fits = !is_tensor || detail::count_indices<Rest...>() == facts::rank;
  static constexpr bool ranges = (detail::is_range<Rest> || ...);
  static constexpr bool whole = !ranges || !is_tensor || std::is_same_v<T, int> || std::is_same_v<T, std::int64_t>;
  static constexpr bool range_fits = (detail::range_fits<T, Rest> && ...);
  static_assert(is_tensor, "load: the first argument must be a tensor parameter (in or inout)");
  static_assert(readable, "load: an out parameter must not be read; declare it inout");
  static_assert(index_count_fits, "load: one index must be given per axis of the tensor");
  static_assert(whole, "load: within<min, end> must be of elements that are indices, int or std::int64_t");
  static_assert(
      range_fits,
      "load: within<min, end, multiple> must name integers of the element, min less than end, multiple positive");

 public:
  load(P const& tensor, Rest... rest, location where = location::current())
      : scalar<T>(record(tensor, rest..., where)) {}

 private:
  static trace::Handle record(P const& tensor, Rest const&... rest, location where) {
    if constexpr (is_tensor && readable && index_count_fits && whole && range_fits) {
      auto& recorder = trace::Recorder::current("load", where);
      detail::Coordinates<facts::rank> coordinates;
      (coordinates.add(rest), ...);
      trace::Literal pad = detail::zero_pad<T>;
      (detail::set_pad(pad, rest), ...);
      trace::Id loaded = recorder.load(tensor.handle(), recorder.epoch(), coordinates.list, facts::rank, pad,
                                       detail::scalar_type<T>, where, where);
      ((loaded = bounded(recorder, loaded, rest, where)), ...);
      return recorder.handle(loaded);
    } else {
      return {};
    }
  }
  template <class X>
  static trace::Id bounded(trace::Recorder& recorder, trace::Id loaded, X const&, location where) {
    if constexpr (detail::is_range<X>)
      return recorder.stated_range(loaded, X::lowest, X::past - 1, X::divisor, where);
    else
      return loaded;
  }
};

template <class P, class... Rest>
requires(detail::IndexOrOption<Rest>&&...) load(P const&, Rest...)
->load<P, detail::OneElement, Rest...>;

/// Catches other arguments, for the sentence.
template <class P, class... Rest>
class load<P, detail::Disordered, Rest...> : public detail::Invalid<typename detail::TensorElement<P>::type, Shape<1>> {
  static constexpr bool ordered = detail::never<P>;
  static_assert(ordered,
                "load: load(tensor, shape<...>, indices..., pad(x)) loads a tile, load(tensor, indices..., pad(x)) one "
                "element; an index must be an integer, an index expression or elem(k), and pad(x) comes last");

 public:
  explicit load(P const&, Rest const&...) {}
};
template <class P, class... Rest>
requires(!(detail::IndexOrOption<Rest> && ...)) load(P const&, Rest...)
->load<P, detail::Disordered, Rest...>;

namespace detail {

struct MayBeOutside {};

template <class... X>
inline constexpr bool ends_with_place = false;
template <class First, class... X>
inline constexpr bool ends_with_place<First, X...> = ends_with_place<X...>;
template <>
inline constexpr bool ends_with_place<MayBeOutside> = true;

}  // namespace detail

/// States of a store that its whole box may lie outside of the tensor: a block without work, an empty slice. It changes
/// nothing but the checks of TEGULA_CHECKS: bounds do not report this store, and nan does not report values that it
/// alone takes, where its box is outside. A load states the same by its pad.
inline constexpr detail::MayBeOutside may_be_outside{};

/// Stores by store(tensor, shape<...>, value, indices...), a statement. It writes a tile of that shape (or a number in
/// every element) at the indices, counted as for load. Elements outside of the tensor are dropped. `may_be_outside`
/// behind the indices states that all of them may be.
template <class P, class S, class V, class... Rest>
class store {
  using facts = detail::TensorElement<P>;
  using T = typename facts::type;
  static constexpr bool is_tensor = detail::TensorLike<P>, writable = facts::writable;
  static constexpr bool optional = detail::ends_with_place<Rest...>;
  static constexpr bool indices_are = ((detail::IndexLike<Rest> || std::is_same_v<Rest, detail::MayBeOutside>)&&...);
  static constexpr bool rank_fits = !is_tensor || S::rank <= facts::rank,
                        index_count_fits = !is_tensor || !indices_are ||
                                           static_cast<int>(sizeof...(Rest)) - (optional ? 1 : 0) == facts::rank;
  static_assert(is_tensor, "store: the first argument must be a tensor parameter (out or inout)");
  static_assert(writable, "store: an in parameter must not be written; declare it out or inout");
  static_assert(rank_fits, "store: the shape must not have more axes than the tensor");
  static_assert(index_count_fits, "store: one index must be given per axis of the tensor");
  static_assert(
      indices_are,
      "store: an index must be an integer, an index expression or elem(k); may_be_outside comes last; scatter "
      "takes tiles of indices and mask(m)");

 public:
  store(P const& tensor, S, V&& value, Rest... rest, location where = location::current()) {
    constexpr bool used_once = !detail::named_recipe<V>;
    static_assert(used_once, TEGULA_NAMED_RECIPE);
    if constexpr (detail::TileLike<V>) {
      if constexpr (used_once && !detail::is_invalid<V> && detail::TensorLike<P>) {
        static_assert(detail::same_element<detail::element_t<V>, T>,
                      "store: the tile's element must be the tensor's: use cast<T>(...)");
        static_assert(detail::same_shape<detail::shape_t<V>, S>,
                      "store: the tile must have the shape that is stored; squeeze(x, axis<i>) drops an axis that a "
                      "reduction kept, expand_dims(x, axis<i>) adds one");
      }
    } else {
      detail::check_operands<detail::scalar_problem<T, V>(), V, T>();
    }
    if constexpr (sound<V>()) {
      auto& recorder = trace::Recorder::current("store", where);
      detail::Coordinates<facts::rank> coordinates;
      (coordinates.add(rest), ...);
      auto&& kept = detail::stored(value);
      trace::Id const id = detail::record_as<T, S>(recorder, kept, where);
      recorder.store(detail::handle_of(tensor), id, coordinates.list, facts::rank, where, optional);
    }
  }

 private:
  template <class X>
  static constexpr bool sound() {
    if constexpr (detail::named_recipe<X> || detail::is_invalid<X> || !detail::TensorLike<P> || !facts::writable)
      return false;
    else if constexpr (detail::TileLike<X>)
      return std::is_same_v<detail::element_t<X>, T> && std::is_same_v<detail::shape_t<X>, S>;
    else
      return detail::scalar_problem<T, X>() == detail::Problem::none;
  }
};

template <class P, std::int64_t... extents, class V, class... Rest>
store(P const&, Shape<extents...>, V&&, Rest...) -> store<P, Shape<extents...>, V, Rest...>;

/// Catches other arguments, for the sentence.
template <class P, class S, class V, class... Rest>
requires(!detail::is_shape<S>) class store<P, S, V, Rest...> {
  static_assert(detail::never<P>,
                "the arguments of store must be a tensor parameter, the shape of the box, a tile of that shape or a "
                "number, and one index per axis: store(tensor, shape<...>, value, indices...)");

 public:
  template <class... X>
  explicit store(X const&...) {}
};
template <class P, class... Rest>
store(P const&, Rest...) -> store<P, detail::Disordered, void, Rest...>;

}  // namespace tegula
