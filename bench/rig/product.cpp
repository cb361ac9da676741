// C = A * B in bf16, beside cuBLAS.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <stdexcept>

#include "rig/workload.hpp"
#include "tegula/runtime/timer.hpp"

namespace tegula::bench {
namespace {

class ProductWork final : public Workload {
 public:
  ProductWork(stream const& order, std::vector<std::int64_t> const& extents, std::uint64_t seed, bool one_set)
      : Workload(order, "C"),
        m_(extents.at(0)),
        n_(extents.at(1)),
        k_(extents.at(2)),
        seed_(seed),
        a_(Element::bf16, {m_, k_}),
        b_(Element::bf16, {k_, n_}) {
    a_.fill_normal(seed);
    b_.fill_normal(seed + 1);
    upload({{"A", &a_}, {"B", &b_}}, Element::bf16, {m_, n_}, one_set);
  }

  [[nodiscard]] std::string shape() const override { return shape_text({m_, n_, k_}); }
  [[nodiscard]] double work() const override {
    return 2.0 * static_cast<double>(m_) * static_cast<double>(n_) * static_cast<double>(k_);
  }

  [[nodiscard]] Verdict check(HostTensor const& out) const override {
    constexpr std::int64_t sampled = 8192;
    bool const all = m_ * n_ * k_ <= std::int64_t{1} << 30;
    Verdict verdict;
    std::mutex lock;
    if (all) {
      in_parallel(m_, [&](std::int64_t first, std::int64_t last) {
        Verdict part;
        std::vector<double> sum(static_cast<std::size_t>(n_)), size(sum.size());
        for (std::int64_t row = first; row < last; ++row) {
          std::fill(sum.begin(), sum.end(), 0);
          std::fill(size.begin(), size.end(), 0);
          for (std::int64_t k = 0; k < k_; ++k) {
            double const factor = a_.at(row * k_ + k);
            for (std::int64_t column = 0; column < n_; ++column) {
              double const term = factor * b_.at(k * n_ + column);
              sum[static_cast<std::size_t>(column)] += term;
              size[static_cast<std::size_t>(column)] += std::abs(term);
            }
          }
          for (std::int64_t column = 0; column < n_; ++column)
            compare(part, out.at(row * n_ + column), sum[static_cast<std::size_t>(column)],
                    size[static_cast<std::size_t>(column)]);
        }
        std::lock_guard const held(lock);
        verdict.join(part);
      });
    } else {
      in_parallel(sampled, [&](std::int64_t first, std::int64_t last) {
        Verdict part;
        for (std::int64_t i = first; i < last; ++i) {
          // Steps by odd numbers near a golden section visit rows and columns evenly; the first four are the corners.
          auto const number = static_cast<std::uint64_t>(i) + seed_ % 1000003;
          std::int64_t row = static_cast<std::int64_t>(number * 0x9E3779B1ULL % static_cast<std::uint64_t>(m_));
          std::int64_t column = static_cast<std::int64_t>(number * 0x85EBCA77ULL / 7 % static_cast<std::uint64_t>(n_));
          if (i < 4) row = i % 2 == 0 ? 0 : m_ - 1, column = i < 2 ? 0 : n_ - 1;
          double sum = 0, size = 0;
          for (std::int64_t k = 0; k < k_; ++k) {
            double const term = a_.at(row * k_ + k) * b_.at(k * n_ + column);
            sum += term;
            size += std::abs(term);
          }
          compare(part, out.at(row * n_ + column), sum, size);
        }
        std::lock_guard const held(lock);
        verdict.join(part);
      });
    }
    verdict.finish();
    verdict.nan = out.count_nan();
    if (rival_) verdict.remark = bits_beside_rival(out);
    return verdict;
  }

  std::vector<Candidate> rivals(stream const& order, Cublas const* cublas, bool quick) override {
    if (cublas == nullptr) return {};
    auto const product = [this](int set) {
      return Product{m_, n_, k_, tensor(set, "A").address(), tensor(set, "B").address(), output(set).address()};
    };
    std::vector<Candidate> result;
    result.push_back({"cuBLAS", [=](int set) { cublas->multiply(product(set)); }, {}});
    auto const time = [&order](std::function<void()> const& launch) {
      timer clock(order);
      for (int i = 0; i < 2; ++i) launch();
      clock.start();
      for (int i = 0; i < 5; ++i) launch();
      clock.stop();
      return clock.seconds();
    };
    if (!quick)
      if (auto const best = cublas->best_of_heuristics(product(0), time))
        result.push_back({"cuBLASLt, best of its heuristics", [=](int set) { best(product(set)); }, {}});
    poison(0);
    cublas->multiply(product(0));
    order.synchronize();
    rival_ = std::make_unique<HostTensor>(this->result(0));
    return result;
  }

 private:
  /// Rounding to bf16, and sums of f32 in any order, with products cut to a few bits more than f32 has.
  static void compare(Verdict& part, double out, double sum, double size) {
    part.compare(out, sum, std::ldexp(std::abs(sum), -8) + std::ldexp(size, -18) + 1e-30);
  }

  [[nodiscard]] std::string bits_beside_rival(HostTensor const& out) const {
    std::int64_t const different = out.count_different(*rival_);
    if (different == 0) return "bit-equal to cuBLAS";
    return fmt::format("{:.2g} of entries differ from cuBLAS",
                       static_cast<double>(different) / static_cast<double>(out.size()));
  }

  std::int64_t m_, n_, k_;
  std::uint64_t seed_;
  HostTensor a_, b_;
  std::unique_ptr<HostTensor> rival_;
};

}  // namespace

std::unique_ptr<Workload> make_product(stream const& order, std::vector<std::int64_t> const& extents,
                                       std::uint64_t seed, bool one_set) {
  return std::make_unique<ProductWork>(order, extents, seed, one_set);
}

}  // namespace tegula::bench
