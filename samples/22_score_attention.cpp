// Attends with scores and masks of one's own: ALiBi, a window, documents in a row, a soft cap, a list of blocks.
#include "score_attention_kernels.hpp"
#include "support/report.hpp"

#include <functional>

using namespace tegula;

namespace {

constexpr int block = 64, dim = 64, window = 50;
constexpr std::int64_t batch = 2, tokens = 200, heads = 3, blocks = (tokens + block - 1) / block;
constexpr float cap = 5;

/// Returns a score of a head's query and key, which it changes, or -inf where hidden.
using Score = std::function<double(double score, std::int64_t head, std::int64_t query, std::int64_t key)>;

/// Computes attention in float64; queries do not see later keys.
std::vector<double> reference(std::vector<double> const& q, std::vector<double> const& k, std::vector<double> const& v,
                              Score const& score) {
  std::vector<double> result(q.size(), 0);
  auto const row = [](std::int64_t b, std::int64_t t, std::int64_t h) { return ((b * tokens + t) * heads + h) * dim; };
  for (std::int64_t i = 0; i < batch * tokens * heads; ++i) {
    std::int64_t const head = i % heads, query = i / heads % tokens, b = i / heads / tokens;
    std::vector<double> weights;
    double total = 0;
    for (std::int64_t key = 0; key <= query; ++key) {
      double product = 0;
      for (std::int64_t d = 0; d < dim; ++d)
        product += q[static_cast<std::size_t>(i * dim + d)] * k[static_cast<std::size_t>(row(b, key, head) + d)];
      weights.push_back(std::exp(score(product / std::sqrt(double{dim}), head, query, key)));
      total += weights.back();
    }
    for (std::int64_t key = 0; key <= query; ++key)
      for (std::int64_t d = 0; d < dim; ++d)
        result[static_cast<std::size_t>(i * dim + d)] +=
            weights[static_cast<std::size_t>(key)] / total * v[static_cast<std::size_t>(row(b, key, head) + d)];
  }
  return result;
}

/// Each sequence is three documents.
std::int64_t start_of(std::int64_t token) { return token < 30 ? 0 : token < 170 ? 30 : 170; }

constexpr auto causal = [](auto query, auto key) { return key <= query; };

}  // namespace

int main() {
  return samples::guarded("22_score_attention", [] {
    device const where = device::best();
    stream const order(where);
    auto const q = samples::random_values<bf16>(batch * tokens * heads * dim);
    auto const k = samples::random_values<bf16>(batch * tokens * heads * dim),
               v = samples::random_values<bf16>(batch * tokens * heads * dim);
    auto const tensor = [&](auto const& values) {
      return samples::filled<bf16, 4>(where, values, batch, tokens, heads, dim);
    };
    auto const Q = tensor(q), K = tensor(k), V = tensor(v);
    std::vector<float> const slopes = {0.5F, 0.125F, 0.03125F};
    std::vector<int> starts, counts, listed;
    for (std::int64_t t = 0; t < batch * tokens; ++t) starts.push_back(static_cast<int>(start_of(t % tokens)));
    for (std::int64_t n = 0; n < batch * blocks; ++n) {  // the first block of keys and the own one
      auto const own = static_cast<int>(n % blocks);
      counts.push_back(own == 0 ? 1 : 2);
      listed.insert(listed.end(), {0, own});
    }
    auto const device_slopes = samples::filled<float, 1>(where, slopes, heads);
    auto const device_starts = samples::filled<int, 2>(where, starts, batch, tokens);
    auto const device_counts = samples::filled<int, 2>(where, counts, batch, blocks);
    auto const device_listed = samples::filled<int, 3>(where, listed, batch, blocks, 2);
    float const scale = 1 / std::sqrt(static_cast<float>(dim));

    samples::Comparison all(1e-2);
    std::vector<bf16> found(q.size());
    auto const check = [&](Score const& score, auto const& kernel, auto const&... arguments) {
      auto O = samples::poisoned<bf16, 4>(where, batch, tokens, heads, dim);
      auto const go = [&](auto const&... between) {
        return prepare(where, kernel, Q, K, V, between..., O, scale, arguments...);
      };
      double const seconds = samples::best_seconds(order, go(), 3);
      O.copy_to(found);
      all.join(
          samples::compare(found, reference(samples::exact(q), samples::exact(k), samples::exact(v), score), 1, 1e-2));
      return seconds;
    };
    auto const check_with = [&](Score const& score, auto const& kernel, auto const&... between) {
      auto O = samples::poisoned<bf16, 4>(where, batch, tokens, heads, dim);
      launch(order, kernel, Q, K, V, between..., O, scale);
      O.copy_to(found);
      all.join(
          samples::compare(found, reference(samples::exact(q), samples::exact(k), samples::exact(v), score), 1, 1e-2));
    };
    double const hidden = -std::numeric_limits<double>::infinity();
    double const seconds =
        check([&](double score, auto, auto query, auto key) { return query - key < window ? score : hidden; },
              samples::local_attention<block, block, dim>, window);
    check([](double score, auto, auto, auto) { return double{cap} * std::tanh(score / double{cap}); },
          samples::capped_attention<block, block, dim, false>, cap);
    check([](double score, auto, auto, auto) { return double{cap} * std::tanh(score / double{cap}); },
          samples::capped_attention<block, block, dim, true>, cap);
    check_with(
        [&](double score, auto head, auto query, auto key) {
          return score + static_cast<double>(slopes[static_cast<std::size_t>(head)]) * static_cast<double>(key - query);
        },
        samples::alibi_attention<block, block, dim>, device_slopes);
    check_with([&](double score, auto, auto query, auto key) { return key < start_of(query) ? hidden : score; },
               samples::document_attention<block, block, dim>, device_starts);
    check_with([&](double score, auto, auto query,
                   auto key) { return key / block == 0 || key / block == query / block ? score : hidden; },
               samples::listed_attention<block, block, dim>(causal), device_counts, device_listed);
    double const pairs = static_cast<double>(batch * heads * tokens) * window;
    return samples::report("22_score_attention", "2 x 3 heads, 200 tokens, six kinds of scores", where, seconds,
                           4e-9 * pairs * dim / seconds, "GFLOP/s", all);
  });
}
