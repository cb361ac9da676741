// Measures attention forward over [batch * heads, sequence, head dimension] in bf16.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <numbers>

#include "rig/workload.hpp"

namespace tegula::bench {
namespace {

template <std::int64_t dimension>
class AttentionWork final : public Workload {
 public:
  AttentionWork(stream const& order, std::vector<std::int64_t> const& extents, std::uint64_t seed, bool one_set,
                bool causal)
      : Workload(order, "O"),
        batch_(extents.at(0)),
        heads_(extents.at(1)),
        length_(extents.at(2)),
        amplitude_(extents.size() > 3 ? static_cast<double>(extents[3]) : 1),
        causal_(causal),
        seed_(seed),
        q_(Element::bf16, {batch_ * heads_, length_, dimension}),
        k_(Element::bf16, q_.extents()),
        v_(Element::bf16, q_.extents()) {
    q_.fill_normal(seed, amplitude_);
    k_.fill_normal(seed + 1, amplitude_);
    v_.fill_normal(seed + 2);
    // Kernels take powers of 2: the scale holds the factor log2(e).
    scalars_["scale"] = scalar_argument(Element::f32, scale * std::numbers::log2e);
    upload({{"Q", &q_}, {"K", &k_}, {"V", &v_}}, Element::bf16, q_.extents(), one_set);
  }

  [[nodiscard]] std::string shape() const override {
    return shape_text({batch_, heads_, length_, dimension}) + (amplitude_ == 1 ? "" : ", amplified");
  }
  [[nodiscard]] double work() const override {
    double const pairs = static_cast<double>(batch_ * heads_) * static_cast<double>(length_) *
                         static_cast<double>(length_) * (causal_ ? 0.5 : 1);
    return 4 * static_cast<double>(dimension) * pairs;
  }

  [[nodiscard]] Verdict check(HostTensor const& out) const override {
    std::int64_t const rows = batch_ * heads_ * length_;
    bool const all = rows * length_ <= std::int64_t{1} << 24;
    std::int64_t const count = all ? rows : 192;
    Verdict verdict;
    std::mutex lock;
    in_parallel(count, [&](std::int64_t first, std::int64_t last) {
      Verdict part;
      for (std::int64_t i = first; i < last; ++i) {
        std::int64_t row = i;
        if (!all && i == 0) row = rows - 1;
        if (!all && i > 1)
          row = static_cast<std::int64_t>((static_cast<std::uint64_t>(i) + seed_ % 1000003) * 0x9E3779B97F4A7C15ULL >>
                                          11) %
                rows;
        check_row(part, out, row);
      }
      std::lock_guard const held(lock);
      verdict.join(part);
    });
    verdict.finish();
    verdict.unwritten = out.count_unwritten();
    return verdict;
  }

  std::vector<Candidate> rivals(stream const&, Cublas const*, bool) override { return {}; }

 private:
  inline static double const scale = 1 / std::sqrt(static_cast<double>(dimension));

  void check_row(Verdict& part, HostTensor const& out, std::int64_t row) const {
    std::int64_t const head = row / length_ * length_;  // its first row
    std::int64_t const keys = causal_ ? row - head + 1 : length_;
    std::vector<double> weights(static_cast<std::size_t>(keys));
    double query[dimension], sum = 0, max = -1e300;
    for (std::int64_t d = 0; d < dimension; ++d) query[d] = q_.at(row * dimension + d) * scale;
    for (std::int64_t j = 0; j < keys; ++j) {
      double score = 0;
      for (std::int64_t d = 0; d < dimension; ++d) score += query[d] * k_.at((head + j) * dimension + d);
      weights[static_cast<std::size_t>(j)] = score;
      max = std::max(max, score);
    }
    for (double& weight : weights) sum += weight = std::exp(weight - max);
    double expected[dimension] = {}, squares[dimension] = {};
    for (std::int64_t j = 0; j < keys; ++j)
      for (std::int64_t d = 0; d < dimension; ++d) {
        double const term = weights[static_cast<std::size_t>(j)] / sum * v_.at((head + j) * dimension + d);
        expected[d] += term;
        squares[d] += term * term;
      }
    // Weights are rounded to bf16, each by at most 2^-9 of it and independently, the result once more.
    for (std::int64_t d = 0; d < dimension; ++d)
      part.compare(out, row * dimension + d, expected[d],
                   std::ldexp(std::abs(expected[d]), -8) + 0.02 * std::sqrt(squares[d]) + 1e-6);
  }

  std::int64_t batch_, heads_, length_;
  double amplitude_;
  bool causal_;
  std::uint64_t seed_;
  HostTensor q_, k_, v_;
};

}  // namespace

template <std::int64_t dimension, bool causal>
std::unique_ptr<Workload> make_attention(stream const& order, std::vector<std::int64_t> const& extents,
                                         std::uint64_t seed, bool one_set) {
  return std::make_unique<AttentionWork<dimension>>(order, extents, seed, one_set, causal);
}
template std::unique_ptr<Workload> make_attention<128, false>(stream const&, std::vector<std::int64_t> const&,
                                                              std::uint64_t, bool);
template std::unique_ptr<Workload> make_attention<128, true>(stream const&, std::vector<std::int64_t> const&,
                                                             std::uint64_t, bool);
template std::unique_ptr<Workload> make_attention<64, false>(stream const&, std::vector<std::int64_t> const&,
                                                             std::uint64_t, bool);
template std::unique_ptr<Workload> make_attention<64, true>(stream const&, std::vector<std::int64_t> const&,
                                                            std::uint64_t, bool);

}  // namespace tegula::bench
