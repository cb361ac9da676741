// Attends with one new token of each sequence: keys in one piece, shared among blocks, and in pages.
#include "decode_kernels.hpp"
#include "support/report.hpp"

using namespace tegula;

namespace {

constexpr int heads_of_keys = 2, group = 8, dim = 128, page = 16, splits = 4;
constexpr std::int64_t batch = 3, tokens = 208, heads = heads_of_keys * group, pages = tokens / page;
constexpr auto row = std::int64_t{heads_of_keys} * dim;  // elements of one token

/// Computes the attention of all heads in float64.
std::vector<double> reference(std::vector<double> const& q, std::vector<double> const& k, std::vector<double> const& v,
                              std::vector<int> const& lengths, double scale) {
  std::vector<double> result(q.size(), 0);
  for (std::int64_t i = 0; i < batch * heads; ++i) {
    std::int64_t const sequence = i / heads, first = (sequence * tokens * heads_of_keys + i % heads / group) * dim;
    std::vector<double> weights;
    double total = 0;
    for (std::int64_t t = 0; t < lengths[static_cast<std::size_t>(sequence)]; ++t) {
      double score = 0;
      for (std::int64_t d = 0; d < dim; ++d)
        score += q[static_cast<std::size_t>(i * dim + d)] * k[static_cast<std::size_t>(first + t * row + d)];
      weights.push_back(std::exp(score * scale));
      total += weights.back();
    }
    for (std::size_t t = 0; t < weights.size(); ++t)
      for (std::int64_t d = 0; d < dim; ++d)
        result[static_cast<std::size_t>(i * dim + d)] +=
            weights[t] / total * v[static_cast<std::size_t>(first + static_cast<std::int64_t>(t) * row + d)];
  }
  return result;
}

/// Puts the tokens of all sequences into pages, the last page first.
std::vector<bf16> in_pages(std::vector<bf16> const& cache) {
  std::vector<bf16> result(cache.size());
  constexpr auto size = static_cast<std::size_t>(page * row);
  std::size_t const count = cache.size() / size;
  for (std::size_t i = 0; i < cache.size(); ++i) result[(count - 1 - i / size) * size + i % size] = cache[i];
  return result;
}

}  // namespace

int main() {
  return samples::guarded("20_decode", [] {
    device const where = device::best();
    stream const order(where);
    auto const q = samples::random_values<bf16>(batch * heads * dim);
    auto const k = samples::random_values<bf16>(batch * tokens * row),
               v = samples::random_values<bf16>(batch * tokens * row);
    std::vector<int> const lengths = {208, 1, 77};
    std::vector<int> table;
    for (int i = 0; i < batch * pages; ++i) table.push_back(static_cast<int>(batch * pages) - 1 - i);
    float const scale = 1 / std::sqrt(static_cast<float>(dim));
    auto const Q = samples::filled<bf16, 3>(where, q, batch, heads, dim);
    auto const K = samples::filled<bf16, 4>(where, k, batch, tokens, heads_of_keys, dim);
    auto const V = samples::filled<bf16, 4>(where, v, batch, tokens, heads_of_keys, dim);
    auto const paged_K = samples::filled<bf16, 4>(where, in_pages(k), batch * pages, page, heads_of_keys, dim);
    auto const paged_V = samples::filled<bf16, 4>(where, in_pages(v), batch * pages, page, heads_of_keys, dim);
    auto const device_lengths = samples::filled<int, 1>(where, lengths, batch);
    auto const device_table = samples::filled<int, 2>(where, table, batch, pages);
    auto whole = samples::poisoned<bf16, 3>(where, batch, heads, dim),
         joined = samples::poisoned<bf16, 3>(where, batch, heads, dim);
    auto paged = samples::poisoned<bf16, 3>(where, batch, heads, dim);
    auto sums = samples::poisoned<float, 4>(where, splits, batch, heads, dim);
    auto tops = samples::poisoned<float, 3>(where, splits, batch, heads);
    auto totals = samples::poisoned<float, 3>(where, splits, batch, heads);
    launch(order, samples::decode_part<group, 64, dim>, Q, K, V, device_lengths, sums, tops, totals, scale);
    launch(order, samples::decode_join<splits, dim>, sums, tops, totals, joined);
    launch(order, samples::paged_decode<group, 64, page, dim>, Q, paged_K, paged_V, device_table, device_lengths, paged,
           scale);
    double const seconds = samples::best_seconds(
        order, prepare(where, samples::decode<group, 64, dim>, Q, K, V, device_lengths, whole, scale), 3);

    auto const expected =
        reference(samples::exact(q), samples::exact(k), samples::exact(v), lengths, static_cast<double>(scale));
    samples::Comparison all(8e-3);
    std::vector<bf16> found(q.size());
    for (auto* result : {&whole, &joined, &paged}) {
      result->copy_to(found);
      all.join(samples::compare(found, expected, 1, 8e-3));
    }
    return samples::report("20_decode", "3 sequences, 16 heads, contiguous, in parts, in pages", where, seconds,
                           4e-9 * static_cast<double>(batch * tokens * row) / seconds, "GB/s", all);
  });
}
