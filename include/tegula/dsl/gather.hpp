// Accesses single elements of global memory at indices that tiles hold: gather and scatter; atomic.hpp has the atomics.
#pragma once

#include "tegula/dsl/memory.hpp"
#include "tegula/support/pack.hpp"

namespace tegula {

namespace detail {

template <class X>
concept IndexTile = TileLike<X> &&
    (std::is_same_v<element_t<X>, std::int32_t> || std::is_same_v<element_t<X>, std::int64_t>);
template <class X>
concept AnyIndex = IndexLike<bare<X>> || IndexTile<X>;
/// Accepts an order or a scope, which atomics take.
template <class X>
concept AtomicOption = requires {
  bare<X>::orders;
}
|| requires { bare<X>::reaches; };

/// Holds a mask; elements where it is false are outside of the access.
template <class M>
struct Mask {
  M value;
};
template <class X>
inline constexpr bool is_mask = false;
template <class M>
inline constexpr bool is_mask<Mask<M>> = true;

/// Finds the shape that a shape and, if X is a tile, its shape broadcast to.
template <class S, class X>
struct JoinedShape {
  using type = S;
};
template <TileLike X>
struct JoinedShape<Shape<>, X> {
  using type = shape_t<X>;
};
template <class S, TileLike X>
requires(!std::is_same_v<S, Shape<>>) struct JoinedShape<S, X> {
  using type = broadcast_shape<S, shape_t<X>>;
};
template <class S, class... X>
struct FoldShape {
  using type = S;
};
template <class S, class First, class... X>
struct FoldShape<S, First, X...> : FoldShape<typename JoinedShape<S, First>::type, X...> {};
/// Finds the shape that the tiles among the arguments broadcast to; Shape<> if there are none.
template <class... X>
using places_shape = typename FoldShape<Shape<>, X...>::type;

template <class S, class X>
constexpr bool broadcasts_to() {
  if constexpr (TileLike<X>)
    return std::is_same_v<broadcast_shape<shape_t<X>, S>, S> && broadcasts(shape_t<X>::list, S::list);
  else
    return true;
}

/// Says what is wrong with the arguments of an access at indices; atomics may have options.
template <bool atomic, class P, class... Rest>
struct PlacesCheck {
  using S = places_shape<Rest...>;
  static constexpr int count = (0 + ... + (AnyIndex<Rest> ? 1 : 0));
  static constexpr bool is_tensor = TensorLike<P>;
  static constexpr bool indices_are = ((AnyIndex<Rest> || std::is_same_v<bare<Rest>, Pad> || is_mask<bare<Rest>> ||
                                        is_invalid<Rest> || (atomic && AtomicOption<Rest>)) &&
                                       ...);
  static constexpr bool count_fits = !is_tensor || !indices_are || count == TensorElement<P>::rank;
  static constexpr bool shapes_agree = (broadcasts_to<S, Rest>() && ...);
  static constexpr bool used_once = (!named_recipe<Rest> && ...);
  static constexpr bool masks_tile = !(is_mask<bare<Rest>> || ...) || (IndexTile<Rest> || ...);
  static constexpr bool valid = (!is_invalid<Rest> && ...);
  static constexpr bool holds =
      is_tensor && indices_are && count_fits && shapes_agree && masks_tile && used_once && valid;
};

/// Records one index of an access of shape S (none: a scalar).
template <class S, class X>
trace::Id record_index(trace::Recorder& recorder, X& x, location at) {
  using I = bare<X>;
  if constexpr (TileLike<I>) {
    auto&& kept = stored(x);
    return record_as<element_t<I>, S>(recorder, kept, at);
  } else {
    return recorder.index_value(coordinate(static_cast<I const&>(x)), at);
  }
}

/// Holds the arguments of an access at indices until it is recorded.
template <class... Rest>
struct Places {
  using S = places_shape<Rest...>;
  using Sequence = std::index_sequence_for<Rest...>;
  static constexpr int count = (0 + ... + (AnyIndex<Rest> ? 1 : 0));
  Pack<bare<Rest>...> items;

  struct Ids {
    trace::Id list[count == 0 ? 1 : count] = {};
    int filled = 0;
    int first_tile = -1;
  };
  Ids record(trace::Recorder& recorder, location at) { return record(recorder, at, Sequence()); }

 private:
  template <std::size_t... at>
  Ids record(trace::Recorder& recorder, location where, std::index_sequence<at...>) {
    Ids ids;
    (add(recorder, ids, pack_item<at>(items), where), ...);
    (apply_mask(recorder, ids, pack_item<at>(items), where), ...);
    return ids;
  }
  template <class X>
  void add(trace::Recorder& recorder, Ids& ids, X& x, location where) {
    if constexpr (AnyIndex<X>) {
      if (IndexTile<X> && ids.first_tile < 0) ids.first_tile = ids.filled;
      ids.list[ids.filled++] = record_index<S>(recorder, x, where);
    }
  }
  /// Moves the places that a mask leaves out before the tensor: their first index becomes -1.
  template <class X>
  void apply_mask(trace::Recorder& recorder, Ids& ids, X& x, location where) {
    if constexpr (is_mask<X>) {
      trace::Id& index = ids.list[ids.first_tile];
      trace::Id const mask = record_as<bool, S>(recorder, x.value, where);
      ir::Type const type = recorder.type(index);
      trace::Id const outside = recorder.constant({trace::Literal::Kind::integer, -1, 0}, type, where);
      index = recorder.emit(ir::SelectOp{}, {mask, index, outside}, type, where);
    }
  }
};

template <bool atomic, class P, class... Rest>
constexpr void check_places() {
  using Check = PlacesCheck<atomic, P, Rest...>;
  constexpr bool is_tensor = Check::is_tensor, indices_are = Check::indices_are, count_fits = Check::count_fits,
                 shapes_agree = Check::shapes_agree, masks_tile = Check::masks_tile, used_once = Check::used_once;
  static_assert(is_tensor, "gather, scatter, atomics: the first argument must be a tensor parameter");
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(indices_are,
                "gather, scatter, atomics: an index must be a tile of int or std::int64_t, an integer or an index "
                "expression; mask(m), pad(x) of a gather, and order and scope of an atomic come last");
  static_assert(count_fits, "gather, scatter, atomics: one index must be given per axis of the tensor");
  static_assert(shapes_agree,
                "gather, scatter, atomics: the tiles of indices and the mask must broadcast to one shape");
  static_assert(
      masks_tile,
      "gather, scatter, atomics: with a mask, at least one index must be a tile; take full(shape<...>, i) as an index");
}

}  // namespace detail

/// Leaves elements out of a gather, scatter or atomic: those where the mask is false. A gather reads pad there.
template <detail::TileLike M>
constexpr auto mask(M&& m) {
  constexpr bool boolean = std::is_same_v<detail::element_t<M>, bool> || detail::is_invalid<M>;
  constexpr bool used_once = !detail::named_recipe<M>;
  static_assert(boolean, "mask: the mask must be a tile of bool, for instance a comparison");
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  if constexpr (used_once)
    return detail::Mask<detail::stored_t<M>>{detail::stored(m)};
  else
    return detail::Pad();
}

/// Gathers gather(tensor, indices..., mask(m), pad(x)): element e of the result is the tensor's element at the indices'
/// elements e. Each axis of the tensor has one index. Indices are tiles of integers, which broadcast to one shape, or
/// single index expressions; all count elements. Places outside the tensor give pad, by default 0. A recipe, as load.
template <class P, class... Rest>
class gather : public detail::Recipe<typename detail::TensorElement<P>::type, detail::places_shape<Rest...>> {
  using facts = detail::TensorElement<P>;
  using T = typename facts::type;
  using S = detail::places_shape<Rest...>;
  using Check = detail::PlacesCheck<false, P, Rest...>;
  static constexpr bool readable = facts::readable, some_tile = S::rank > 0 || !Check::indices_are;
  static_assert(readable, "gather: an out parameter must not be read; declare it inout");
  static_assert(some_tile, "gather: at least one index must be a tile; load(tensor, indices...) reads one element");

 public:
  static constexpr bool is_invalid = !Check::holds || !readable || !some_tile;  // said once, by check_places()

  gather(P const& tensor, Rest&&... rest, location where = location::current())
      : tensor_(detail::handle_of(tensor)),
        where_(where),
        epoch_(trace::Recorder::current("gather", where).epoch()),
        places_{{{static_cast<Rest&&>(rest)}...}} {
    detail::check_places<false, P, Rest...>();
    (detail::set_pad(pad_, rest), ...);
  }
  [[nodiscard]] location where() const { return where_; }
  trace::Id record(trace::Recorder& recorder, location binding) {
    if constexpr (Check::holds && readable && some_tile) {
      auto const ids = places_.record(recorder, where_);
      return recorder.gather(tensor_, epoch_, {ids.list, ids.filled}, pad_, detail::tile_type<T, S>, where_,
                             detail::nearest(binding, where_));
    } else {
      return -1;
    }
  }

 private:
  trace::Handle tensor_;
  location where_;
  trace::Epoch epoch_;
  detail::Places<Rest...> places_;
  trace::Literal pad_ = detail::zero_pad<T>;
};
template <class P, class... Rest>
gather(P const&, Rest&&...) -> gather<P, Rest...>;

namespace detail {

/// Records `value` as a tile of shape S, or a scalar if S has no axes.
template <class T, class S, class V>
trace::Id record_element(trace::Recorder& recorder, V& value, location where) {
  if constexpr (S::rank == 0) {
    return scalar_id<T>(recorder, value, where);
  } else {
    auto&& kept = stored(value);
    return record_as<T, S>(recorder, kept, where);
  }
}

/// Says what is wrong with a value that meets elements T at places of shape S.
template <class T, class S, class V>
constexpr bool check_value() {
  constexpr bool used_once = !named_recipe<V>;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  if constexpr (is_invalid<V> || !used_once) {
    return false;
  } else if constexpr (TileLike<V>) {
    constexpr bool same = std::is_same_v<element_t<V>, T>;
    constexpr bool agrees = S::rank > 0 && broadcasts_to<S, V>();
    static_assert(same, "scatter, atomics: the tile's element must be the tensor's: use cast<T>(...)");
    static_assert(agrees,
                  "scatter, atomics: the value's shape must broadcast to that of the box or of the tiles of indices; "
                  "squeeze(x, axis<i>) drops an axis that a reduction kept");
    return same && agrees;
  } else {
    check_operands<scalar_problem<T, V>(), V, T>();
    return scalar_problem<T, V>() == Problem::none;
  }
}

}  // namespace detail

/// Scatters scatter(tensor, value, indices..., mask(m)), a statement. It writes each element of the value (a tile, or a
/// number in every element) at the indices' elements, as for gather. Places outside the tensor are dropped. Of several
/// elements that go to one place, one stays.
template <class P, class V, class... Rest>
class scatter {
  using facts = detail::TensorElement<P>;
  using S = detail::places_shape<Rest...>;
  using Check = detail::PlacesCheck<false, P, Rest...>;
  static constexpr bool writable = facts::writable, some_tile = S::rank > 0 || !Check::indices_are;
  static_assert(writable, "scatter: an in parameter must not be written; declare it out or inout");
  static_assert(
      some_tile,
      "scatter: at least one index must be a tile; store(tensor, shape<...>, value, indices...) writes a box");

 public:
  scatter(P const& tensor, V&& value, Rest&&... rest, location where = location::current()) {
    detail::check_places<false, P, Rest...>();
    if constexpr (Check::holds && writable && some_tile && detail::check_value<typename facts::type, S, V>()) {
      auto& recorder = trace::Recorder::current("scatter", where);
      detail::Places<Rest...> places{{{static_cast<Rest&&>(rest)}...}};
      trace::Id const id = detail::record_element<typename facts::type, S>(recorder, value, where);
      auto const ids = places.record(recorder, where);
      recorder.change(ir::ScatterOp{}, tensor.handle(), {id}, {ids.list, ids.filled}, where);
    }
  }
};
template <class P, class V, class... Rest>
scatter(P const&, V&&, Rest&&...) -> scatter<P, V, Rest...>;

}  // namespace tegula
