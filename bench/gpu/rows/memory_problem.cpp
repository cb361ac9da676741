#include "gpu/rows/memory_problem.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

namespace tegula::bench {
namespace {

/// Counts as work the bytes that are read and written.
class MemoryWork final : public Workload {
 public:
  MemoryWork(stream const& order, Problem problem, bool one_set) : Workload(order, "Y"), problem_(std::move(problem)) {
    shape_ = problem_.shape.empty() ? shape_text(problem_.inputs.at("X").extents()) : problem_.shape;
    std::map<std::string, HostTensor const*> inputs;
    for (auto const& [name, values] : problem_.inputs) {
      inputs[name] = &values;
      bytes_ += values.byte_count();
    }
    bytes_ += bytes_of(problem_.element, problem_.output);
    upload(inputs, problem_.element, problem_.output, one_set);
    for (MoreOutput const& more : problem_.more) {
      if (more.counts) bytes_ += bytes_of(more.element, more.extents);
      add_output(more.name, more.element, more.extents, more.zeroed);
    }
    if (problem_.work != 0) bytes_ = problem_.work;
  }

  [[nodiscard]] std::string shape() const override { return shape_; }
  [[nodiscard]] double work() const override { return static_cast<double>(bytes_); }

  [[nodiscard]] Verdict check(HostTensor const& out) const override {
    // All parts up to 2^22 entries, else 256 evenly spread and the last.
    std::int64_t const step = out.size() <= std::int64_t{1} << 22 ? 1 : std::max<std::int64_t>(problem_.parts / 256, 1);
    std::int64_t const count = (problem_.parts + step - 1) / step;
    Verdict verdict;
    std::mutex lock;
    in_parallel(count + 1, [&](std::int64_t first, std::int64_t last) {
      Verdict mine;
      for (std::int64_t i = first; i < last; ++i)
        problem_.compare(mine, problem_.inputs, out, i == count ? problem_.parts - 1 : i * step);
      std::lock_guard const held(lock);
      verdict.join(mine);
    });
    for (MoreOutput const& more : problem_.more)
      if (more.counts) problem_.compare_more(verdict, problem_.inputs, more.name, tensor(0, more.name).read(more.name));
    verdict.finish();
    if (!problem_.partial) verdict.unwritten = out.count_unwritten();
    return verdict;
  }

  std::vector<Candidate> rivals(stream const&, Cublas const*) override { return {}; }

 private:
  static std::int64_t bytes_of(Element element, Extents const& extents) {
    std::int64_t size = bytes(element);
    for (std::int64_t const extent : extents) size *= extent;
    return size;
  }

  Problem problem_;
  std::string shape_;
  std::int64_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Workload> make_memory_work(stream const& order, Problem problem, bool one_set) {
  return std::make_unique<MemoryWork>(order, std::move(problem), one_set);
}

HostTensor normal(Element element, Extents extents, std::uint64_t seed, double amplitude) {
  HostTensor result(element, std::move(extents));
  result.fill_normal(seed, amplitude);
  return result;
}

double rounding(Element element, double value) { return std::ldexp(std::abs(value), -1 - info(element).mantissa); }

Row family_row(std::string const& group, std::string const& kernel, Extents extents, Extents small,
               Problem (*problem)(Extents const&, std::uint64_t)) {
  Row row{group, "gpu " + kernel, std::move(extents), std::move(small)};
  row.rival = Rival::large_copy;
  row.counts_bytes = true;
  row.make = [problem](stream const& order, Extents const& of, std::uint64_t seed, bool one_set) {
    return make_memory_work(order, problem(of, seed), one_set);
  };
  return row;
}

}  // namespace tegula::bench
