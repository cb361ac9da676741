// Finds the largest of many logits, and draws tokens from those that make up a share of the probability (top-p).
#include "sampling_kernels.hpp"
#include "support/report.hpp"

#include <numeric>

using namespace tegula;

namespace {

constexpr std::int64_t rows = 4, columns = 5003, wanted = 50, draws = 512, few = 40;
constexpr float temperature = 0.8F, share = 0.9F;

/// Returns the probability of each logit of a row.
std::vector<double> probabilities(double const* logits, std::int64_t count) {
  std::vector<double> result;
  double const top = *std::max_element(logits, logits + count);
  for (std::int64_t i = 0; i < count; ++i) result.push_back(std::exp((logits[i] - top) / double{temperature}));
  double const total = std::accumulate(result.begin(), result.end(), 0.0);
  for (double& one : result) one /= total;
  return result;
}

/// Returns how often each token should be drawn: those of higher probability make up less than the share.
std::vector<double> expected_draws(std::vector<double> const& p) {
  std::vector<double> result;
  for (double const own : p) {
    double above = 0;
    for (double const other : p) above += other > own ? other : 0;
    result.push_back(above < double{share} ? own : 0);
  }
  double const kept = std::accumulate(result.begin(), result.end(), 0.0);
  for (double& one : result) one *= double{draws} / kept;
  return result;
}

}  // namespace

int main() {
  return samples::guarded("25_sampling", [] {
    device const where = device::best();
    stream const order(where);
    auto logits = samples::random_values<float>(rows * columns);
    for (float& x : logits) x = std::round(4000 * x) / 500;  // equal ones among them
    auto const X = samples::filled<float, 2>(where, logits, rows, columns);
    auto maxima = samples::poisoned<float, 2>(where, rows, ceil_div(columns, samples::maximum_group));
    auto V = samples::poisoned<float, 2>(where, rows, wanted);
    auto I = samples::poisoned<int, 2>(where, rows, wanted);
    auto const find_maxima = prepare(samples::group_maxima<1024>, X, maxima);
    auto const find_largest = prepare(samples::largest_of_groups<64, 256>, X, maxima, V, I);
    double const seconds = samples::best_seconds(
        order,
        [&](stream const& on) {
          find_maxima(on);
          find_largest(on);
        },
        3);

    std::vector<double> values, tokens;
    for (std::int64_t row = 0; row < rows; ++row) {
      float const* const x = logits.data() + row * columns;
      std::vector<int> ids(columns);
      std::iota(ids.begin(), ids.end(), 0);
      std::stable_sort(ids.begin(), ids.end(), [x](int a, int b) { return x[a] > x[b]; });
      for (std::int64_t i = 0; i < wanted; ++i) {
        int const token = ids[static_cast<std::size_t>(i)];
        values.push_back(double{x[token]});
        tokens.push_back(token);
      }
    }
    std::vector<float> found(values.size());
    std::vector<int> places(tokens.size());
    V.copy_to(found);
    I.copy_to(places);
    samples::Comparison all = samples::compare(found, values, 0, 0);
    all.join(samples::compare(places, tokens, 0, 0));

    // Many rows of the same logits: tokens are drawn as often as they should be, up to five standard deviations.
    auto same = samples::random_values<float>(few);
    for (float& x : same) x *= 2;
    std::vector<float> copies;
    for (std::int64_t i = 0; i < draws; ++i) copies.insert(copies.end(), same.begin(), same.end());
    auto const C = samples::filled<float, 2>(where, copies, draws, few);
    auto T = samples::poisoned<int, 1>(where, draws), L = samples::poisoned<int, 1>(where, rows);
    launch(order, samples::draw_top_p<64>, C, T, temperature, share, 7);
    launch(order, samples::draw_top_p<1024>, X, L, temperature, share, 7);
    std::vector<int> drawn(draws), counts(few, 0), long_drawn(rows);
    T.copy_to(drawn);
    for (int const token : drawn) ++counts.at(static_cast<std::size_t>(token));
    std::vector<double> const expected = expected_draws(probabilities(samples::exact(same).data(), few));
    std::vector<double> excess, none(few, 0);
    for (std::size_t i = 0; i < expected.size(); ++i)
      excess.push_back(std::max(0.0, std::abs(counts[i] - expected[i]) - 5 * std::sqrt(expected[i])));
    all.join(samples::compare(excess, none, 0, 0));
    // Of long rows, the tokens above the one drawn make up less than the share.
    L.copy_to(long_drawn);
    std::vector<double> const x = samples::exact(logits);
    std::vector<double> beyond, nothing(rows, 0);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::vector<double> const p = probabilities(x.data() + row * columns, columns);
      double const own = p.at(static_cast<std::size_t>(long_drawn[static_cast<std::size_t>(row)]));
      double above = 0;
      for (double const one : p) above += one > own ? one : 0;
      beyond.push_back(std::max(0.0, above - double{share} - 1e-5));
    }
    all.join(samples::compare(beyond, nothing, 0, 0));
    return samples::report("25_sampling", "top 50 of 4 x 5003, 516 draws by top-p", where, seconds,
                           4e-9 * double{rows * columns} / seconds, "GB/s", all);
  });
}
