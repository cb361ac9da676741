// Defines counts of values, and a radix sort of integers with and without values. A program that launches these
// includes <tegula/tegula.hpp>.
#pragma once

#include <tegula/dsl/dsl.hpp>

#include <cstdint>

namespace samples {

using namespace tegula;

/// Clears counters.
template <int BN>
inline constexpr auto clear_counts = kernel("clear_counts", [](out<int, 2> counts) {
  auto g = grid_over(counts, shape<1, BN>);
  store(counts, shape<1, BN>, 0, g[0], g[1]);
});

/// Counts values below `bins`, which is the extent of the counts: a block counts BN values in shared memory, then adds
/// its counts to those of all blocks.
template <int BN, int bins_of_value>
inline constexpr auto count_values = kernel("count_values", [](in<std::uint32_t, 1> values, inout<int, 2> counts) {
  require(counts.extent(0) == 1, "count_values: the counts are one row");
  auto g = grid(ceil_div(values.extent(0), BN));
  tile v = load(values, shape<BN>, g[0], pad(0xFFFFFFFFU));  // outside the tensor: nothing is counted
  atomic_add(counts, shape<1, bins_of_value>, expand_dims(bin_counts(v, bins<bins_of_value>), axis<0>), 0, 0);
});

// A sort by digits of 8 bits, the lowest first. Each pass is three kernels: a block counts the digits of its part of
// the keys, the places at which the keys of each block and digit begin are summed up, and each block moves its keys
// there, grouped by digit. Equal digits keep their order, so the passes before stay in force.

inline constexpr std::int64_t sort_bits = 8, sort_digits = 256, sort_passes = 4;

/// Returns the digit of each key, as int.
template <class Key, class Shift>
auto sort_digit(Key const& key, Shift shift) {
  return let(cast<int>((key >> shift) & static_cast<std::uint32_t>(sort_digits - 1)));
}

/// Counts the digits of parts of BN keys: counts (digit, part), and those of all parts, totals (pass, digit).
template <int BN>
inline constexpr auto sort_count = kernel("sort_count", [](in<std::uint32_t, 1> keys, out<int, 2> counts,
                                                           inout<int, 2> totals, arg<int> pass) {
  require((counts.extent(0) == sort_digits) & (totals.extent(1) == sort_digits), "sort: digits have 8 bits");
  auto g = grid(ceil_div(keys.extent(0), BN));
  tile key = load(keys, shape<BN>, g[0], pad(0xFFFFFFFFU));
  tile count = bin_counts(sort_digit(key, cast<std::uint32_t>(pass * 8)), bins<sort_digits>);
  store(counts, shape<sort_digits, 1>, expand_dims(count, axis<1>), 0, g[0]);
  atomic_add(totals, shape<1, sort_digits>, expand_dims(count, axis<0>), pass, 0);
});

/// Computes the places at which the keys of each digit and part begin, from counts (digit, part). A block sums up one
/// digit, behind the keys of lower digits.
template <int BN>
inline constexpr auto sort_starts = kernel("sort_starts", [](in<int, 2> counts, in<int, 2> totals, out<int, 2> starts,
                                                             arg<int> pass) {
  auto g = grid(starts.extent(0));
  tile total = load(totals, shape<1, sort_digits>, pass, 0);
  auto first = sum(select(iota(shape<1, sort_digits>, axis<1>) < g[0], total, 0));
  loop(ceil_div(starts.extent(1), BN), carry(first), [&](auto k, auto so_far) {
    tile count = load(counts, shape<1, BN>, g[0], k);
    store(starts, shape<1, BN>, cumsum(count, axis<1>, exclusive) + so_far, g[0], k);
    return carry(so_far + sum(count));
  });
});

/// Moves a part of the keys to the places of their digits. The part is put in order in shared memory first: then
/// neighbours go to neighbouring places. Keys behind the end are the highest and the last, so they go behind the end.
template <int BN, class... Moved>
void sort_part(in<std::uint32_t, 1> const& keys, in<int, 2> const& counts, in<int, 2> const& starts,
               arg<int> const& pass, out<std::uint32_t, 1> const& sorted, Moved const&... moved) {
  auto g = grid(ceil_div(keys.extent(0), BN));
  auto shift = cast<std::uint32_t>(pass * 8);
  auto column = [&](auto const& of) { return let(squeeze(load(of, shape<sort_digits, 1>, 0, g[0]), axis<1>)); };
  tile key = load(keys, shape<BN>, g[0], pad(0xFFFFFFFFU));
  tile first = cumsum(column(counts), axis<0>, exclusive);  // of each digit, in the part
  tile place = ranks(sort_digit(key, shift), first);
  tile ordered = put_at(key, place);
  tile offset = column(starts) - first;
  tile to = take_at(offset, sort_digit(ordered, shift)) + iota<int>(shape<BN>, axis<0>);
  scatter(sorted, ordered, to);
  auto move = [&](auto const& values, auto const& sorted_values) {
    scatter(sorted_values, put_at(load(values, shape<BN>, g[0]), place), to);
  };
  if constexpr (sizeof...(Moved) != 0) move(moved...);
}

/// Moves keys by one digit.
template <int BN>
inline constexpr auto sort_keys = kernel("sort_keys",
                                         [](in<std::uint32_t, 1> keys, in<int, 2> counts, in<int, 2> starts,
                                            out<std::uint32_t, 1> sorted,
                                            arg<int> pass) { sort_part<BN>(keys, counts, starts, pass, sorted); });

/// Moves keys by one digit, and a value with each.
template <int BN, class T>
inline constexpr auto sort_pairs = kernel("sort_pairs",
                                          [](in<std::uint32_t, 1> keys, in<T, 1> values, in<int, 2> counts,
                                             in<int, 2> starts, out<std::uint32_t, 1> sorted, out<T, 1> sorted_values,
                                             arg<int> pass) {
                                            require(values.extent(0) == keys.extent(0), "sort: each key has a value");
                                            sort_part<BN>(keys, counts, starts, pass, sorted, values, sorted_values);
                                          });

}  // namespace samples
