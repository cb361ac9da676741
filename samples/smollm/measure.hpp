// Measures the program: rates, times of kernels, and the parts of its start.
#pragma once

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <tegula/runtime/graph.hpp>

#include "generator.hpp"
#include "support/program.hpp"

namespace smollm {

using samples::seconds;

/// Measures the parts of the time from its own start to the first token.
class Start {
 public:
  /// Ends a part. That of the driver is not part of the program's own time.
  void ends(std::string what, bool of_driver = false) {
    double const now = seconds();
    parts_.emplace_back(std::move(what), now - last_);
    (of_driver ? driver_ : own_) += now - last_;
    last_ = now;
  }
  void print() const {
    for (auto const& [what, time] : parts_) std::printf("  %-42s %8.1f ms\n", what.c_str(), 1e3 * time);
    std::printf("from main to the first token: %.1f ms, and %.1f ms the start of the device's driver\n", 1e3 * own_,
                1e3 * driver_);
  }

 private:
  double last_ = seconds(), own_ = 0, driver_ = 0;
  std::vector<std::pair<std::string, double>> parts_;
};

/// Returns tokens of some text, since times do not depend on it.
inline std::vector<int> any_prompt(int count, std::int64_t vocabulary) {
  std::vector<int> prompt;
  for (int i = 0; i < count; ++i) prompt.push_back((7919 * i + 17) % static_cast<int>(vocabulary));
  return prompt;
}

/// Prints the times of a step's kernels, each in a graph of its launches in all layers. Activations grow meanwhile: no
/// text follows.
template <class Generator>
void measure_kernels(Generator& generator, tegula::stream const& order) {
  for (KernelOfStep const& kernel : generator.kernels_of_step()) {
    std::vector<tegula::prepared> launches;
    while (launches.size() < 60) launches.insert(launches.end(), kernel.launches.begin(), kernel.launches.end());
    tegula::prepared const all = tegula::graph(generator.where(), launches);
    double best = 1e30;
    for (int repeat = 0; repeat < 5; ++repeat) {
      constexpr int count = 10;
      order.synchronize();
      double const start = seconds();
      for (int i = 0; i < count; ++i) all(order);
      order.synchronize();
      best = std::min(best, (seconds() - start) / count / static_cast<double>(launches.size()));
    }
    std::printf("  %-14s %3zu launches a step, %6.2f us each, %7.1f us\n", kernel.name.c_str(), kernel.launches.size(),
                1e6 * best, 1e6 * best * static_cast<double>(kernel.launches.size()));
  }
}

#if defined(TEGULA_EMBEDDED)
/// Refuses: records are part of the code, and this code has none.
[[noreturn]] inline tegula::ProfileOptions few_records() {
  throw std::runtime_error("--timeline: this program's kernels were compiled without records; run smollm");
}
template <class Generator>
[[noreturn]] void save_timeline(Generator&, tegula::stream const&, std::int64_t, int, std::string const&) {
  few_records();
}
#else
/// Selects records for a timeline of launches: few of each CTA, whose start and end count.
inline tegula::ProfileOptions few_records() {
  tegula::ProfileOptions result;
  result.compiler = true;
  result.strategy = tegula::ProfileStrategy::device;
  result.granularity = tegula::ProfileGranularity::cta;
  result.slots = 8;
  result.rows = 1 << 15;
  return result;
}

/// Writes when each launch of one token ran, behind a prompt of `read` tokens.
template <class Generator>
void save_timeline(Generator& generator, tegula::stream const& order, std::int64_t vocabulary, int read,
                   std::string const& folder) {
  generator.read(0, any_prompt(read, vocabulary));
  generator.choose({});
  tegula::Profile const profile = tegula::profile(order, generator.step_launches());
  tegula::Profile::Files const files = profile.save(folder);
  std::printf("%strace: %s\npicture: %s\n", profile.str().c_str(), files.trace.c_str(), files.svg.c_str());
}
#endif

/// Prints the rates of reading a prompt of `read` tokens for each sequence, and of `count` steps behind it.
template <class Generator>
void measure(Generator& generator, std::int64_t vocabulary, int read, int count, Sampling const& how) {
  auto const places = static_cast<int>(generator.places());
  read = std::min(read, places - 1);
  count = std::min(count, places - read);
  std::vector<int> const prompt = any_prompt(read, vocabulary);
  double prefill = 1e30, decode = 1e30;
  for (int repeat = 0; repeat < 4; ++repeat) {  // the first compiles
    double const start = seconds();
    for (std::int64_t row = 0; row < generator.sequences(); ++row) generator.read(row, prompt);
    (void)generator.tokens();  // waits
    double const middle = seconds();
    generator.advance(how, count);
    (void)generator.tokens();
    if (repeat == 0) continue;
    prefill = std::min(prefill, middle - start);
    decode = std::min(decode, seconds() - middle);
  }
  auto const batch = static_cast<double>(generator.sequences());
  std::printf(
      "%s, batch %.0f: prefill of %d tokens %.1f tokens/s (%.2f ms), decode after them %.1f tokens/s (%zu launches and "
      "%.1f us a token)\n",
      generator.where().str().c_str(), batch, read, read * batch / prefill, 1e3 * prefill, count * batch / decode,
      generator.launches_of_step() + 1, 1e6 * decode / count);
}

}  // namespace smollm
