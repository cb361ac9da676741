// Solves the exercises of lesson 7.
#include "exercises.hpp"

using namespace tegula;
using namespace exercises;

// [begin: exercise 1]
template <int D>
constexpr auto causal_attention = kernel("causal_attention", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V,
                                                                out<bf16, 3> O, arg<float> scale) {
  require(Q.extent(1) == K.extent(1), "causal_attention: there are as many queries as keys");
  auto g = grid_over(O, shape<1, 64, D>);
  tile q = load(Q, shape<64, D>, g[0], g[1], 0);
  tile query = iota(shape<64, 1>, axis<0>) + g[1] * 64;
  auto [m, l, o] = loop(
      g[1] + 1,  // keys behind the block's last query are not read
      carry(full(shape<64, 1>, -inf), zeros<float>(shape<64, 1>), zeros<float>(shape<64, D>)),
      [&](auto j, auto m0, auto l0, auto o0) {
        tile scores = dot(q, trans(load(K, shape<64, D>, g[0], j, 0))) * scale;
        tile key = iota(shape<1, 64>, axis<1>) + j * 64;
        tile s = select(key <= query, scores, -inf);
        tile m1 = max(m0, max(s, axis<1>));
        tile p = exp(s - m1);
        tile a = exp(m0 - m1);
        return carry(m1, l0 * a + sum(p, axis<1>), dot(cast<bf16>(p), load(V, shape<64, D>, g[0], j, 0), o0 * a));
      },
      stages<2>);
  store(O, shape<64, D>, cast<bf16>(o / l), g[0], g[1], 0);
});
// [end]

// [begin: exercise 2]
template <int D>
constexpr auto attention_with_sums = kernel("attention_with_sums", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V,
                                                                      out<bf16, 3> O, out<float, 2> sums,
                                                                      arg<float> scale) {
  auto g = grid_over(O, shape<1, 64, D>);
  tile q = load(Q, shape<64, D>, g[0], g[1], 0);
  auto [m, l, o] = loop(
      ceil_div(K.extent(1), 64),
      carry(full(shape<64, 1>, -inf), zeros<float>(shape<64, 1>), zeros<float>(shape<64, D>)),
      [&](auto j, auto m0, auto l0, auto o0) {
        tile scores = dot(q, trans(load(K, shape<64, D>, g[0], j, 0))) * scale;
        tile s = mask_outside(scores, axis<1>, j, K.extent(1), -inf);
        tile m1 = max(m0, max(s, axis<1>));
        tile p = exp(s - m1);
        tile a = exp(m0 - m1);
        return carry(m1, l0 * a + sum(p, axis<1>), dot(cast<bf16>(p), load(V, shape<64, D>, g[0], j, 0), o0 * a));
      },
      stages<2>);
  store(O, shape<64, D>, cast<bf16>(o / l), g[0], g[1], 0);
  store(sums, shape<64>, squeeze(m + log(l), axis<1>), g[0], g[1]);
});
// [end]

// [begin: exercise 3]
template <int D>
constexpr auto grouped_attention = kernel("grouped_attention", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V,
                                                                  out<bf16, 3> O, arg<float> scale) {
  auto g = grid_over(O, shape<1, 64, D>);
  auto head = g[0] / (Q.extent(0) / K.extent(0));  // of K and V
  tile q = load(Q, shape<64, D>, g[0], g[1], 0);
  auto [m, l, o] = loop(
      ceil_div(K.extent(1), 64),
      carry(full(shape<64, 1>, -inf), zeros<float>(shape<64, 1>), zeros<float>(shape<64, D>)),
      [&](auto j, auto m0, auto l0, auto o0) {
        tile scores = dot(q, trans(load(K, shape<64, D>, head, j, 0))) * scale;
        tile s = mask_outside(scores, axis<1>, j, K.extent(1), -inf);
        tile m1 = max(m0, max(s, axis<1>));
        tile p = exp(s - m1);
        tile a = exp(m0 - m1);
        return carry(m1, l0 * a + sum(p, axis<1>), dot(cast<bf16>(p), load(V, shape<64, D>, head, j, 0), o0 * a));
      },
      stages<2>);
  store(O, shape<64, D>, cast<bf16>(o / l), g[0], g[1], 0);
});
// [end]

/// Holds inputs and the expected results in double.
struct Problem {
  static constexpr std::size_t d = 64;
  std::size_t heads, queries, keys, groups;
  bool causal = false;
  device where = device::best();
  std::vector<bf16> q = random_values<bf16>(heads * queries * d), k = random_values<bf16>(heads / groups * keys * d),
                    v = random_values<bf16>(heads / groups * keys * d);
  buffer<bf16, 3> Q = filled<bf16, 3>(where, q, heads, queries, d),
                  K = filled<bf16, 3>(where, k, heads / groups, keys, d),
                  V = filled<bf16, 3>(where, v, heads / groups, keys, d),
                  O = poisoned<bf16, 3>(where, heads, queries, d);
  std::vector<double> expected = {}, logs = {};

  void solve() {
    auto const x = exact(q), y = exact(k), z = exact(v);
    std::vector<double> p(keys);
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t i = 0; i < queries; ++i) {
        std::size_t const first = h / groups * keys, count = causal ? i + 1 : keys;
        double total = 0;
        for (std::size_t j = 0; j < count; ++j) {
          double score = 0;
          for (std::size_t e = 0; e < d; ++e) score += x[(h * queries + i) * d + e] * y[(first + j) * d + e];
          total += p[j] = std::exp(score / 8);
        }
        logs.push_back(std::log(total));
        for (std::size_t e = 0; e < d; ++e) {
          double sum = 0;
          for (std::size_t j = 0; j < count; ++j) sum += p[j] / total * z[(first + j) * d + e];
          expected.push_back(sum);
        }
      }
  }
};

Comparison exercise_1() {
  Problem one{.heads = 2, .queries = 100, .keys = 100, .groups = 1, .causal = true};
  one.solve();
  launch(stream(one.where), causal_attention<64>, one.Q, one.K, one.V, one.O, 0.125F);
  return compare(read(one.O), one.expected, 1, 4e-3);
}

Comparison exercise_2() {
  Problem one{.heads = 2, .queries = 70, .keys = 130, .groups = 1};
  one.solve();
  auto sums = poisoned<float, 2>(one.where, one.heads, one.queries);
  launch(stream(one.where), attention_with_sums<64>, one.Q, one.K, one.V, one.O, sums, 0.125F);
  Comparison all = compare(read(one.O), one.expected, 1, 4e-3);
  all.join(compare(read(sums), one.logs, 1, 1e-5));
  return all;
}

Comparison exercise_3() {
  Problem one{.heads = 4, .queries = 70, .keys = 130, .groups = 2};
  one.solve();
  launch(stream(one.where), grouped_attention<64>, one.Q, one.K, one.V, one.O, 0.125F);
  return compare(read(one.O), one.expected, 1, 4e-3);
}

int main() { return run({exercise_1, exercise_2, exercise_3}); }
