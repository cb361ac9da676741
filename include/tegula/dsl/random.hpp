// Draws random numbers that a seed and a place decide: Philox4x32 with 10 rounds (tegula/math/philox.hpp). The same
// seed and place give the same number in every tile shape, launch and executor. Four places share the words of a
// counter, so that a thread with places in a row computes them once.
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

/// Records the word of each place, or as i64 the two words of its pair.
template <class T, class S, class P>
tile<T, S> random_words(tile<std::int64_t, S> const& seed, tile<P, S> const& place, location where) {
  auto& recorder = trace::Recorder::current("random_bits", where);
  trace::Id const key = recorder.use(seed.handle(), where), at = recorder.use(place.handle(), where);
  return tile<T, S>(recorder.handle(recorder.emit(ir::RandomBitsOp{}, {key, at}, tile_type<T, S>, where)));
}
template <class T, class X, PlaceTile C>
auto random_words_at(X const& seed, C&& place, location where) {
  using S = shape_t<C>;
  tile<element_t<C>, S> const at(let(static_cast<C&&>(place), where));
  return random_words<T>(tile<std::int64_t, S>(full<std::int64_t>(S(), seed), where), at, where);
}
/// Returns the 24 high bits of a word as a number in [0, 1).
template <class S>
auto unit_float(tile<std::int32_t, S> const& word, location where) {
  return tile<float, S>(cast<float>((word >> 8) & 0xFFFFFF) * 0x1p-24F, where);
}

}  // namespace detail

/// Returns 32 random bits for each place: `random_bits(seed, iota(shape<1024>, axis<0>) + 1024 * block)`. The bits are
/// word place mod 4 of Philox4x32-10 with counter (place / 4, rounded down; 0) and key seed, both of 64 bits.
template <detail::Seed X, detail::PlaceTile C>
auto random_bits(X const& seed, C&& place, location where = location::current()) {
  return detail::random_words_at<std::int32_t>(seed, static_cast<C&&>(place), where);
}

/// Returns f32 in [0, 1) for each place, in steps of 2^-24.
template <detail::Seed X, detail::PlaceTile C>
auto random_uniform(X const& seed, C&& place, location where = location::current()) {
  return detail::unit_float(detail::random_words_at<std::int32_t>(seed, static_cast<C&&>(place), where), where);
}

/// Returns f32 with the standard normal distribution for each place, by the method of Box and Muller. Places 0 and 1 of
/// four are cosine and sine by words 0 and 1, places 2 and 3 by words 2 and 3. None is beyond 5.8.
template <detail::Seed X, detail::PlaceTile C>
auto random_normal(X const& seed, C&& place, location where = location::current()) {
  using S = detail::shape_t<C>;
  using Word = tile<std::int32_t, S>;
  using Float = tile<float, S>;
  tile<detail::element_t<C>, S> const at(let(static_cast<C&&>(place), where));
  auto const words = detail::random_words_at<std::int64_t>(seed, at, where);
  Word const size(cast<std::int32_t>(words), where), turn(cast<std::int32_t>(words >> 32), where);
  Float const radius(sqrt(-2.0F * log(1.0F - detail::unit_float(size, where))), where);
  Float const quarter(cast<float>(cast<std::int32_t>(at & 1)) * 0.25F, where);  // sin(a) = cos(a - pi / 2)
  return Float(radius * cos((detail::unit_float(turn, where) - quarter) * 6.2831853071795864F), where);
}

}  // namespace tegula
