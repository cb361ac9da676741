// Counts bits of integer tiles.
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

}  // namespace detail

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
