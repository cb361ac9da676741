// Checks kernels whose indices are values, on any executor: scalar loads, gathers, scatters and atomics.
#pragma once

#include <algorithm>
#include <numeric>
#include <random>

#include "support/catch.hpp"
#include "support/executors.hpp"
#include "support/random.hpp"

namespace tegula::test {

inline std::mt19937_64& indexed_engine() {
  static std::mt19937_64 instance(data_seed);
  return instance;
}
inline std::int64_t draw_below(std::int64_t bound) {
  return static_cast<std::int64_t>(indexed_engine()() % static_cast<std::uint64_t>(bound));
}
template <class T>
T draw_number() {
  return static_cast<T>(static_cast<int>(draw_below(2001)) - 1000);
}
/// Draws indices of which some lie outside 0 .. extent - 1.
template <class I>
Array<I, 1> draw_indices(std::int64_t count, std::int64_t extent) {
  Array<I, 1> result({count});
  for (I& index : result.values) index = static_cast<I>(draw_below(extent + 8) - 4);
  return result;
}
inline bool inside(std::int64_t index, std::int64_t extent) { return index >= 0 && index < extent; }

/// Looks up rows of a table: the row's number is read by the block.
template <class T, class I>
inline constexpr auto embedding = kernel("embedding", [](in<T, 2> table, in<I, 1> words, out<T, 2> y) {
  auto g = grid_over(y, shape<64>);
  auto word = load(words, g[0]);
  store(y, shape<64>, load(table, shape<64>, word, g[1], pad(7)), g[0], g[1]);
});

template <class T, class I>
void check_embedding(Executor on) {
  Array<T, 2> table({19, 150});
  for (T& x : table.values) x = draw_number<T>();
  Array<I, 1> words = draw_indices<I>(23, 19);
  Array<T, 2> y({23, 150}, T(-1));
  TEGULA_CHECK_RUN(on, (embedding<T, I>), table, words, y);
  for (std::int64_t i = 0; i < 23; ++i)
    for (std::int64_t j = 0; j < 150; ++j)
      REQUIRE(y[i * 150 + j] == (inside(words[i], 19) ? table[words[i] * 150 + j] : T(7)));
}

/// Sums the rows of a sparse matrix (CSR) times a vector: bounds of the loop are read, columns are gathered.
inline constexpr auto sparse_rows = kernel("sparse_rows", [](in<std::int64_t, 1> starts, in<int, 1> columns,
                                                             in<float, 1> values, in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<>);
  auto begin = load(starts, g[0]), end = load(starts, g[0] + 1);
  tile sums = loop(range(begin, end, 32), zeros<float>(shape<32>), [&](auto at, auto sum) {
    tile place = at + iota(shape<32>, axis<0>);
    tile column = load(columns, shape<32>, elem(at), pad(-1));
    tile product = load(values, shape<32>, elem(at)) * gather(x, column);
    return sum + select(place < end, product, 0);
  });
  store(y, shape<1>, sum(sums, axis<0>), elem(g[0]));
});

inline void check_sparse_rows(Executor on) {
  std::int64_t const rows = 37, width = 211;
  std::vector<std::int64_t> starts = {0};
  std::vector<int> columns;
  std::vector<float> values;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t n = draw_below(r % 5 == 0 ? 1 : 90); n > 0; --n) {
      columns.push_back(static_cast<int>(draw_below(width)));
      values.push_back(draw_number<float>());
    }
    starts.push_back(static_cast<std::int64_t>(columns.size()));
  }
  columns.push_back(0), values.push_back(0);  // a tensor is not empty
  auto a = array_of(starts);
  auto b = array_of(columns);
  auto c = array_of(values);
  Array<float, 1> x({width}), y({rows}, -1);
  for (float& v : x.values) v = draw_number<float>();
  TEGULA_CHECK_RUN(on, sparse_rows, a, b, c, x, y);
  for (std::int64_t r = 0; r < rows; ++r) {
    double sum = 0, size = 0;
    for (std::int64_t k = starts[static_cast<std::size_t>(r)]; k < starts[static_cast<std::size_t>(r) + 1]; ++k) {
      double const product = static_cast<double>(c[k]) * static_cast<double>(x[b[k]]);
      sum += product, size += std::abs(product);
    }
    REQUIRE(std::abs(static_cast<double>(y[r]) - sum) <= 1e-5 * size);
  }
}

/// Reads a value that this kernel writes: the block doubles one counter until it is large enough.
inline constexpr auto read_again = kernel("read_again", [](inout<int, 1> x, out<int, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(x, shape<1>, full<int>(shape<1>, 5), elem(g[0]));
  auto n = load(x, g[0]);
  store(x, shape<1>, full<int>(shape<1>, 3), elem(g[0]));
  auto m = load(x, g[0]);
  if_(n > m, [&] { store(y, shape<64>, full(shape<64>, n * 10 + m), g[0]); });
});

inline void check_read_again(Executor on) {
  Array<int, 1> x({3}, 1), y({150}, -1);
  TEGULA_CHECK_RUN(on, read_again, x, y);
  for (int v : y.values) REQUIRE(v == 53);
  for (int v : x.values) REQUIRE(v == 3);
}

/// Gathers from a matrix by tiles of rows and columns that broadcast, with a mask.
template <class T, class I>
inline constexpr auto picks = kernel("picks", [](in<T, 2> x, in<I, 1> rows, out<T, 2> y, arg<std::int64_t> stop) {
  auto g = grid_over(y, shape<16, 32>);
  tile row = expand_dims(load(rows, shape<16>, g[0], pad(-1)), axis<1>);
  tile column = iota<I>(shape<1, 32>, axis<1>) * 3 + cast<I>(full(shape<1, 32>, g[1] * 96));
  store(y, shape<16, 32>, gather(x, row, column, mask(column < cast<I>(full(shape<1, 32>, stop))), pad(2)), g[0], g[1]);
});

template <class T, class I>
void check_picks(Executor on) {
  Array<T, 2> x({21, 130});
  for (T& v : x.values) v = draw_number<T>();
  Array<I, 1> rows = draw_indices<I>(45, 21);
  Array<T, 2> y({45, 50}, T(-1));
  std::int64_t const stop = 100;
  TEGULA_CHECK_RUN(on, (picks<T, I>), x, rows, y, stop);
  for (std::int64_t i = 0; i < 45; ++i)
    for (std::int64_t j = 0; j < 50; ++j) {
      bool const in = inside(rows[i], 21) && 3 * j < stop;
      REQUIRE(y[i * 50 + j] == (in ? x[rows[i] * 130 + 3 * j] : T(2)));
    }
}

/// Scatters rows to the places that a permutation names.
template <class T>
inline constexpr auto permuted = kernel("permuted", [](in<T, 2> x, in<int, 1> order, out<T, 2> y) {
  auto g = grid_over(x, shape<8, 64>);
  tile to = expand_dims(load(order, shape<8>, g[0], pad(-1)), axis<1>);
  tile column = iota(shape<1, 64>, axis<1>) + g[1] * 64;
  scatter(y, load(x, shape<8, 64>, g[0], g[1]), to, column);
});

template <class T>
void check_permuted(Executor on) {
  std::int64_t const rows = 29, columns = 75;
  Array<T, 2> x({rows, columns}), y({rows, columns}, T(-1));
  for (T& v : x.values) v = draw_number<T>();
  Array<int, 1> order({rows});
  std::iota(order.values.begin(), order.values.end(), 0);
  std::shuffle(order.values.begin(), order.values.end(), indexed_engine());
  TEGULA_CHECK_RUN(on, permuted<T>, x, order, y);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) REQUIRE(y[order[i] * columns + j] == x[i * columns + j]);
}

/// Counts values by their classes.
inline constexpr auto histogram = kernel("histogram", [](in<int, 1> classes, inout<int, 1> counts) {
  auto g = grid_over(classes, shape<256>);
  atomic_add(counts, 1, load(classes, shape<256>, g[0], pad(-1)));
});

inline void check_histogram(Executor on) {
  auto classes = draw_indices<int>(1500, 37);
  Array<int, 1> counts({37}, 100);
  TEGULA_CHECK_RUN(on, histogram, classes, counts);
  std::vector<int> expected(37, 100);
  for (int c : classes.values)
    if (inside(c, 37)) ++expected[static_cast<std::size_t>(c)];
  REQUIRE(counts.values == expected);
}

/// Changes elements by every atomic in turn; `operation` counts them.
template <int operation, class T>
inline constexpr auto atomics = kernel("atomics", [](in<T, 1> x, in<std::int64_t, 1> to, inout<T, 1> y) {
  auto g = grid_over(x, shape<128>);
  tile value = load(x, shape<128>, g[0]);
  tile at = load(to, shape<128>, g[0], pad(-1));
  if constexpr (operation == 0) atomic_add(y, value, at);
  if constexpr (operation == 1) atomic_min(y, value, at);
  if constexpr (operation == 2) atomic_max(y, value, at);
  if constexpr (operation == 3) atomic_and(y, value, at);
  if constexpr (operation == 4) atomic_or(y, value, at);
  if constexpr (operation == 5) atomic_xor(y, value, at);
});

template <int operation, class T>
void check_atomics(Executor on) {
  std::int64_t const count = 700, classes = 9;
  Array<T, 1> x({count}), y({classes});
  for (T& v : x.values) v = static_cast<T>(static_cast<int>(draw_below(41)) - 20);  // sums stay exact in 16 bits
  for (T& v : y.values) v = static_cast<T>(static_cast<int>(draw_below(9)) - 4);
  auto to = draw_indices<std::int64_t>(count, classes);
  if constexpr (sizeof(T) == 2)  // few enough that sums stay exact in 8 bits of mantissa
    for (std::int64_t i = 0; i < count; ++i)
      if (i % 90 != 0) to[i] = -1;
  std::vector<T> expected = y.values;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!inside(to[i], classes)) continue;
    T& e = expected[static_cast<std::size_t>(to[i])];
    T const v = x[i];
    if constexpr (operation == 0) e = static_cast<T>(static_cast<double>(e) + static_cast<double>(v));
    if constexpr (operation == 1) e = static_cast<double>(v) < static_cast<double>(e) ? v : e;
    if constexpr (operation == 2) e = static_cast<double>(v) > static_cast<double>(e) ? v : e;
    if constexpr (operation == 3) e = e & v;
    if constexpr (operation == 4) e = e | v;
    if constexpr (operation == 5) e = e ^ v;
  }
  TEGULA_CHECK_RUN(on, (atomics<operation, T>), x, to, y);
  for (std::size_t i = 0; i < expected.size(); ++i)
    REQUIRE(static_cast<double>(y.values[i]) == static_cast<double>(expected[i]));
}

/// Takes one number for each element from a counter: none is given twice. Then one for the block.
inline constexpr auto tickets = kernel("tickets", [](inout<int, 1> counter, out<int, 1> mine, out<int, 1> blocks) {
  auto g = grid_over(mine, shape<64>);
  tile place = iota(shape<64>, axis<0>) + g[0] * 64;
  tile ticket = atomic_add(counter, 1, iota(shape<64>, axis<0>) * 0, mask(place < mine.extent(0)));
  store(mine, shape<64>, ticket, g[0]);
  auto turn = atomic_add(counter, 1, 1);
  store(blocks, shape<1>, full(shape<1>, turn), elem(g[0]));
});

inline void check_tickets(Executor on) {
  Array<int, 1> counter({2}, 0), mine({500}, -1), blocks({8}, -1);
  TEGULA_CHECK_RUN(on, tickets, counter, mine, blocks);
  std::sort(mine.values.begin(), mine.values.end());
  for (int i = 0; i < 500; ++i) REQUIRE(mine[i] == i);
  std::sort(blocks.values.begin(), blocks.values.end());
  for (int i = 0; i < 8; ++i) REQUIRE(blocks[i] == i);
  REQUIRE(counter.values == std::vector<int>{500, 8});
}

/// Claims places by compare-and-exchange: each holds the number of the one element that came first.
template <class T>
inline constexpr auto claims = kernel("claims", [](in<int, 1> to, inout<T, 1> owner, out<T, 1> seen) {
  auto g = grid_over(to, shape<128>);
  tile at = load(to, shape<128>, g[0], pad(-1));
  tile me = cast<T>(iota(shape<128>, axis<0>) + g[0] * 128 + 1);
  store(seen, shape<128>, atomic_compare_exchange(owner, 0, me, at), g[0]);
});

/// Counts elements so that the number of each is exact in T.
template <class T>
inline constexpr std::int64_t exact_numbers = std::is_same_v<T, bf16> ? 250 : 600;

template <class T>
void check_claims(Executor on) {
  std::int64_t const count = exact_numbers<T>;
  auto to = draw_indices<int>(count, 50);
  Array<T, 1> owner({50}, T(0)), seen({count}, T(-1));
  TEGULA_CHECK_RUN(on, claims<T>, to, owner, seen);
  std::vector<int> winners(50, 0);
  for (std::int64_t i = 0; i < count; ++i) {
    if (!inside(to[i], 50)) {
      REQUIRE(seen[i] == T(0));
      continue;
    }
    bool const won = owner[to[i]] == T(static_cast<int>(i + 1));
    winners[static_cast<std::size_t>(to[i])] += won ? 1 : 0;
    REQUIRE((won ? seen[i] == T(0) : seen[i] == owner[to[i]]));
  }
  for (std::int64_t c = 0; c < 50; ++c)
    REQUIRE(winners[static_cast<std::size_t>(c)] == (std::count(to.values.begin(), to.values.end(), c) > 0 ? 1 : 0));
}

/// Passes numbers on by exchange: each element leaves its own and takes the one that it finds.
template <class T>
inline constexpr auto passes_on = kernel("passes_on", [](in<int, 1> to, inout<T, 1> held, out<T, 1> taken) {
  auto g = grid_over(to, shape<128>);
  tile at = load(to, shape<128>, g[0], pad(-1));
  tile me = cast<T>(iota(shape<128>, axis<0>) + g[0] * 128 + 1);
  store(taken, shape<128>, atomic_exchange(held, me, at), g[0]);
});

/// No number is lost and none is taken twice.
template <class T>
void check_exchanges(Executor on) {
  std::int64_t const count = exact_numbers<T>;
  auto to = draw_indices<int>(count, 50);
  Array<T, 1> held({50}, T(0)), taken({count}, T(-1));
  TEGULA_CHECK_RUN(on, passes_on<T>, to, held, taken);
  std::vector<int> found(static_cast<std::size_t>(count + 1), 0);
  auto const see = [&](T number) { ++found.at(static_cast<std::size_t>(static_cast<double>(number))); };
  for (T number : held.values) see(number);
  std::int64_t outside = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    see(taken[i]);
    if (inside(to[i], 50)) continue;
    ++outside;
    REQUIRE(taken[i] == T(0));
  }
  REQUIRE(found[0] == 50 + outside);
  for (std::int64_t i = 0; i < count; ++i)
    REQUIRE(found[static_cast<std::size_t>(i + 1)] == (inside(to[i], 50) ? 1 : 0));
}

/// Multiplies each block of rows with its expert's weights: one launch for a mixture of experts.
inline constexpr auto experts =
    kernel("experts", [](in<bf16, 2> x, in<bf16, 3> weights, in<int, 1> expert, out<float, 2> y) {
      auto g = grid_over(y, shape<64, 64>);
      auto e = load(expert, g[0]);
      tile sums = loop(
          ceil_div(x.extent(1), 32), zeros<float>(shape<64, 64>),
          [&](auto k, auto sum) {
            return dot(load(x, shape<64, 32>, g[0], k), load(weights, shape<32, 64>, e, k, g[1]), sum);
          },
          stages<3>);
      store(y, shape<64, 64>, sums, g[0], g[1]);
    });

inline void check_experts(Executor on) {
  std::int64_t const rows = 256, depth = 96, columns = 128, count = 3;
  Array<bf16, 2> x({rows, depth});
  Array<bf16, 3> weights({count, depth, columns});
  for (bf16& v : x.values) v = bf16(static_cast<float>(draw_below(9)) - 4);
  for (bf16& v : weights.values) v = bf16(static_cast<float>(draw_below(9)) - 4);
  Array<int, 1> expert({rows / 64});
  for (int& e : expert.values) e = static_cast<int>(draw_below(count + 1)) - (draw_below(4) == 0 ? 1 : 0);
  Array<float, 2> y({rows, columns}, -1);
  TEGULA_CHECK_RUN(on, experts, x, weights, expert, y);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; j += 7) {
      int const e = expert[i / 64];
      float sum = 0;
      for (std::int64_t k = 0; k < depth && inside(e, count); ++k)
        sum += static_cast<float>(x[i * depth + k]) * static_cast<float>(weights[(e * depth + k) * columns + j]);
      REQUIRE(y[i * columns + j] == sum);
    }
}

/// Sums pages that a table lists: the page's number is read in each iteration, ahead of its copy.
inline constexpr auto paged =
    kernel("paged", [](in<float, 3> pages, in<int, 2> table, in<int, 1> lengths, out<float, 2> y) {
      auto g = grid_over(y, shape<1, 64>);
      tile total = loop(
          load(lengths, g[0]), zeros<float>(shape<16, 64>),
          [&](auto k, auto sum) {
            tile page = load(pages, shape<16, 64>, load(table, g[0], k), 0, g[1]);
            return sum + page;
          },
          stages<3>);
      store(y, shape<1, 64>, sum(total, axis<0>), g[0], g[1]);
    });

inline void check_paged(Executor on) {
  std::int64_t const count = 13, sequences = 6, longest = 7;
  Array<float, 3> pages({count, 16, 64});
  for (float& v : pages.values) v = static_cast<float>(draw_below(17)) - 8;
  Array<int, 2> table({sequences, longest});
  for (int& p : table.values) p = static_cast<int>(draw_below(count));
  Array<int, 1> lengths({sequences});
  for (std::int64_t s = 0; s < sequences; ++s) lengths[s] = static_cast<int>(s == 2 ? 0 : draw_below(longest + 1));
  Array<float, 2> y({sequences, 64}, -1);
  TEGULA_CHECK_RUN(on, paged, pages, table, lengths, y);
  for (std::int64_t s = 0; s < sequences; ++s)
    for (std::int64_t j = 0; j < 64; ++j) {
      float sum = 0;
      for (int k = 0; k < lengths[s]; ++k)
        for (std::int64_t r = 0; r < 16; ++r) sum += pages[(table[s * longest + k] * 16 + r) * 64 + j];
      REQUIRE(y[s * 64 + j] == sum);
    }
}

inline void check_loads_of_scalars(Executor on) {
  check_embedding<float, int>(on);
  check_embedding<bf16, std::int64_t>(on);
  check_embedding<std::int8_t, int>(on);
  check_sparse_rows(on);
  check_read_again(on);
  check_experts(on);
  check_paged(on);
}
inline void check_gathers(Executor on) {
  check_picks<float, int>(on);
  check_picks<f16, std::int64_t>(on);
  check_picks<std::int64_t, int>(on);
  check_picks<double, std::int64_t>(on);
  check_permuted<float>(on);
  check_permuted<bf16>(on);
  check_permuted<std::int8_t>(on);
  check_permuted<double>(on);
}
template <class T>
void check_atomic_numbers(Executor on) {
  check_atomics<0, T>(on);
  check_atomics<1, T>(on);
  check_atomics<2, T>(on);
}
inline void check_all_atomics(Executor on) {
  check_histogram(on);
  check_tickets(on);
  check_atomic_numbers<int>(on);
  check_atomic_numbers<std::int64_t>(on);
  check_atomic_numbers<float>(on);
  check_atomic_numbers<double>(on);
  check_atomic_numbers<f16>(on);
  check_atomic_numbers<bf16>(on);
  check_atomics<3, int>(on);
  check_atomics<4, std::int64_t>(on);
  check_atomics<5, int>(on);
  check_claims<int>(on);
  check_claims<std::int64_t>(on);
  check_claims<float>(on);
  check_claims<std::int16_t>(on);
  check_claims<f16>(on);
  check_claims<bf16>(on);
  check_exchanges<int>(on);
  check_exchanges<double>(on);
  check_exchanges<std::uint16_t>(on);
  check_exchanges<f16>(on);
  check_exchanges<bf16>(on);
}

}  // namespace tegula::test
