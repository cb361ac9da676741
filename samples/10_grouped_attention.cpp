// Computes causal attention where a group of query heads shares one head of keys and values.
#include "support/report.hpp"

using namespace tegula;

namespace {

/// Works on tensors of (batch and head, token, d): the heads of all sequences, one after another.
template <int block, int d>
constexpr auto grouped_attention = kernel("grouped_attention", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V,
                                                                  out<bf16, 3> O, arg<float> scale_log2e,
                                                                  arg<int> group) {
  require(Q.extent(0) == K.extent(0) * group,
          "grouped_attention: each head of keys is for a group of heads of queries");
  require(Q.extent(1) == K.extent(1), "grouped_attention: there are as many keys as queries");
  auto g = grid_over(O, shape<block, d>);
  auto shared = g[0] / group;  // the group's head of keys and values
  tile q = load(Q, shape<block, d>, g[0], g[1], 0);
  tile query = iota(shape<block, 1>, axis<0>) + g[1] * block;
  auto [m, l, o] = loop(
      g[1] + 1,  // later keys are hidden from all of these queries
      carry(full(shape<block, 1>, -inf), zeros<float>(shape<block, 1>), zeros<float>(shape<block, d>)),
      [&](auto j, auto m0, auto l0, auto o0) {
        tile key = iota(shape<1, block>, axis<1>) + j * block;
        tile scores = dot(q, trans(load(K, shape<block, d>, shared, j, 0))) * scale_log2e;
        tile s = select(key <= query, scores, -inf);
        tile m1 = max(m0, max(s, axis<1>));
        tile p = exp2(s - m1);
        tile a = exp2(m0 - m1);
        return carry(m1, l0 * a + sum(p, axis<1>), dot(cast<bf16>(p), load(V, shape<block, d>, shared, j, 0), o0 * a));
      },
      stages<2>);
  store(O, shape<block, d>, cast<bf16>(o / l), g[0], g[1], 0);
});

}  // namespace

int main() {
  return samples::guarded("10_grouped_attention", [] {
    std::int64_t const batch = 2, tokens = 500;
    int const group = 4;
    std::int64_t const heads = batch * 8, shared_heads = heads / group;
    constexpr int d = 64;
    device const where = device::best();
    stream const order(where);
    auto const q = samples::random_values<bf16>(heads * tokens * d);
    auto const k = samples::random_values<bf16>(shared_heads * tokens * d);
    auto const v = samples::random_values<bf16>(shared_heads * tokens * d);
    auto const device_q = samples::filled<bf16, 3>(where, q, heads, tokens, d);
    auto const device_k = samples::filled<bf16, 3>(where, k, shared_heads, tokens, d);
    auto const device_v = samples::filled<bf16, 3>(where, v, shared_heads, tokens, d);
    auto device_o = samples::poisoned<bf16, 3>(where, heads, tokens, d);
    double const scale = 1 / std::sqrt(static_cast<double>(d));
    auto const scale_log2e = static_cast<float>(scale * 1.4426950408889634);

    double const seconds = samples::best_seconds(
        order, prepare(where, grouped_attention<128, d>, device_q, device_k, device_v, device_o, scale_log2e, group));

    std::vector<bf16> o(q.size());
    device_o.copy_to(o);
    auto const x = samples::exact(q), y = samples::exact(k), z = samples::exact(v);
    std::vector<double> expected(o.size()), p(static_cast<std::size_t>(tokens));
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t i = 0; i < tokens; ++i) {
        double const* row = x.data() + (h * tokens + i) * d;
        double const* keys = y.data() + h / group * tokens * d;
        double const* values = z.data() + h / group * tokens * d;
        double* out_row = expected.data() + (h * tokens + i) * d;
        double sum = 0;
        for (std::int64_t j = 0; j <= i; ++j) {
          double s = 0;
          for (int e = 0; e < d; ++e) s += row[e] * keys[j * d + e];
          sum += p[static_cast<std::size_t>(j)] = std::exp(s * scale);
        }
        for (std::int64_t j = 0; j <= i; ++j)
          for (int e = 0; e < d; ++e) out_row[e] += p[static_cast<std::size_t>(j)] / sum * values[j * d + e];
      }
    return samples::report("10_grouped_attention",
                           samples::text(heads, " heads on ", shared_heads, ", ", tokens, " x ", d), where, seconds,
                           2e-9 * static_cast<double>(heads * tokens * (tokens + 1) * d) / seconds, "GFLOP/s",
                           samples::compare(o, expected, 1, 4e-3));
  });
}
