// Measures C = A * B, and with a bias and a GELU, beside cuBLAS.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>
#include <numbers>
#include <optional>
#include <stdexcept>

#include "rig/workload.hpp"
#include "tegula/runtime/timer.hpp"

namespace tegula::bench {
namespace {

class ProductWork final : public Workload {
 public:
  ProductWork(stream const& order, ProductForm const& form, std::vector<std::int64_t> const& extents,
              std::uint64_t seed, bool one_set, std::optional<Gelu> gelu = {})
      : Workload(order, "C"),
        form_(form),
        gelu_(gelu),
        m_(extents.at(0)),
        n_(extents.at(1)),
        k_(extents.at(2)),
        seed_(seed),
        a_(form.factors, {m_, k_}),
        b_(form.factors, form.b_by_columns ? std::vector{n_, k_} : std::vector{k_, n_}) {
    double const amplitude = form.factors == Element::i8 ? 30 : 1;
    a_.fill_normal(seed, amplitude);
    b_.fill_normal(seed + 1, amplitude);
    std::map<std::string, HostTensor const*> inputs = {{"A", &a_}, {"B", &b_}};
    if (gelu_) {
      bias_ = HostTensor(Element::f32, {n_});
      bias_.fill_normal(seed + 2);
      inputs["bias"] = &bias_;
    }
    upload(inputs, form.result, {m_, n_}, one_set);
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
            double const factor = a_at(row, k);
            for (std::int64_t column = 0; column < n_; ++column) {
              double const term = factor * b_at(k, column);
              sum[static_cast<std::size_t>(column)] += term;
              size[static_cast<std::size_t>(column)] += std::abs(term);
            }
          }
          for (std::int64_t column = 0; column < n_; ++column)
            compare(part, out, row * n_ + column, sum[static_cast<std::size_t>(column)],
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
            double const term = a_at(row, k) * b_at(k, column);
            sum += term;
            size += std::abs(term);
          }
          compare(part, out, row * n_ + column, sum, size);
        }
        std::lock_guard const held(lock);
        verdict.join(part);
      });
    }
    verdict.finish();
    verdict.unwritten = out.count_unwritten();
    if (rival_) verdict.remark = bits_beside_rival(out);
    return verdict;
  }

  std::optional<Candidate> first_of_heuristics(Cublas const& cublas) override {
    auto const first = cublas.first_of_heuristics(product(0));
    if (!first) return std::nullopt;
    return Candidate{"cuBLASLt, first of its heuristics", [this, first](int set) { first(product(set)); }, {}};
  }

  std::vector<Candidate> rivals(stream const& order, Cublas const* cublas) override {
    if (cublas == nullptr) return {};
    std::vector<Candidate> result;
    bool const by_cublas = form_.factors != Element::e4m3;
    if (by_cublas) result.push_back({"cuBLAS", [this, cublas](int set) { cublas->multiply(product(set)); }, {}});
    auto const time = [&order](std::function<void()> const& launch) {
      timer clock(order);
      for (int i = 0; i < 2; ++i) launch();
      clock.start();
      for (int i = 0; i < 5; ++i) launch();
      clock.stop();
      return clock.seconds();
    };
    if (auto const best = cublas->best_of_heuristics(product(0), time))
      result.push_back({"cuBLASLt, best of its heuristics", [this, best](int set) { best(product(set)); }, {}});
    if (!by_cublas) return result;
    poison(0);
    cublas->multiply(product(0));
    order.synchronize();
    rival_ = std::make_unique<HostTensor>(this->result(0));
    return result;
  }

 private:
  [[nodiscard]] Product product(int set) const {
    return {form_, m_, n_, k_, tensor(set, "A").address(), tensor(set, "B").address(), output(set).address()};
  }
  [[nodiscard]] double a_at(std::int64_t row, std::int64_t k) const { return taken(a_.at(row * k_ + k)); }
  [[nodiscard]] double b_at(std::int64_t k, std::int64_t column) const {
    return taken(b_.at(form_.b_by_columns ? column * k_ + k : k * n_ + column));
  }
  /// Returns the part of a factor that the tensor core reads: of f32 the upper 10 bits of the fraction. The host reads
  /// all.
  [[nodiscard]] double taken(double value) const {
    if (form_.factors != Element::f32 || order_.where().kind() == DeviceKind::host) return value;
    auto const bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    return static_cast<double>(std::bit_cast<float>(bits & 0xffffe000U));
  }

  /// Allows for rounding to the result, and for sums of f32 in any order, with products cut to a few bits more than f32
  /// has. Sums of e4m3 keep 14 bits. Whole numbers are exact.
  void compare(Verdict& part, HostTensor const& out, std::int64_t place, double sum, double size) const {
    if (form_.factors == Element::i8) return part.compare(out, place, sum, 0.5);
    double kept = std::ldexp(size, form_.factors == Element::e4m3 ? -11 : -18);
    if (gelu_) {
      double const x = sum + bias_.at(place % n_);
      sum = tanh_gelu(x);
      kept = 1.2 * kept + 1e-5;  // its slope is at most 1.13; exponentials of f32
      if (*gelu_ == Gelu::fast_tanh) kept += std::ldexp(std::abs(x), -12);
    }
    part.compare(out, place, sum, std::ldexp(std::abs(sum), -1 - info(form_.result).mantissa) + kept + 1e-30);
  }

  [[nodiscard]] std::string bits_beside_rival(HostTensor const& out) const {
    std::int64_t const different = out.count_different(*rival_);
    if (different == 0) return "bit-equal to cuBLAS";
    return fmt::format("{:.2g} of entries differ from cuBLAS",
                       static_cast<double>(different) / static_cast<double>(out.size()));
  }

  ProductForm form_;
  std::optional<Gelu> gelu_;
  std::int64_t m_, n_, k_;
  std::uint64_t seed_;
  HostTensor a_, b_, bias_;
  std::unique_ptr<HostTensor> rival_;
};

}  // namespace

std::unique_ptr<Workload> make_product(stream const& order, std::vector<std::int64_t> const& extents,
                                       std::uint64_t seed, bool one_set) {
  return std::make_unique<ProductWork>(order, ProductForm{}, extents, seed, one_set);
}

template <Gelu by>
std::unique_ptr<Workload> make_gelu_product(stream const& order, std::vector<std::int64_t> const& extents,
                                            std::uint64_t seed, bool one_set) {
  return std::make_unique<ProductWork>(order, ProductForm{}, extents, seed, one_set, by);
}
template std::unique_ptr<Workload> make_gelu_product<Gelu::exponential>(stream const&, std::vector<std::int64_t> const&,
                                                                        std::uint64_t, bool);
template std::unique_ptr<Workload> make_gelu_product<Gelu::fast_tanh>(stream const&, std::vector<std::int64_t> const&,
                                                                      std::uint64_t, bool);

double tanh_gelu(double x) {
  return x / (1 + std::exp(-2 * std::sqrt(2 * std::numbers::inv_pi) * (x + 0.044715 * x * x * x)));
}

template <Element factors, Element result>
std::unique_ptr<Workload> make_product_of(stream const& order, std::vector<std::int64_t> const& extents,
                                          std::uint64_t seed, bool one_set) {
  return std::make_unique<ProductWork>(order, ProductForm{factors, result, true}, extents, seed, one_set);
}
template std::unique_ptr<Workload> make_product_of<Element::f32, Element::f32>(stream const&,
                                                                               std::vector<std::int64_t> const&,
                                                                               std::uint64_t, bool);
template std::unique_ptr<Workload> make_product_of<Element::e4m3, Element::bf16>(stream const&,
                                                                                 std::vector<std::int64_t> const&,
                                                                                 std::uint64_t, bool);
template std::unique_ptr<Workload> make_product_of<Element::i8, Element::i32>(stream const&,
                                                                              std::vector<std::int64_t> const&,
                                                                              std::uint64_t, bool);

}  // namespace tegula::bench
