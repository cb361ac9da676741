// Runs the hand-written kernels of test/ir/target on a CUDA device. Each output is compared with float64, first at
// small ragged sizes, then at the sizes that are timed beside rivals in the same process. Rivals are cuBLAS where it
// can be opened, and copies for kernels that only move memory. Without a device it compiles them and lists the skipped
// runs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "rig/kernel_file.hpp"
#include "rig/result_file.hpp"
#include "rig/workload.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::bench;

namespace {

struct Settings {
  std::string only;
  std::vector<std::string> files;
  std::vector<std::string> shapes;
  bool quick = false;
  std::string json;  ///< a file for the results
  bool check_only = false;
  std::uint64_t seed = 0;
  CoolClock clock;
};

void say(std::string const& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

Family const* family_of(std::string_view kernel) {
  Family const* best = nullptr;
  for (Family const& family : families())
    if (kernel.starts_with(family.name) && (best == nullptr || family.name.size() > best->name.size())) best = &family;
  return best;
}

std::string first_line(char const* text) { return std::string(text).substr(0, std::string_view(text).find('\n')); }

/// Loads the family's own file and those given, as far as they compile; one that does not makes `right` false.
std::vector<KernelFile> kernels_of(Family const& family, std::vector<KernelFile>& given, bool& right) {
  std::vector<KernelFile> result;
  auto const path = target_folder() / (family.name + ".tir");
  if (!std::filesystem::exists(path)) {
    say(fmt::format("skipped: {} is not in {}", path.filename().string(), path.parent_path().string()));
  } else {
    try {
      result.emplace_back(path);
    } catch (Error const& error) {
      say(fmt::format("WRONG: {}: {}", path.filename().string(), first_line(error.what())));
      right = false;
    }
  }
  for (KernelFile& file : given)
    if (family_of(file.kernel()) == &family) result.push_back(std::move(file));
  return result;
}

/// Checks and times the kernels of one family.
class FamilyBench {
 public:
  FamilyBench(Family const& family, std::vector<KernelFile> kernels, stream const& order, Cublas const* cublas,
              Settings const& settings, ResultFile& results)
      : family_(family),
        kernels_(std::move(kernels)),
        order_(order),
        cublas_(cublas),
        settings_(settings),
        results_(results) {}

  /// True if everything was right.
  bool run(std::uint64_t seed) {
    for (auto const& extents : family_.small) {
      auto const work = family_.make(order_, extents, seed += 10, true);
      for (KernelFile const& kernel : kernels_) verify(kernel, *work);
    }
    say(fmt::format("{}: {} of {} outputs right at small sizes ({}): {}", family_.name, right_, right_ + wrong_.size(),
                    family_.extents, small_text()));
    if (settings_.check_only) return wrong_.empty();
    fmt::print(
        "\n| kernel | {} | us | {} | ratio to the first rival: median, min, max | error | remark |\n"
        "|---|---|---|---|---|---|---|\n",
        family_.extents, unit());
    for (auto const& extents : timed_shapes()) time(extents, seed += 10);
    fmt::print("\n");
    return wrong_.empty();
  }

 private:
  struct Checked {
    Verdict verdict;
    HostTensor out;
  };

  [[nodiscard]] char const* unit() const { return family_.counts_bytes ? "GB/s" : "TFLOP/s"; }

  [[nodiscard]] std::string small_text() const {
    std::string text;
    for (auto const& extents : family_.small) text += (text.empty() ? "" : " ") + shape_text(extents);
    return text;
  }

  [[nodiscard]] std::vector<std::vector<std::int64_t>> timed_shapes() const {
    std::vector<std::vector<std::int64_t>> result;
    for (std::string text : settings_.shapes) {
      std::vector<std::int64_t> extents;
      std::replace(text.begin(), text.end(), 'x', ' ');
      char const* at = text.c_str();
      for (char* end = nullptr; *at != '\0'; at = end) {
        extents.push_back(std::strtoll(at, &end, 10));
        if (end == at)
          throw UserError(fmt::format("--shape {}: write numbers with x between, as in 4096x4096x64", text));
      }
      if (extents.size() < family_.small.front().size())
        throw UserError(fmt::format("--shape {}: {} takes {}", text, family_.name, family_.extents));
      result.push_back(extents);
    }
    return !result.empty() ? result : settings_.quick ? family_.quick : family_.large;
  }

  /// Runs a kernel on set 0, whose output is poisoned before, and compares.
  bool verify(KernelFile const& kernel, Workload& work, Checked* keep = nullptr) {
    std::string problem;
    try {
      work.poison(0);
      kernel.prepare(work.arguments(0))(order_);
      order_.synchronize();
      HostTensor out = work.result(0);
      Verdict const verdict = work.check(out);
      if (!verdict.right())
        problem = fmt::format("{} entries NaN or unwritten, error {:.1e}; in units of the rounding error: {}",
                              verdict.unwritten, verdict.error, verdict.entries.str());
      if (keep != nullptr) *keep = {verdict, std::move(out)};
    } catch (std::exception const& error) {
      problem = first_line(error.what());
    }
    if (problem.empty()) {
      ++right_;
      return true;
    }
    wrong_.push_back(problem);
    say(fmt::format("WRONG: {} at {}: {}", kernel.label(), work.shape(), problem));
    return false;
  }

  void time(std::vector<std::int64_t> const& extents, std::uint64_t seed) {
    auto const work = family_.make(order_, extents, seed, false);
    std::vector<Candidate> candidates = work->rivals(order_, cublas_, settings_.quick);
    std::size_t const rivals = candidates.size();
    std::vector<Checked> checked;
    for (KernelFile const& kernel : kernels_) {
      Checked result;
      if (!verify(kernel, *work, &result)) continue;
      checked.push_back(std::move(result));
      std::vector<std::function<void(stream const&)>> launches;
      for (int set = 0; set < work->sets(); ++set) launches.push_back(kernel.prepare(work->arguments(set)));
      candidates.push_back({kernel.label(),
                            [launches, order = order_](int set) { launches[static_cast<std::size_t>(set)](order); },
                            {}});
    }
    if (checked.empty()) return;
    time_in_turns(order_, candidates, work->sets(), settings_.clock);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      bool const rival = i < rivals;
      if (!rival) repeat(candidates[i], *work, checked[i - rivals]);
      report(*work, candidates[i], i == 0 ? nullptr : &candidates[0], rival ? nullptr : &checked[i - rivals].verdict);
    }
  }

  /// Runs once more on the last set, whose inputs are equal: after all those launches the bits are to be the same.
  void repeat(Candidate const& candidate, Workload& work, Checked& first) {
    int const last = work.sets() - 1;
    work.poison(last);
    candidate.launch(last);
    order_.synchronize();
    if (std::int64_t const different = work.result(last).count_different(first.out); different != 0) {
      std::string const error = fmt::format("{} entries differ when run again", different);
      wrong_.push_back(error);
      say(fmt::format("WRONG: {} at {}: {}", candidate.name, work.shape(), error));
      first.verdict.remark += (first.verdict.remark.empty() ? "" : "; ") + error;
    }
  }

  void report(Workload const& work, Candidate const& candidate, Candidate const* rival, Verdict const* verdict) {
    Result result{family_.name, work.shape(), candidate.name,  unit(),        {}, rival != nullptr ? rival->name : "",
                  {},           {},           candidate.clock, settings_.seed};
    for (double seconds : candidate.seconds)
      result.rates.push_back(work.work() / seconds * (family_.counts_bytes ? 1e-9 : 1e-12));
    if (rival != nullptr) result.ratios = ratios(candidate, *rival);
    if (verdict != nullptr) result.error = verdict->error;
    results_.write(result);
    auto const [best, worst] = std::minmax_element(candidate.seconds.begin(), candidate.seconds.end());
    std::string share;
    if (rival != nullptr) {
      auto const [min, max] = std::minmax_element(result.ratios.begin(), result.ratios.end());
      share = fmt::format("{:.3f}, {:.3f}, {:.3f}", median(result.ratios), *min, *max);
    }
    say(fmt::format("| {} | {} | {:.2f} ({:.2f} to {:.2f}) | {:.1f} | {} | {} | {} |", candidate.name, work.shape(),
                    median(candidate.seconds) * 1e6, *best * 1e6, *worst * 1e6, median(result.rates), share,
                    verdict == nullptr ? "" : fmt::format("{:.1e}", verdict->error),
                    verdict == nullptr ? "" : verdict->remark));
  }

  Family const& family_;
  std::vector<KernelFile> kernels_;
  stream order_;
  Cublas const* cublas_;
  Settings const& settings_;
  ResultFile& results_;
  std::size_t right_ = 0;
  std::vector<std::string> wrong_;
};

bool chosen(Family const& family, Settings const& settings, std::vector<KernelFile> const& given) {
  if (!settings.only.empty()) return family.name == settings.only;
  return given.empty() || std::any_of(given.begin(), given.end(),
                                      [&](KernelFile const& file) { return family_of(file.kernel()) == &family; });
}

int run(Settings const& settings) {
  bool const have_device = device::cuda_count() > 0;
  if (!have_device) say(fmt::format("no timing: {}", device::cuda_status()));
  std::unique_ptr<cuda_stream> order;
  std::unique_ptr<Cublas> cublas;
  if (have_device) {
    order = std::make_unique<cuda_stream>(device::cuda());
    std::string why;
    cublas = Cublas::open(*order, why);
    say(fmt::format("{}; {}; seed {}", order->where().name(), cublas ? cublas->description() : "no cuBLAS: " + why,
                    settings.seed));
  }
  ResultFile results(settings.json, "device_target_kernels", have_device ? order->where().name() : "");
  bool right = true;
  std::vector<KernelFile> given;
  for (std::string const& file : settings.files) {
    try {
      given.emplace_back(file);
      if (family_of(given.back().kernel()) == nullptr)
        throw UserError(fmt::format("kernel @{} does not belong to a family", given.back().kernel()));
    } catch (Error const& error) {
      say(fmt::format("WRONG: {}: {}", file, first_line(error.what())));
      right = false;
    }
  }
  for (Family const& family : families()) {
    if (!chosen(family, settings, given)) continue;
    std::vector<KernelFile> kernels = kernels_of(family, given, right);
    for (KernelFile& kernel : kernels) {
      say(fmt::format("{}: {}", kernel.label(), kernel.resources()));
      if (have_device) kernel.load(order->where());
    }
    if (kernels.empty()) continue;
    if (have_device) {
      FamilyBench timed(family, std::move(kernels), *order, cublas.get(), settings, results);
      right = timed.run(settings.seed) && right;
      continue;
    }
    for (auto const& extents : settings.quick ? family.quick : family.large)
      say(fmt::format("skipped: {} {}", family.name, shape_text(extents)));
  }
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  settings.seed = std::random_device()();
  CLI::App app("Hand-written kernels beside cuBLAS and copies");
  std::vector<std::string> names;
  for (Family const& family : families()) names.push_back(family.name);
  app.add_option("--only", settings.only, "one family of kernels")->check(CLI::IsMember(names));
  app.add_option("--file", settings.files,
                 "also this IR text, a variant of a family's kernel; its kernel's name says which");
  app.add_option("--shape", settings.shapes, "these extents in place of the family's own, with x between");
  app.add_flag("--quick", settings.quick, "one size of each family and no search in cuBLASLt");
  app.add_flag("--check", settings.check_only, "small sizes only, nothing is timed");
  app.add_option("--json", settings.json, "append the results to this file, one JSON object a line");
  app.add_option("--rounds", settings.clock.rounds, "samples of each candidate")->check(CLI::Range(1, 1000));
  app.add_option("--seed", settings.seed, "of the random inputs");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(settings);
  } catch (std::exception const& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
}
