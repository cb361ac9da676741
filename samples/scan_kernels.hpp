// Defines a prefix sum of a long vector in one pass. A program that launches these includes <tegula/tegula.hpp>.
#pragma once

#include <tegula/dsl/dsl.hpp>

namespace samples {

using namespace tegula;

/// Clears what scan_long needs: a word for each block, and the number of the next block.
template <int BN>
inline constexpr auto scan_start = kernel("scan_start", [](out<std::uint64_t, 1> words, out<int, 1> next) {
  auto g = grid_over(words, shape<BN>);
  store(words, shape<BN>, 0, g[0]);
  if_(g[0] == 0, [&] { store(next, shape<1>, 0, 0); });
});

/// Computes y[i] = x[0] + ... + x[i]; sums wrap. Blocks take parts of BN elements in the order in which they begin. The
/// word of a part is a sum and, from bit 32 on, its state: 0, none yet; 1, the sum of the part; 2, of all up to its
/// end. A block adds up the words before its own, 32 at a time, back to one of state 2.
template <int BN>
inline constexpr auto scan_long = kernel("scan_long", [](in<std::uint32_t, 1> x, out<std::uint32_t, 1> y,
                                                         inout<std::uint64_t, 1> words, inout<int, 1> next) {
  constexpr int window = 32;
  constexpr std::uint64_t state_of_part = std::uint64_t{1} << 32, state_of_all = std::uint64_t{2} << 32;
  grid(ceil_div(x.extent(0), BN));
  auto part = atomic_add(next, 1, 0);
  tile v = load(x, shape<BN>, part);
  auto total = cast<std::uint64_t>(sum(v));
  auto state = select(part == 0, cast<std::uint64_t>(part) + state_of_all, state_of_part);
  atomic_exchange(words, state | total, part);
  tile place = iota<int>(shape<window>, axis<0>);
  auto [before, first] = while_(
      carry(cast<std::uint64_t>(total * 0), part), [&](auto, auto at) { return at > 0; },
      [&](auto so_far, auto at) {
        tile from = place + (at - window);
        tile word = atomic_or(words, std::uint64_t{0}, from, mask(from >= 0));
        tile known = word >= state_of_all;
        auto nearest = max(select(known, place, -1));  // the nearest of state 2
        tile needed = (place >= nearest) & (from >= 0);
        auto ready = all((word >= state_of_part) | !needed);
        auto more = sum(select(needed, word & 0xFFFFFFFF, 0));
        return carry(select(ready, so_far + more, so_far), select(ready, select(nearest >= 0, 0, at - window), at));
      });
  auto base = cast<std::uint32_t>(before);
  atomic_exchange(words, state_of_all | cast<std::uint64_t>(base + cast<std::uint32_t>(total)), part);
  store(y, shape<BN>, cumsum(v, axis<0>) + base, part);
});

}  // namespace samples
