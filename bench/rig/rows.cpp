// Measures softmax and layer normalisation of rows, beside copies of the same bytes.
#include <algorithm>
#include <cmath>
#include <mutex>

#include "rig/workload.hpp"
#include "tegula/tegula.hpp"

namespace tegula::bench {
namespace {

inline constexpr auto copy_tiles = kernel("copy", [](in<float, 1> from, out<float, 1> to) {
  auto g = grid_over(to, shape<1024>);
  store(to, shape<1024>, load(from, shape<1024>, g[0]), g[0]);
});

/// Computes y = f(x) row by row; both have one type and shape.
class RowWork : public Workload {
 public:
  [[nodiscard]] std::string shape() const override { return shape_text({rows_, columns_}); }
  [[nodiscard]] double work() const override { return 2.0 * static_cast<double>(x_.byte_count()); }

  [[nodiscard]] Verdict check(HostTensor const& out) const override {
    // All rows up to 2^24 entries, else 256 evenly spread and the last.
    std::int64_t const step = x_.size() <= std::int64_t{1} << 24 ? 1 : std::max<std::int64_t>(rows_ / 256, 1);
    std::int64_t const count = (rows_ + step - 1) / step;
    Verdict verdict;
    std::mutex lock;
    in_parallel(count + 1, [&](std::int64_t first, std::int64_t last) {
      Verdict part;
      for (std::int64_t i = first; i < last; ++i) check_row(part, out, i == count ? rows_ - 1 : i * step);
      std::lock_guard const held(lock);
      verdict.join(part);
    });
    verdict.finish();
    verdict.unwritten = out.count_unwritten();
    return verdict;
  }

  std::vector<Candidate> rivals(stream const& order, Cublas const*) override {
    std::vector<Candidate> result;
    result.push_back({"driver's copy", [this, order](int set) { output(set).copy_from(order, tensor(set, "X")); }, {}});
    std::vector<std::function<void(stream const&)>> copies;
    for (int set = 0; set < sets(); ++set) {
      auto const view = [this](DeviceTensor const& memory) {
        return device_view<float, 1>(static_cast<float*>(memory.address()), x_.byte_count() / 4);
      };
      copies.emplace_back(prepare(copy_tiles, view(tensor(set, "X")), view(output(set))));
    }
    result.push_back({"copy kernel", [copies, order](int set) { copies[static_cast<std::size_t>(set)](order); }, {}});
    return result;
  }

 protected:
  RowWork(stream const& order, Element element, std::vector<std::int64_t> const& extents, std::uint64_t seed)
      : Workload(order, "Y"), rows_(extents.at(0)), columns_(extents.at(1)), x_(element, {rows_, columns_}) {
    x_.fill_normal(seed, 2);
  }
  virtual void check_row(Verdict& part, HostTensor const& out, std::int64_t row) const = 0;

  std::int64_t rows_, columns_;
  HostTensor x_;
};

class SoftmaxWork final : public RowWork {
 public:
  SoftmaxWork(stream const& order, std::vector<std::int64_t> const& extents, std::uint64_t seed, bool one_set)
      : RowWork(order, Element::f32, extents, seed) {
    upload({{"X", &x_}}, Element::f32, {rows_, columns_}, one_set);
  }

 private:
  void check_row(Verdict& part, HostTensor const& out, std::int64_t row) const override {
    std::int64_t const from = row * columns_;
    double max = x_.at(from), sum = 0;
    for (std::int64_t j = 0; j < columns_; ++j) max = std::max(max, x_.at(from + j));
    for (std::int64_t j = 0; j < columns_; ++j) sum += std::exp(x_.at(from + j) - max);
    for (std::int64_t j = 0; j < columns_; ++j) {
      double const expected = std::exp(x_.at(from + j) - max) / sum;
      part.compare(out, from + j, expected, 1e-5 * expected);
    }
  }
};

class LayernormWork final : public RowWork {
 public:
  LayernormWork(stream const& order, std::vector<std::int64_t> const& extents, std::uint64_t seed, bool one_set)
      : RowWork(order, Element::bf16, extents, seed),
        gamma_(Element::bf16, {columns_}),
        beta_(Element::bf16, {columns_}) {
    gamma_.fill_normal(seed + 1);
    beta_.fill_normal(seed + 2);
    upload({{"X", &x_}, {"Gamma", &gamma_}, {"Beta", &beta_}}, Element::bf16, {rows_, columns_}, one_set);
  }

 private:
  static constexpr double epsilon = 1e-5;

  void check_row(Verdict& part, HostTensor const& out, std::int64_t row) const override {
    std::int64_t const from = row * columns_;
    auto const count = static_cast<double>(columns_);
    double mean = 0, variance = 0;
    for (std::int64_t j = 0; j < columns_; ++j) mean += x_.at(from + j) / count;
    for (std::int64_t j = 0; j < columns_; ++j) variance += (x_.at(from + j) - mean) * (x_.at(from + j) - mean) / count;
    double const scale = 1 / std::sqrt(variance + epsilon);
    for (std::int64_t j = 0; j < columns_; ++j) {
      double const scaled = (x_.at(from + j) - mean) * scale * gamma_.at(j);
      double const expected = scaled + beta_.at(j);
      part.compare(out, from + j, expected,
                   std::ldexp(std::abs(expected), -8) + 1e-5 * (std::abs(scaled) + std::abs(beta_.at(j)) + 1e-3));
    }
  }

  HostTensor gamma_, beta_;
};

}  // namespace

std::unique_ptr<Workload> make_softmax(stream const& order, std::vector<std::int64_t> const& extents,
                                       std::uint64_t seed, bool one_set) {
  return std::make_unique<SoftmaxWork>(order, extents, seed, one_set);
}

std::unique_ptr<Workload> make_layernorm(stream const& order, std::vector<std::int64_t> const& extents,
                                         std::uint64_t seed, bool one_set) {
  return std::make_unique<LayernormWork>(order, extents, seed, one_set);
}

}  // namespace tegula::bench
