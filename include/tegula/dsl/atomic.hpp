// Changes elements of global memory atomically, at indices that tiles hold or one at an index expression.
#pragma once

#include "tegula/dsl/gather.hpp"

namespace tegula {

/// Says what an atomic orders besides its own element, for the whole CTA. Relaxed, where no order is given: nothing.
/// - release: the CTA's accesses before it come before it, for each CTA that acquires from it;
/// - acquire: the CTA's accesses after it come after all that a release of the same element, seen here, published;
/// - acq_rel: both.
/// A CTA that waits for another one needs both to run at once: the kernel's author sees to that.
namespace order {
template <ir::MemoryOrder of>
struct Memory {
  static constexpr ir::MemoryOrder orders = of;
};
inline constexpr Memory<ir::MemoryOrder::relaxed> relaxed;
inline constexpr Memory<ir::MemoryOrder::acquire> acquire;
inline constexpr Memory<ir::MemoryOrder::release> release;
inline constexpr Memory<ir::MemoryOrder::acq_rel> acq_rel;
}  // namespace order

/// Names the threads for which an atomic is one step, and that its order reaches. They are those of its own CTA, of the
/// device (the default), or of all devices and the host.
namespace scope {
template <ir::AtomicScope of>
struct Memory {
  static constexpr ir::AtomicScope reaches = of;
};
inline constexpr Memory<ir::AtomicScope::block> block;
inline constexpr Memory<ir::AtomicScope::device> device;
inline constexpr Memory<ir::AtomicScope::system> system;
}  // namespace scope

namespace detail {

/// Collects the order and the scope among the arguments of an atomic.
template <class... Rest>
struct AtomicOptions {
  static constexpr ir::MemoryOrder order = ir::MemoryOrder::relaxed;
  static constexpr ir::AtomicScope scope = ir::AtomicScope::device;
};
template <class First, class... Rest>
struct AtomicOptions<First, Rest...> : AtomicOptions<Rest...> {};
template <class First, class... Rest>
requires requires { bare<First>::orders; }
struct AtomicOptions<First, Rest...> : AtomicOptions<Rest...> {
  static constexpr ir::MemoryOrder order = bare<First>::orders;
};
template <class First, class... Rest>
requires requires { bare<First>::reaches; }
struct AtomicOptions<First, Rest...> : AtomicOptions<Rest...> {
  static constexpr ir::AtomicScope scope = bare<First>::reaches;
};

/// Finds the result of an atomic: a tile, or without tiles of indices a scalar.
template <class T, class S>
using old_elements =
    std::conditional_t<S::rank == 0, scalar<T>, tile<T, std::conditional_t<S::rank == 0, Shape<1>, S>>>;

template <class P>
inline constexpr bool is_inout = TensorElement<P>::readable&& TensorElement<P>::writable;

/// Records an atomic update and returns the old elements.
template <ir::AtomicCombine combine, class P, class V, class... Rest>
class Update : public old_elements<typename TensorElement<P>::type, places_shape<Rest...>> {
  using T = typename TensorElement<P>::type;
  using S = places_shape<Rest...>;
  using Base = old_elements<T, S>;
  static constexpr bool whole = is_integer(element_v<T>) && is_arithmetic(element_v<T>);
  static constexpr bool wide = bits(element_v<T>) >= 16;
  static constexpr bool bitwise = combine == ir::AtomicCombine::bit_and || combine == ir::AtomicCombine::bit_or ||
                                  combine == ir::AtomicCombine::bit_xor;
  static constexpr bool defined = bitwise                                  ? whole
                                  : combine == ir::AtomicCombine::exchange ? wide
                                                                           : is_arithmetic(element_v<T>);
  static_assert(is_inout<P>, "atomics: the tensor is read and written, so it must be inout");
  static_assert(
      defined,
      "atomics: sums, min and max must be of f16, bf16 or numbers of 32 and 64 bits, bit operations of integers of "
      "32 and 64 bits, exchanges of elements of 16 bits and more");

 public:
  Update(P const& tensor, V&& value, Rest&&... rest, location where = location::current())
      : Base(record(tensor, value, rest..., where)) {
    check_places<true, P, Rest...>();
  }

 private:
  static trace::Handle record(P const& tensor, std::remove_reference_t<V>& value,
                              std::remove_reference_t<Rest>&... rest, location where) {
    if constexpr (PlacesCheck<true, P, Rest...>::holds && defined && is_inout<P> && check_value<T, S, V>()) {
      auto& recorder = trace::Recorder::current("an atomic", where);
      Places<Rest...> places{{{static_cast<Rest&&>(rest)}...}};
      trace::Id const id = record_element<T, S>(recorder, value, where);
      auto const ids = places.record(recorder, where);
      return recorder.handle(recorder.change(
          ir::make_op<ir::AtomicUpdateOp>(combine, AtomicOptions<Rest...>::order, AtomicOptions<Rest...>::scope),
          tensor.handle(), {id}, {ids.list, ids.filled}, where));
    } else {
      return {};
    }
  }
};

/// Records an atomic update of the elements of a box, and returns nothing.
template <ir::AtomicCombine combine, class P, class S, class V, class... Rest>
class UpdateBox {
  using facts = TensorElement<P>;
  using T = typename facts::type;
  static constexpr bool is_tensor = TensorLike<P>, inout = is_inout<P>, defined = is_arithmetic(element_v<T>);
  static constexpr bool rank_fits = !is_tensor || S::rank <= facts::rank,
                        index_count_fits = !is_tensor || sizeof...(Rest) == facts::rank,
                        indices_are = (IndexLike<Rest> && ...);
  static_assert(is_tensor, "atomics: the first argument must be a tensor parameter");
  static_assert(inout, "atomics: the tensor is read and written, so it must be inout");
  static_assert(defined, "atomics: sums, min and max must be of f16, bf16 or numbers of 32 and 64 bits");
  static_assert(rank_fits, "atomics: the shape must not have more axes than the tensor");
  static_assert(index_count_fits, "atomics: one index must be given per axis of the tensor");
  static_assert(indices_are, "atomics: an index of a box must be an integer, an index expression or elem(k)");

 public:
  UpdateBox(P const& tensor, std::remove_reference_t<V>& value, Rest const&... rest, location where) {
    if constexpr (is_tensor && inout && defined && rank_fits && index_count_fits && indices_are &&
                  check_value<T, S, V>()) {
      auto& recorder = trace::Recorder::current("an atomic", where);
      Coordinates<facts::rank> coordinates;
      (coordinates.add(rest), ...);
      trace::Id const id = record_element<T, S>(recorder, value, where);
      ir::AtomicUpdateOp op;
      op.combine = combine;
      op.box = true;
      recorder.change_box(op, tensor.handle(), id, coordinates.list, facts::rank, where);
    }
  }
};

}  // namespace detail

// Atomics take (inout tensor, value, indices..., mask(m), order::..., scope::...) and are statements. They return the
// old elements in a tile of the shape of the tiles of indices. Where no index is a tile, they return a scalar, and the
// CTA makes the change once. Places outside the tensor stay as they are and return 0. Other CTAs see a change as one,
// in any order.
//
// Sums, min and max also take a box, as store does: (inout tensor, shape<...>, value, indices...). They return nothing.
// The copy engine makes such changes of the results of products, where it can write the tensor.

/// Adds to elements atomically; f16 and bf16 round after each sum.
template <class P, class V, class... Rest>
class atomic_add : public detail::Update<ir::AtomicCombine::add, P, V, Rest...> {
 public:
  using detail::Update<ir::AtomicCombine::add, P, V, Rest...>::Update;
};
template <class P, class V, class... Rest>
atomic_add(P const&, V&&, Rest&&...) -> atomic_add<P, V, Rest...>;
template <class P, std::int64_t... extents, class V, class... Rest>
class atomic_add<P, Shape<extents...>, V, Rest...>
    : public detail::UpdateBox<ir::AtomicCombine::add, P, Shape<extents...>, V, Rest...> {
 public:
  atomic_add(P const& tensor, Shape<extents...>, V&& value, Rest... rest, location where = location::current())
      : detail::UpdateBox<ir::AtomicCombine::add, P, Shape<extents...>, V, Rest...>(tensor, value, rest..., where) {}
};
template <class P, std::int64_t... extents, class V, class... Rest>
atomic_add(P const&, Shape<extents...>, V&&, Rest...) -> atomic_add<P, Shape<extents...>, V, Rest...>;

/// Replaces elements by the min of them and the value; a NaN gives the other.
template <class P, class V, class... Rest>
class atomic_min : public detail::Update<ir::AtomicCombine::min, P, V, Rest...> {
 public:
  using detail::Update<ir::AtomicCombine::min, P, V, Rest...>::Update;
};
template <class P, class V, class... Rest>
atomic_min(P const&, V&&, Rest&&...) -> atomic_min<P, V, Rest...>;
template <class P, std::int64_t... extents, class V, class... Rest>
class atomic_min<P, Shape<extents...>, V, Rest...>
    : public detail::UpdateBox<ir::AtomicCombine::min, P, Shape<extents...>, V, Rest...> {
 public:
  atomic_min(P const& tensor, Shape<extents...>, V&& value, Rest... rest, location where = location::current())
      : detail::UpdateBox<ir::AtomicCombine::min, P, Shape<extents...>, V, Rest...>(tensor, value, rest..., where) {}
};
template <class P, std::int64_t... extents, class V, class... Rest>
atomic_min(P const&, Shape<extents...>, V&&, Rest...) -> atomic_min<P, Shape<extents...>, V, Rest...>;

/// Replaces elements by the max of them and the value; a NaN gives the other.
template <class P, class V, class... Rest>
class atomic_max : public detail::Update<ir::AtomicCombine::max, P, V, Rest...> {
 public:
  using detail::Update<ir::AtomicCombine::max, P, V, Rest...>::Update;
};
template <class P, class V, class... Rest>
atomic_max(P const&, V&&, Rest&&...) -> atomic_max<P, V, Rest...>;
template <class P, std::int64_t... extents, class V, class... Rest>
class atomic_max<P, Shape<extents...>, V, Rest...>
    : public detail::UpdateBox<ir::AtomicCombine::max, P, Shape<extents...>, V, Rest...> {
 public:
  atomic_max(P const& tensor, Shape<extents...>, V&& value, Rest... rest, location where = location::current())
      : detail::UpdateBox<ir::AtomicCombine::max, P, Shape<extents...>, V, Rest...>(tensor, value, rest..., where) {}
};
template <class P, std::int64_t... extents, class V, class... Rest>
atomic_max(P const&, Shape<extents...>, V&&, Rest...) -> atomic_max<P, Shape<extents...>, V, Rest...>;

/// Replaces elements by their bits that the value has too.
template <class P, class V, class... Rest>
class atomic_and : public detail::Update<ir::AtomicCombine::bit_and, P, V, Rest...> {
 public:
  using detail::Update<ir::AtomicCombine::bit_and, P, V, Rest...>::Update;
};
template <class P, class V, class... Rest>
atomic_and(P const&, V&&, Rest&&...) -> atomic_and<P, V, Rest...>;

/// Sets the bits of elements that the value has.
template <class P, class V, class... Rest>
class atomic_or : public detail::Update<ir::AtomicCombine::bit_or, P, V, Rest...> {
 public:
  using detail::Update<ir::AtomicCombine::bit_or, P, V, Rest...>::Update;
};
template <class P, class V, class... Rest>
atomic_or(P const&, V&&, Rest&&...) -> atomic_or<P, V, Rest...>;

/// Flips the bits of elements that the value has.
template <class P, class V, class... Rest>
class atomic_xor : public detail::Update<ir::AtomicCombine::bit_xor, P, V, Rest...> {
 public:
  using detail::Update<ir::AtomicCombine::bit_xor, P, V, Rest...>::Update;
};
template <class P, class V, class... Rest>
atomic_xor(P const&, V&&, Rest&&...) -> atomic_xor<P, V, Rest...>;

/// Replaces elements by the value.
template <class P, class V, class... Rest>
class atomic_exchange : public detail::Update<ir::AtomicCombine::exchange, P, V, Rest...> {
 public:
  using detail::Update<ir::AtomicCombine::exchange, P, V, Rest...>::Update;
};
template <class P, class V, class... Rest>
atomic_exchange(P const&, V&&, Rest&&...) -> atomic_exchange<P, V, Rest...>;

/// Replaces elements whose bits equal `expected` by the value: (inout tensor, expected, value, indices..., mask(m)).
/// The change was made where the result equals `expected`.
template <class P, class E, class V, class... Rest>
class atomic_compare_exchange
    : public detail::old_elements<typename detail::TensorElement<P>::type, detail::places_shape<Rest...>> {
  using T = typename detail::TensorElement<P>::type;
  using S = detail::places_shape<Rest...>;
  using Base = detail::old_elements<T, S>;
  static constexpr bool wide = bits(element_v<T>) >= 16;
  static_assert(detail::is_inout<P>, "atomics: the tensor is read and written, so it must be inout");
  static_assert(wide, "atomic_compare_exchange: elements must have 16, 32 or 64 bits");

 public:
  atomic_compare_exchange(P const& tensor, E&& expected, V&& value, Rest&&... rest,
                          location where = location::current())
      : Base(record(tensor, expected, value, rest..., where)) {
    detail::check_places<true, P, Rest...>();
  }

 private:
  static trace::Handle record(P const& tensor, std::remove_reference_t<E>& expected, std::remove_reference_t<V>& value,
                              std::remove_reference_t<Rest>&... rest, location where) {
    if constexpr (detail::PlacesCheck<true, P, Rest...>::holds && wide && detail::is_inout<P> &&
                  detail::check_value<T, S, E>() && detail::check_value<T, S, V>()) {
      auto& recorder = trace::Recorder::current("atomic_compare_exchange", where);
      detail::Places<Rest...> places{{{static_cast<Rest&&>(rest)}...}};
      trace::Id const wanted = detail::record_element<T, S>(recorder, expected, where);
      trace::Id const id = detail::record_element<T, S>(recorder, value, where);
      auto const ids = places.record(recorder, where);
      using Options = detail::AtomicOptions<Rest...>;
      return recorder.handle(recorder.change(ir::make_op<ir::CompareExchangeOp>(Options::order, Options::scope),
                                             tensor.handle(), {wanted, id}, {ids.list, ids.filled}, where));
    } else {
      return {};
    }
  }
};
template <class P, class E, class V, class... Rest>
atomic_compare_exchange(P const&, E&&, V&&, Rest&&...) -> atomic_compare_exchange<P, E, V, Rest...>;

}  // namespace tegula
