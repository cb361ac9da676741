// Draws random numbers that a seed and a place decide: Philox4x32 with 10 rounds. The same seed and place give the same
// number in every tile shape, launch and executor.
//
// Philox: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.
#pragma once

#include "tegula/dsl/control.hpp"

namespace tegula {

namespace detail {

/// Accepts the places of random numbers: a tile of std::int32_t or std::int64_t.
template <class X>
concept PlaceTile = TileLike<X> && !is_invalid<X> &&
                    (std::is_same_v<element_t<X>, std::int32_t> || std::is_same_v<element_t<X>, std::int64_t>);
/// Accepts a seed: an integer or an integer scalar.
template <class X>
concept Seed = Integer<X> || IntegerScalar<X>;

/// Holds the four words that Philox makes of one counter.
template <class S>
struct RandomWords {
  tile<std::int32_t, S> word[4];
};

template <class S, class X>
RandomWords<S> random_words(X const& seed, tile<std::int64_t, S> const& counter, location where) {
  using Word = tile<std::int32_t, S>;
  using Wide = tile<std::int64_t, S>;
  constexpr std::int64_t low_bits = 0xFFFFFFFF;
  Wide const key(full<std::int64_t>(S(), seed), where);
  Word key0(cast<std::int32_t>(key), where), key1(cast<std::int32_t>(key >> 32), where);
  Word c0(cast<std::int32_t>(counter), where), c1(cast<std::int32_t>(counter >> 32), where);
  Word c2(full<std::int32_t>(S(), 0), where), c3(full<std::int32_t>(S(), 0), where);
  for (int round = 0; round < 10; ++round) {
    Wide const left((cast<std::int64_t>(c0) & low_bits) * std::int64_t{0xD2511F53}, where);
    Wide const right((cast<std::int64_t>(c2) & low_bits) * std::int64_t{0xCD9E8D57}, where);
    Word const n0(cast<std::int32_t>(right >> 32) ^ c1 ^ key0, where), n1(cast<std::int32_t>(right), where);
    Word const n2(cast<std::int32_t>(left >> 32) ^ c3 ^ key1, where), n3(cast<std::int32_t>(left), where);
    c0 = n0;
    c1 = n1;
    c2 = n2;
    c3 = n3;
    key0 = Word(key0 + static_cast<std::int32_t>(0x9E3779B9), where);
    key1 = Word(key1 + static_cast<std::int32_t>(0xBB67AE85), where);
  }
  return {{c0, c1, c2, c3}};
}
template <class X, PlaceTile C>
auto random_words_at(X const& seed, C&& place, location where) {
  using S = shape_t<C>;
  if constexpr (std::is_same_v<element_t<C>, std::int64_t>)
    return random_words<S>(seed, tile<std::int64_t, S>(let(static_cast<C&&>(place), where)), where);
  else
    return random_words<S>(seed, tile<std::int64_t, S>(cast<std::int64_t>(static_cast<C&&>(place)), where), where);
}
/// Returns the 24 high bits of a word as a number in [0, 1).
template <class S>
auto unit_float(tile<std::int32_t, S> const& word, location where) {
  return tile<float, S>(cast<float>((word >> 8) & 0xFFFFFF) * 0x1p-24F, where);
}

}  // namespace detail

/// Returns 32 random bits for each place: `random_bits(seed, iota(shape<1024>, axis<0>) + 1024 * block)`. The bits are
/// word 0 of Philox4x32-10 with counter (place, 0) and key seed, both of 64 bits.
template <detail::Seed X, detail::PlaceTile C>
auto random_bits(X const& seed, C&& place, location where = location::current()) {
  return detail::random_words_at(seed, static_cast<C&&>(place), where).word[0];
}

/// Returns f32 in [0, 1) for each place, in steps of 2^-24.
template <detail::Seed X, detail::PlaceTile C>
auto random_uniform(X const& seed, C&& place, location where = location::current()) {
  return detail::unit_float(detail::random_words_at(seed, static_cast<C&&>(place), where).word[0], where);
}

/// Returns f32 with the standard normal distribution for each place, by the method of Box and Muller from words 0
/// and 1. None is beyond 5.8.
template <detail::Seed X, detail::PlaceTile C>
auto random_normal(X const& seed, C&& place, location where = location::current()) {
  auto const words = detail::random_words_at(seed, static_cast<C&&>(place), where);
  using Float = tile<float, detail::shape_t<C>>;
  Float const radius(sqrt(-2.0F * log(1.0F - detail::unit_float(words.word[0], where))), where);
  return Float(radius * cos(detail::unit_float(words.word[1], where) * 6.2831853071795864F), where);
}

}  // namespace tegula
