// Counts and rotates bits of integer tiles.
#pragma once

#include "tegula/dsl/control.hpp"

namespace tegula {

namespace detail {

template <class X>
concept IntegerTile = TileLike<X> &&(is_invalid<X> || (std::is_integral_v<element_t<X>> && sizeof(element_t<X>) >= 4));

/// Counts by pairs, groups of four, bytes, and all bytes at once by a product. Masks make arithmetic shifts logical.
template <class T, class S>
tile<T, S> bit_count(tile<T, S> const& x, location where) {
  constexpr auto repeated = [](std::uint64_t byte) { return static_cast<T>(byte * 0x0101010101010101); };
  using Tile = tile<T, S>;
  Tile const pairs(x - ((x >> 1) & repeated(0x55)), where);
  Tile const fours((pairs & repeated(0x33)) + ((pairs >> 2) & repeated(0x33)), where);
  Tile const eights((fours + (fours >> 4)) & repeated(0x0F), where);
  return Tile((eights * repeated(0x01)) >> static_cast<int>(8 * sizeof(T) - 8), where);
}

/// Sets all bits below the highest one.
template <class T, class S>
tile<T, S> filled_below(tile<T, S> x, location where) {
  for (int step = 1; step < static_cast<int>(8 * sizeof(T)); step *= 2) x = tile<T, S>(x | (x >> step), where);
  return x;
}

/// Rotates to the left by shifts of the unsigned element, in which an amount of all bits shifts everything out.
template <class A, class N>
auto rotated(A&& a, N&& amount, bool left, location where) {
  using U = std::make_unsigned_t<element_t<A>>;
  using Tile = tile<U, shape_t<A>>;
  constexpr U bits = 8 * sizeof(U);
  Tile const x(cast<U>(static_cast<A&&>(a)), where);
  Tile by = [&] {
    if constexpr (TileLike<N>)
      return Tile(cast<U>(static_cast<N&&>(amount)), where);
    else
      return Tile(full<U>(shape_t<A>(), static_cast<U>(amount)), where);
  }();
  if (!left) by = Tile(bits - by, where);
  by = Tile(by & (bits - 1), where);
  return held_of<A>(cast<element_t<A>>((x << by) | (x >> (bits - by))), where);
}

}  // namespace detail

/// Rotates the bits of each element to the left, or to the right, by a number or by a tile of integers of its shape. Of
/// the amount the lowest 5 bits count, of 64-bit elements 6.
template <detail::IntegerTile A, class N>
requires(detail::Integer<N> || detail::IntegerTile<N>) auto rotate_left(A&& a, N&& amount,
                                                                        location where = location::current()) {
  return detail::rotated(static_cast<A&&>(a), static_cast<N&&>(amount), true, where);
}
template <detail::IntegerTile A, class N>
requires(detail::Integer<N> || detail::IntegerTile<N>) auto rotate_right(A&& a, N&& amount,
                                                                         location where = location::current()) {
  return detail::rotated(static_cast<A&&>(a), static_cast<N&&>(amount), false, where);
}

/// Counts the bits that are 1 in each element of a tile of integers of 32 or 64 bits.
template <detail::IntegerTile A>
auto population_count(A&& a, location where = location::current()) {
  return detail::bit_count(let(static_cast<A&&>(a), where), where);
}

/// Counts the bits that are 0 above the highest 1 in each element; 32 or 64 for 0.
template <detail::IntegerTile A>
auto leading_zeros(A&& a, location where = location::current()) {
  using T = detail::element_t<A>;
  auto const ones = detail::bit_count(detail::filled_below(let(static_cast<A&&>(a), where), where), where);
  return detail::held_of<A>(static_cast<T>(8 * sizeof(T)) - ones, where);
}

/// Counts the bits that are 0 below the lowest 1 in each element; 32 or 64 for 0.
template <detail::IntegerTile A>
auto trailing_zeros(A&& a, location where = location::current()) {
  using Tile = detail::held_of<A>;
  Tile const x(let(static_cast<A&&>(a), where));
  return detail::bit_count(Tile(~x & (x - 1), where), where);
}

}  // namespace tegula
