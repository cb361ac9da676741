// Lesson 7 of lib/doc/tutorial.md: computes attention without storing the matrix of scores.
#include <tegula/tegula.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

using namespace tegula;

// [begin: kernel]
/// Q, K, V and O are heads x tokens x D.
template <int D>
constexpr auto attention = kernel("attention", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V, out<bf16, 3> O,
                                                  arg<float> scale) {
  auto g = grid_over(O, shape<1, 64, D>);         // g[0]: head, g[1]: 64 queries
  tile q = load(Q, shape<64, D>, g[0], g[1], 0);  // one head, so a matrix
  auto [m, l, o] = loop(
      ceil_div(K.extent(1), 64),
      carry(full(shape<64, 1>, -inf), zeros<float>(shape<64, 1>), zeros<float>(shape<64, D>)),
      [&](auto j, auto m0, auto l0, auto o0) {
        tile scores = dot(q, trans(load(K, shape<64, D>, g[0], j, 0))) * scale;  // 64 queries x 64 keys
        tile s = mask_outside(scores, axis<1>, j, K.extent(1), -inf);
        tile m1 = max(m0, max(s, axis<1>));  // the maximum so far
        tile p = exp(s - m1);
        tile a = exp(m0 - m1);  // what came before was weighted by an older maximum
        return carry(m1, l0 * a + sum(p, axis<1>), dot(cast<bf16>(p), load(V, shape<64, D>, g[0], j, 0), o0 * a));
      },
      stages<2>);
  store(O, shape<64, D>, cast<bf16>(o / l), g[0], g[1], 0);
});
// [end]

int main() {
  std::mt19937 engine(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  device const where = device::best();
  stream const order(where);

  std::size_t const heads = 2, queries = 100, keys = 150, d = 64;
  std::vector<bf16> q(heads * queries * d), k(heads * keys * d), v(heads * keys * d), o(heads * queries * d);
  for (auto* values : {&q, &k, &v})
    for (bf16& value : *values) value = bf16(uniform(engine));
  buffer<bf16, 3> Q(where, heads, queries, d), K(where, heads, keys, d), V(where, heads, keys, d),
      O(where, heads, queries, d);
  Q.copy_from(q);
  K.copy_from(k);
  V.copy_from(v);
  // [begin: launch]
  launch(order, attention<d>, Q, K, V, O, 1 / std::sqrt(static_cast<float>(d)));
  // [end]
  O.copy_to(o);

  double worst = 0;
  std::vector<double> p(keys);
  for (std::size_t h = 0; h < heads; ++h)
    for (std::size_t i = 0; i < queries; ++i) {
      double total = 0;
      for (std::size_t j = 0; j < keys; ++j) {
        double score = 0;
        for (std::size_t e = 0; e < d; ++e)
          score += static_cast<double>(q[(h * queries + i) * d + e]) * static_cast<double>(k[(h * keys + j) * d + e]);
        total += p[j] = std::exp(score / std::sqrt(static_cast<double>(d)));
      }
      for (std::size_t e = 0; e < d; ++e) {
        double expected = 0;
        for (std::size_t j = 0; j < keys; ++j)
          expected += p[j] / total * static_cast<double>(v[(h * keys + j) * d + e]);
        worst = std::max(worst, std::abs(static_cast<double>(o[(h * queries + i) * d + e]) - expected));
      }
    }
  std::printf("attention of %zu heads, %zu queries, %zu keys: %s\n", heads, queries, keys,
              worst < 4e-3 ? "right" : "wrong");
}

// [begin: output]
// attention of 2 heads, 100 queries, 150 keys: right
// [end]
