// Checks counts, ranks and elements at places, and the sorts that they make, on any executor against plain loops.
#pragma once

#include <algorithm>
#include <numeric>

#include "../../samples/sort_kernels.hpp"
#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// Counts, ranks, takes and puts in one tile.
template <class T, class D, std::int64_t N, std::int64_t B>
inline constexpr auto placed = kernel("placed", [](in<D, 1> digits, in<T, 1> x, in<int, 1> starts, in<int, 2> at,
                                                   in<int, 1> order, out<int, 1> counts, out<int, 2> numbers,
                                                   out<T, 2> taken, out<T, 1> ordered) {
  grid(1);
  tile d = load(digits, shape<N>, 0);
  tile v = load(x, shape<N>, 0);
  store(counts, shape<B>, bin_counts(d, bins<B>), 0);
  store(numbers, shape<1, N>, expand_dims(tegula::ranks(d, bins<B>), axis<0>), 0, 0);
  store(numbers, shape<1, N>, expand_dims(tegula::ranks(d, load(starts, shape<B>, 0)), axis<0>), 1, 0);
  store(taken, shape<3, 5>, take_at(v, load(at, shape<3, 5>, 0, 0)), 0, 0);
  store(ordered, shape<N>, put_at(v, load(order, shape<N>, 0)), 0);
});

template <class T, class D, std::int64_t N, std::int64_t B>
void check_placed(Executor on) {
  INFO(N << " elements, " << B << " bins");
  Array<D, 1> digits({N});
  // Many are equal, some are not bins.
  for (D& d : digits.values) d = static_cast<D>(draw_below(2) == 0 ? draw_below(B) : draw_below(B + 3) - 1);
  Array<T, 1> x({N}), ordered({N}, T(1));
  for (T& v : x.values) v = draw_number<T>();
  Array<int, 1> starts({B}), order({N}), counts({B}, -7);
  for (int& s : starts.values) s = static_cast<int>(draw_below(1000)) - 500;
  std::iota(order.values.begin(), order.values.end(), 0);
  std::shuffle(order.values.begin(), order.values.end(), indexed_engine());
  Array<int, 2> at({3, 5}), numbers({2, N}, -7);
  for (int& i : at.values) i = static_cast<int>(draw_below(N + 4)) - 2;
  Array<T, 2> taken({3, 5}, T(1));
  TEGULA_CHECK_RUN(on, (placed<T, D, N, B>), digits, x, starts, at, order, counts, numbers, taken, ordered);
  std::vector<int> found(static_cast<std::size_t>(B), 0);
  for (std::int64_t i = 0; i < N; ++i) {
    auto const d = static_cast<std::int64_t>(digits[i]);
    REQUIRE(numbers[i] == (inside(d, B) ? found[static_cast<std::size_t>(d)] : -1));
    REQUIRE(numbers[N + i] == (inside(d, B) ? starts[d] + found[static_cast<std::size_t>(d)] : -1));
    if (inside(d, B)) ++found[static_cast<std::size_t>(d)];
    REQUIRE(ordered[order[i]] == x[i]);
  }
  REQUIRE(counts.values == found);
  for (std::int64_t i = 0; i < 15; ++i) REQUIRE(taken[i] == (inside(at[i], N) ? x[at[i]] : T(0)));
}

/// Counts the values of rows, one tile after another, with what is loaded beside the last row masked by the pad.
inline constexpr auto counted_rows = kernel("counted_rows", [](in<int, 2> x, out<int, 1> counts, out<int, 1> ranked) {
  grid(1);
  tile all = loop(ceil_div(x.extent(0), 6), zeros<int>(shape<40>), [&](auto k, auto so_far) {
    return so_far + bin_counts(load(x, shape<6, 20>, k, 0, pad(-1)), bins<40>);
  });
  store(counts, shape<40>, all, 0);
  store(ranked, shape<40>, tegula::ranks(all & 7, cumsum(bin_counts(all & 7, bins<8>), axis<0>, exclusive)), 0);
});

inline void check_counted_rows(Executor on) {
  Array<int, 2> x({21, 17});
  Array<int, 1> counts({40}, -7), ranked({40}, -7);
  for (int& v : x.values) v = static_cast<int>(draw_below(44)) - 2;
  TEGULA_CHECK_RUN(on, counted_rows, x, counts, ranked);
  std::vector<int> found(40, 0);
  for (int const v : x.values)
    if (inside(v, 40)) ++found[static_cast<std::size_t>(v)];
  REQUIRE(counts.values == found);
  std::vector<int> order(40);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return (counts[a] & 7) < (counts[b] & 7); });
  for (int place = 0; place < 40; ++place) REQUIRE(ranked[order[static_cast<std::size_t>(place)]] == place);
}

inline void check_places(Executor on) {
  check_placed<float, int, 256, 16>(on);
  check_placed<std::uint32_t, std::uint32_t, 2048, 256>(on);
  check_placed<double, int, 96, 5>(on);
  check_placed<bf16, int, 37, 3>(on);
  check_placed<std::int8_t, std::uint32_t, 64, 300>(on);
  check_placed<std::uint64_t, int, 512, 2>(on);
  check_placed<f16, int, 24, 33>(on);
  check_placed<std::int64_t, std::uint32_t, 1, 1>(on);
  check_placed<float, int, 4096, 1>(on);
  check_counted_rows(on);
}

enum class Keys { any, equal, rising, falling, few, highest };

/// Makes keys to sort; of `highest` many are those that stand behind the end.
inline std::vector<std::uint32_t> make_keys(Keys keys, std::int64_t n) {
  std::vector<std::uint32_t> result(static_cast<std::size_t>(n));
  for (std::uint32_t& key : result) {
    auto const any = static_cast<std::uint32_t>(indexed_engine()());
    key = keys == Keys::equal                       ? 0x01020304U
          : keys == Keys::few                       ? (any & 3) * 0x01010155U
          : keys == Keys::highest && (any & 1) != 0 ? 0xFFFFFFFFU
                                                    : any;
  }
  if (keys == Keys::rising || keys == Keys::falling) std::sort(result.begin(), result.end());
  if (keys == Keys::falling) std::reverse(result.begin(), result.end());
  return result;
}

/// Sorts keys with their places as values, by parts of BN.
template <int BN>
void check_radix_sort(Executor on, Keys kind, std::int64_t n) {
  INFO(n << " keys of kind " << static_cast<int>(kind) << ", parts of " << BN);
  std::int64_t const parts = ceil_div(n, BN);
  Array<std::uint32_t, 1> keys = array_of(make_keys(kind, n)), from = keys, to({n}, 7);
  Array<int, 1> values({n}), moved({n}, -7);
  std::iota(values.values.begin(), values.values.end(), 0);
  Array<int, 2> totals({samples::sort_passes, samples::sort_digits}, -7);
  TEGULA_CHECK_RUN(on, samples::clear_counts<256>, totals);
  for (int pass = 0; pass < samples::sort_passes; ++pass) {
    Array<int, 2> counts({samples::sort_digits, parts}, -7), starts({samples::sort_digits, parts}, -7);
    Array<std::uint32_t, 1> alone({n}, 7);
    TEGULA_CHECK_RUN(on, samples::sort_count<BN>, from, counts, totals, pass);
    TEGULA_CHECK_RUN(on, samples::sort_starts<64>, counts, totals, starts, pass);
    TEGULA_CHECK_RUN(on, (samples::sort_pairs<BN, int>), from, values, counts, starts, to, moved, pass);
    TEGULA_CHECK_RUN(on, samples::sort_keys<BN>, from, counts, starts, alone, pass);
    REQUIRE(alone.values == to.values);
    std::swap(from, to);
    std::swap(values, moved);
  }
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
  REQUIRE(values.values == order);
  for (std::int64_t i = 0; i < n; ++i) REQUIRE(from[i] == keys[order[static_cast<std::size_t>(i)]]);
}

/// Checks sorts of sizes up to `most` keys.
template <int BN>
void check_radix_sorts(Executor on, std::int64_t most) {
  for (Keys const kind : {Keys::any, Keys::equal, Keys::rising, Keys::falling, Keys::few, Keys::highest})
    check_radix_sort<BN>(on, kind, most - 5);
  for (std::int64_t const n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{BN}, most})
    check_radix_sort<BN>(on, Keys::any, n);
}

template <int BN>
void check_counted_values(Executor on, std::int64_t n) {
  Array<std::uint32_t, 1> values({n});
  for (std::uint32_t& v : values.values) v = static_cast<std::uint32_t>(draw_below(260));
  Array<int, 2> counts({1, 256}, -7);
  TEGULA_CHECK_RUN(on, samples::clear_counts<256>, counts);
  TEGULA_CHECK_RUN(on, (samples::count_values<BN, 256>), values, counts);
  std::vector<int> found(256, 0);
  for (std::uint32_t const v : values.values)
    if (v < 256) ++found[v];
  REQUIRE(counts.values == found);
}

}  // namespace tegula::test
