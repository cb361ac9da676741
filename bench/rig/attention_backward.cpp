// Measures the way back of attention over [batch * heads, sequence, head dimension] in bf16.
#include <algorithm>
#include <cmath>
#include <vector>

#include "rig/workload.hpp"

namespace tegula::bench {
namespace {

/// Gradients for given O, dO and lse. O is random and lse that of scores of variance 1, so that no forward pass is
/// needed: the formulas hold for any.
class AttentionBackwardWork final : public Workload {
 public:
  AttentionBackwardWork(stream const& order, AttentionForm const& form, std::uint64_t seed, bool one_set)
      : Workload(order, "gradients"), form_(form), seed_(seed), heads_(form.batch * form.heads) {
    std::uint64_t number = seed;
    for (HostTensor* tensor : {&q_, &k_, &v_, &o_, &go_}) {
      *tensor = HostTensor(Element::bf16, {heads_, form.length, form.dimension});
      tensor->fill_normal(number++, tensor == &o_ ? 0.1 : 1);
    }
    lse_ = HostTensor(Element::f32, {heads_, form.length});
    for (std::int64_t i = 0; i < lse_.size(); ++i)
      lse_.set(i, std::log(static_cast<double>(form.causal ? i % form.length + 1 : form.length)) + 0.5);
    HostTensor const delta(Element::f32, lse_.extents()), sums(Element::f32, q_.extents());
    upload({{"Q", &q_},
            {"K", &k_},
            {"V", &v_},
            {"O", &o_},
            {"dO", &go_},
            {"lse", &lse_},
            {"delta", &delta},
            {"sums", &sums}},
           Element::bf16, {3 * heads_, form.length, form.dimension}, one_set);
  }

  [[nodiscard]] std::string shape() const override {
    return shape_text({form_.batch, form_.heads, form_.length, form_.dimension});
  }
  [[nodiscard]] double work() const override {
    auto const length = static_cast<double>(form_.length);
    return 5 * 2 * static_cast<double>(form_.dimension * heads_) * length * length * (form_.causal ? 0.5 : 1);
  }

  [[nodiscard]] Verdict check(HostTensor const& out) const override {
    return check_rows(out, 3 * heads_ * form_.length, form_.length, seed_, [&](Verdict& part, std::int64_t row) {
      std::int64_t const kind = row / (heads_ * form_.length), token = row % (heads_ * form_.length);
      kind == 0 ? check_queries(part, out, token) : check_keys(part, out, token, kind == 2, row);
    });
  }

  std::vector<Candidate> rivals(stream const&, Cublas const*) override { return {}; }

 private:
  /// Sums terms of a row in float64, and their squares: each has a factor that is rounded to bf16.
  struct Sums {
    explicit Sums(std::int64_t dimension)
        : value(static_cast<std::size_t>(dimension)), squares(static_cast<std::size_t>(dimension)) {}
    void add(double factor, HostTensor const& rows, std::int64_t row) {
      for (std::size_t d = 0; d < value.size(); ++d) {
        double const term =
            factor * rows.at(row * static_cast<std::int64_t>(value.size()) + static_cast<std::int64_t>(d));
        value[d] += term;
        squares[d] += term * term;
      }
    }
    void compare(Verdict& part, HostTensor const& out, std::int64_t row) const {
      for (std::size_t d = 0; d < value.size(); ++d)
        part.compare(out, row * static_cast<std::int64_t>(value.size()) + static_cast<std::int64_t>(d), value[d],
                     std::ldexp(std::abs(value[d]), -8) + 0.02 * std::sqrt(squares[d]) + 1e-6);
    }
    std::vector<double> value, squares;
  };

  [[nodiscard]] double inner(HostTensor const& x, std::int64_t i, HostTensor const& y, std::int64_t j) const {
    double sum = 0;
    for (std::int64_t d = 0; d < form_.dimension; ++d)
      sum += x.at(i * form_.dimension + d) * y.at(j * form_.dimension + d);
    return sum;
  }
  [[nodiscard]] double weight(std::int64_t query, std::int64_t key) const {
    return std::exp(scale_ * inner(q_, query, k_, key) - lse_.at(query));
  }
  /// Returns the gradient of a score.
  [[nodiscard]] double of_score(std::int64_t query, std::int64_t key, double delta) const {
    return weight(query, key) * (inner(go_, query, v_, key) - delta);
  }

  void check_queries(Verdict& part, HostTensor const& out, std::int64_t query) const {
    Sums sums(form_.dimension);
    double const delta = inner(o_, query, go_, query);
    std::int64_t const first = query / form_.length * form_.length;
    for (std::int64_t key = first; key <= (form_.causal ? query : first + form_.length - 1); ++key)
      sums.add(scale_ * of_score(query, key, delta), k_, key);
    sums.compare(part, out, query);
  }
  void check_keys(Verdict& part, HostTensor const& out, std::int64_t key, bool values, std::int64_t row) const {
    Sums sums(form_.dimension);
    std::int64_t const first = key / form_.length * form_.length;
    for (std::int64_t query = form_.causal ? key : first; query < first + form_.length; ++query) {
      if (values)
        sums.add(weight(query, key), go_, query);
      else
        sums.add(scale_ * of_score(query, key, inner(o_, query, go_, query)), q_, query);
    }
    sums.compare(part, out, row);
  }

  AttentionForm form_;
  std::uint64_t seed_;
  std::int64_t heads_;
  double scale_ = 1 / std::sqrt(static_cast<double>(form_.dimension));
  HostTensor q_, k_, v_, o_, go_, lse_;
};

}  // namespace

std::unique_ptr<Workload> make_attention_backward(stream const& order, AttentionForm const& form, std::uint64_t seed,
                                                  bool one_set) {
  return std::make_unique<AttentionBackwardWork>(order, form, seed, one_set);
}

}  // namespace tegula::bench
