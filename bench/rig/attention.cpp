// Measures attention forward over [batch * heads, sequence, head dimension] in bf16 or e4m3.
#include <algorithm>
#include <cmath>

#include "rig/workload.hpp"

namespace tegula::bench {
namespace {

class AttentionWork final : public Workload {
 public:
  AttentionWork(stream const& order, AttentionForm const& form, std::uint64_t seed, bool one_set)
      : Workload(order, "O"),
        form_(form),
        seed_(seed),
        q_(form.element, {form.batch * form.heads, form.length, form.dimension}),
        k_(form.element, {form.batch * form.heads / form.group, form.length, form.dimension}),
        v_(form.element, form.element == Element::e4m3
                             ? std::vector{form.batch * form.heads / form.group, form.dimension, form.length}
                             : k_.extents()) {
    q_.fill_normal(seed, form.amplitude);
    k_.fill_normal(seed + 1, form.amplitude);
    v_.fill_normal(seed + 2);
    upload({{"Q", &q_}, {"K", &k_}, {"V", &v_}}, Element::bf16, q_.extents(), one_set);
  }

  [[nodiscard]] std::string shape() const override {
    return shape_text({form_.batch, form_.heads, form_.length, form_.dimension}) +
           (form_.amplitude == 1 ? "" : ", amplified");
  }
  [[nodiscard]] double work() const override {
    auto const length = static_cast<double>(form_.length);
    double const pairs = static_cast<double>(form_.batch * form_.heads) * length * length * (form_.causal ? 0.5 : 1);
    return 4 * static_cast<double>(form_.dimension) * pairs;
  }

  [[nodiscard]] Verdict check(HostTensor const& out) const override {
    return check_rows(out, form_.batch * form_.heads * form_.length, form_.length, seed_,
                      [&](Verdict& part, std::int64_t row) { check_row(part, out, row); });
  }

  std::vector<Candidate> rivals(stream const&, Cublas const*) override { return {}; }

 private:
  void check_row(Verdict& part, HostTensor const& out, std::int64_t row) const {
    std::int64_t const dimension = form_.dimension, head = row / form_.length;
    std::int64_t const first_key = head / form_.group * form_.length;
    std::int64_t const keys = form_.causal ? row - head * form_.length + 1 : form_.length;
    std::vector<double> weights(static_cast<std::size_t>(keys)), query, expected, squares;
    double sum = 0, max = -1e300;
    for (std::int64_t d = 0; d < dimension; ++d) query.push_back(q_.at(row * dimension + d) * scale_);
    for (std::int64_t j = 0; j < keys; ++j) {
      double score = 0;
      for (std::int64_t d = 0; d < dimension; ++d)
        score += query[static_cast<std::size_t>(d)] * k_.at((first_key + j) * dimension + d);
      weights[static_cast<std::size_t>(j)] = score;
      max = std::max(max, score);
    }
    for (double& weight : weights) sum += weight = std::exp(weight - max);
    expected.resize(query.size());
    squares.resize(query.size());
    for (std::int64_t j = 0; j < keys; ++j)
      for (std::size_t d = 0; d < query.size(); ++d) {
        double const value = value_at(first_key, j, static_cast<std::int64_t>(d));
        double const term = weights[static_cast<std::size_t>(j)] / sum * value;
        expected[d] += term;
        squares[d] += term * term;
      }
    // Weights are rounded, each by at most 2^-9 (bf16) or 2^-4 (e4m3) of it and independently, the result once more.
    double const rounding = form_.element == Element::e4m3 ? 0.25 : 0.02;
    for (std::size_t d = 0; d < query.size(); ++d)
      part.compare(out, row * dimension + static_cast<std::int64_t>(d), expected[d],
                   std::ldexp(std::abs(expected[d]), -8) + rounding * std::sqrt(squares[d]) + 1e-6);
  }

  [[nodiscard]] double value_at(std::int64_t first_key, std::int64_t key, std::int64_t d) const {
    return form_.element == Element::e4m3 ? v_.at(first_key * form_.dimension + d * form_.length + key)
                                          : v_.at((first_key + key) * form_.dimension + d);
  }

  AttentionForm form_;
  std::uint64_t seed_;
  double scale_ = 1 / std::sqrt(static_cast<double>(form_.dimension));
  HostTensor q_, k_, v_;
};

}  // namespace

std::unique_ptr<Workload> make_attention_of(stream const& order, AttentionForm const& form, std::uint64_t seed,
                                            bool one_set) {
  return std::make_unique<AttentionWork>(order, form, seed, one_set);
}

}  // namespace tegula::bench
