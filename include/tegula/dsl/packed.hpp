// Takes bytes apart into elements of 4 bits, and puts those together again.
#pragma once

#include "tegula/dsl/regroup.hpp"

namespace tegula {

/// Name the elements of 4 bits, two in a byte: signed from -8 to 7, unsigned from 0 to 15. They are not elements of
/// tiles or tensors: unpack<i4> and pack<i4> go between bytes that hold them and tiles of std::int8_t.
struct i4 {
  using unpacked = std::int8_t;
};
struct u4 {
  using unpacked = std::uint8_t;
};

namespace detail {

template <class X>
concept Packed4 = std::is_same_v<X, i4> || std::is_same_v<X, u4>;
template <class A>
inline constexpr bool holds_bytes =
    std::is_same_v<element_t<A>, std::int8_t> || std::is_same_v<element_t<A>, std::uint8_t>;
/// Integers that pack takes: those of bytes and those that kernels compute with.
template <class A>
inline constexpr bool holds_integers = is_integer(element_v<element_t<A>>);

/// Returns the bits shift .. shift + 3 of each byte, with their sign or without.
template <Packed4 P, class T, class S>
auto four_bits(tile<T, S> const& bytes, int shift, location where) {
  using U = typename P::unpacked;
  using Tile = tile<U, S>;
  if constexpr (std::is_same_v<P, i4>)
    return Tile(cast<U>((cast<int>(bytes, where) << (28 - shift)) >> 28, where), where);
  else
    return Tile(cast<U>((cast<int>(bytes, where) >> shift) & 15, where), where);
}

}  // namespace detail

/// Unpacks a tile of bytes (std::int8_t or std::uint8_t) along an axis, the last one unless another is named. The low
/// half of byte n is element 2 n, the high half element 2 n + 1. `unpack<i4>(load(w, shape<64, 32>, k, n))` returns 64
/// x 64 elements of std::int8_t, unpack<u4> of std::uint8_t.
template <detail::Packed4 P, detail::TileLike A, int along>
auto unpack(A&& bytes, Axis<along>, location where = location::current()) {
  using U = typename P::unpacked;
  constexpr bool used_once = !detail::named_recipe<A>, invalid = detail::is_invalid<A>;
  constexpr bool of_bytes = invalid || detail::holds_bytes<A>;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(of_bytes, "unpack: the tile must be of std::int8_t or std::uint8_t, with two elements in each byte");
  if constexpr (!used_once || invalid || !of_bytes) {
    return detail::Invalid<U, detail::shape_t<A>>();
  } else {
    auto const held = let(static_cast<A&&>(bytes), where);
    auto const low = detail::four_bits<P>(held, 0, where), high = detail::four_bits<P>(held, 4, where);
    return interleave(low, high, Axis<along>(), where);
  }
}
template <detail::Packed4 P, detail::TileLike A>
auto unpack(A&& bytes, location where = location::current()) {
  return unpack<P>(static_cast<A&&>(bytes), Axis<-1>(), where);
}

/// Packs the low 4 bits of integers into bytes, the reverse of unpack. Elements 2 n and 2 n + 1 along the axis become
/// byte n. Values beyond -8 to 7, or 0 to 15, lose their high bits.
template <detail::Packed4 P, detail::TileLike A, int along>
auto pack(A&& elements, Axis<along>, location where = location::current()) {
  using U = typename P::unpacked;
  using E = detail::Paired<detail::shape_t<A>, along>;
  constexpr bool used_once = !detail::named_recipe<A>, invalid = detail::is_invalid<A>;
  constexpr bool integers = invalid || detail::holds_integers<A>;
  constexpr bool even = invalid || E::holds;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(integers, "pack: the tile must be of integers: use cast<int>(x)");
  static_assert(even, "pack: the tile must have this axis, with an even extent, and at most 7 axes");
  if constexpr (!used_once || invalid || !integers || !even) {
    return detail::Invalid<U, detail::shape_t<A>>();
  } else {
    auto const [low, high] = deinterleave(static_cast<A&&>(elements), Axis<along>(), where);
    using Bytes = tile<U, detail::shape_t<decltype(low)>>;
    return Bytes(cast<U>((cast<int>(low, where) & 15) | (cast<int>(high, where) << 4), where), where);
  }
}
template <detail::Packed4 P, detail::TileLike A>
auto pack(A&& elements, location where = location::current()) {
  return pack<P>(static_cast<A&&>(elements), Axis<-1>(), where);
}

}  // namespace tegula
