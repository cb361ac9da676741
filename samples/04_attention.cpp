// Computes attention with an online softmax: the rows of scores never leave the block.
#include "kernels.hpp"
#include "support/report.hpp"

using namespace tegula;

int main() {
  return samples::guarded("04_attention", [] {
    std::int64_t const heads = 8, queries = 500, keys = 700;
    constexpr int d = 64;
    device const where = device::best();
    stream const order(where);
    auto const q = samples::random_values<bf16>(heads * queries * d);
    auto const k = samples::random_values<bf16>(heads * keys * d);
    auto const v = samples::random_values<bf16>(heads * keys * d);
    auto const device_q = samples::filled<bf16, 3>(where, q, heads, queries, d);
    auto const device_k = samples::filled<bf16, 3>(where, k, heads, keys, d);
    auto const device_v = samples::filled<bf16, 3>(where, v, heads, keys, d);
    auto device_o = samples::poisoned<bf16, 3>(where, heads, queries, d);
    double const scale = 1 / std::sqrt(static_cast<double>(d));
    auto const scale_log2e = static_cast<float>(scale * 1.4426950408889634);

    double const seconds = samples::best_seconds(
        order, prepare(where, samples::attention<128, 128, d>, device_q, device_k, device_v, device_o, scale_log2e));

    std::vector<bf16> o(q.size());
    device_o.copy_to(o);
    auto const x = samples::exact(q), y = samples::exact(k), z = samples::exact(v);
    std::vector<double> expected(o.size()), p(static_cast<std::size_t>(keys));
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t i = 0; i < queries; ++i) {
        double const* row = x.data() + (h * queries + i) * d;
        double* out_row = expected.data() + (h * queries + i) * d;
        double sum = 0;
        for (std::int64_t j = 0; j < keys; ++j) {
          double const* key = y.data() + (h * keys + j) * d;
          double s = 0;
          for (int e = 0; e < d; ++e) s += row[e] * key[e];
          sum += p[static_cast<std::size_t>(j)] = std::exp(s * scale);
        }
        for (std::int64_t j = 0; j < keys; ++j)
          for (int e = 0; e < d; ++e)
            out_row[e] += p[static_cast<std::size_t>(j)] / sum * z[static_cast<std::size_t>((h * keys + j) * d + e)];
      }
    return samples::report("04_attention", samples::text(heads, " heads, ", queries, " x ", keys, " x ", d), where,
                           seconds, 4e-9 * static_cast<double>(heads * queries * keys * d) / seconds, "GFLOP/s",
                           samples::compare(o, expected, 1, 4e-3));
  });
}
