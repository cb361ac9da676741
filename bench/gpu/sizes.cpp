// Holds the choice among the kernels of samples/tuned_products.hpp against sizes that nobody named. Draws products by a
// seed, times every kernel and the first algorithm of cuBLASLt's heuristic, and prints the time of the kernel that a
// launch takes beside the best. --judge does so for sizes that were measured before, without a device: a change of the
// model is tried on one half of them (--half fit) and judged by the other.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "../../samples/support/report.hpp"
#include "../../samples/tuned_products.hpp"
#include "analysis/launch_cost.hpp"
#include "jit/choose.hpp"
#include "jit/kernel_memo.hpp"
#include "jit/launch_options.hpp"
#include "rig/cublas.hpp"
#include "rig/result_file.hpp"
#include "rig/workload.hpp"
#include "runtime/matrix_argument.hpp"
#include "support/key_text.hpp"
#include "tegula/target/target_info.hpp"

using namespace tegula;
using namespace tegula::bench;

namespace {

struct Settings {
  std::string json, judge, half, only;
  std::vector<std::string> sizes;
  std::uint64_t seed = 1;
  int count = 200, skip = 0;
  double max_seconds = 1e9;
  bool verbose = false, estimates = false, fit = false, plain = false;
  CoolClock clock{0.005, 1, 0.004, 3};
};

struct Size {
  std::string kind;
  std::int64_t m = 0, n = 0, k = 0;
  [[nodiscard]] std::string str() const { return fmt::format("{}x{}x{}", m, n, k); }
  /// Tells whether the rows of all tensors are multiples of 16 bytes.
  [[nodiscard]] bool aligned() const { return n % 8 == 0 && k % 8 == 0; }
};

/// Draws sizes. The same seed gives the same sizes with every compiler.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}

  Size size() {
    Size result;
    switch (below(10)) {
      case 0:
        result = {"few rows", log_uniform(1, 64), extent(), extent()};
        break;
      case 1:
        result = {"few columns", log_uniform(64, 16384), log_uniform(1, 64), extent()};
        break;
      case 2:
        result = {"short depth", log_uniform(2048, 16384), large(), log_uniform(16, 512)};
        break;
      case 3:
        result = {"long depth", log_uniform(16, 512), log_uniform(16, 512), log_uniform(4096, 65536)};
        break;
      case 4: {
        std::int64_t const tile = std::int64_t{64} << below(3);
        result = {"just over a tile", tile * (1 + below(20)) + 1 + below(8), extent(), extent()};
        break;
      }
      default:
        result = {"any", log_uniform(1, 16384), extent(), extent()};
    }
    return result;
  }

 private:
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(bound));
  }
  std::int64_t log_uniform(double low, double high) {
    double const share = static_cast<double>(random_() >> 11) * 0x1p-53;
    return std::llround(low * std::pow(high / low, share));
  }
  std::int64_t of_models() {
    static constexpr std::int64_t extents[] = {576,  768,  1024, 1152, 1536, 2048, 2560,  2816,  3072,  3584,  4096,
                                               4608, 5120, 6144, 7168, 8192, 9216, 11008, 12288, 14336, 18944, 28672};
    return extents[below(std::ssize(extents))];
  }
  std::int64_t extent() {
    switch (below(8)) {
      case 0:
        return log_uniform(16, 12000) | 1;
      case 1:
        return log_uniform(16, 12000) / 8 * 8 + 8;
      default:
        return of_models();
    }
  }
  std::int64_t large() { return std::max(extent(), of_models()); }

  std::mt19937_64 random_;
};

/// Reads MxNxK.
Size stated(std::string const& text) {
  Size size{"stated", 0, 0, 0};
  int read = 0;
  bool const whole =
      std::sscanf(text.c_str(), "%" SCNd64 "x%" SCNd64 "x%" SCNd64 "%n", &size.m, &size.n, &size.k, &read) == 3 &&
      static_cast<std::size_t>(read) == text.size();
  if (!whole || std::min({size.m, size.n, size.k}) < 1)
    throw UserError(fmt::format("--size {}: state rows, columns and depth, such as 331x437x24385", text));
  return size;
}

/// Holds what was measured of one size.
struct Measured {
  Size size;
  double rival = 0;                       ///< seconds; 0: none
  std::map<std::string, double> kernels;  ///< seconds by label
};

nlohmann::ordered_json to_json(Measured const& measured, std::uint64_t seed, std::string const& machine) {
  nlohmann::ordered_json row{
      {"program", "gpu_sizes"}, {"machine", machine},         {"date", today()},
      {"seed", seed},           {"kind", measured.size.kind}, {"m", measured.size.m},
      {"n", measured.size.n},   {"k", measured.size.k},       {"cublaslt_us", measured.rival * 1e6}};
  for (auto const& [label, seconds] : measured.kernels) row["us"][label] = std::round(seconds * 1e9) / 1e3;
  return row;
}

std::vector<Measured> read(std::string const& file) {
  std::ifstream stream(file);
  if (!stream) throw UserError(fmt::format("--judge {}: cannot read this file", file));
  std::vector<Measured> result;
  for (std::string line; std::getline(stream, line);) {
    auto const row = nlohmann::json::parse(line);
    Measured& measured = result.emplace_back();
    measured.size = {row.at("kind"), row.at("m"), row.at("n"), row.at("k")};
    measured.rival = row.at("cublaslt_us").get<double>() * 1e-6;
    for (auto const& [label, us] : row.at("us").items()) measured.kernels[label] = us.get<double>() * 1e-6;
  }
  return result;
}

std::vector<Argument> arguments_of(Size const& size) {
  auto const matrix = [](std::int64_t rows, std::int64_t columns) {
    return runtime::matrix_argument(Element::bf16, rows, columns);
  };
  return {matrix(size.m, size.k), matrix(size.k, size.n), matrix(size.m, size.n)};
}

/// Collects ratios and prints their mean and worst.
struct Summary {
  std::string name;
  std::vector<std::pair<double, std::string>> ratios;

  void add(double ratio, std::string const& where) { ratios.emplace_back(ratio, where); }
  /// `cut`: the most that one ratio counts.
  void print(double cut, bool less_is_better) {
    if (ratios.empty()) return;
    std::sort(ratios.begin(), ratios.end());
    if (less_is_better) std::reverse(ratios.begin(), ratios.end());
    double logs = 0;
    for (auto const& [ratio, where] : ratios) logs += std::log(std::min(ratio, cut));
    std::size_t const count = ratios.size();
    fmt::print("{}: {} sizes, geometric mean {:.3f}, median {:.3f}, 5th percentile {:.3f}, worst {:.3f} ({})\n", name,
               count, std::exp(logs / static_cast<double>(count)), ratios[count / 2].first, ratios[count / 20].first,
               ratios[0].first, ratios[0].second);
  }
};

bool of_half(Size const& size, std::string const& half) {
  if (half.empty()) return true;
  bool const fit = support::hash_hex(size.str()).back() % 2 == 0;
  return fit == (half == "fit");
}

/// A product as a user writes it, with no variants and no options: its plan follows from the class of its extents.
template <int m, int n>
inline constexpr auto plain_product = kernel("plain_product", [](in<bf16, 2> a, in<bf16, 2> b, out<bf16, 2> c) {
  auto g = grid_over(c, shape<m, n>);
  tile sum = loop(
      ceil_div(a.extent(1), 64), zeros<float>(shape<m, n>),
      [&](auto k, auto acc) { return dot(load(a, shape<m, 64>, g[0], k), load(b, shape<64, n>, k, g[1]), acc); },
      stages<4>);
  store(c, shape<m, n>, cast<bf16>(sum), g[0], g[1]);
});

/// Refers to a kernel with its label and options.
struct Kernel {
  std::string label;
  jit::KernelRef reference;
};

std::vector<Kernel> kernels_of(Settings const& settings) {
  std::vector<Kernel> result;
  if (settings.plain) {
    static CompileOptions const not_split = [] {
      CompileOptions options;
      options.split = 1;
      return options;
    }();
    auto const add = [&](std::string const& name, jit::KernelRef reference) {
      result.push_back({name, reference});
      reference.options = &not_split;
      result.push_back({name + ", not split", reference});
    };
    add("128x128", jit::reference(plain_product<128, 128>));
    add("64x64", jit::reference(plain_product<64, 64>));
    return result;
  }
  jit::KernelRef const all = jit::reference(samples::product_variants);
  std::vector<std::string> const labels = jit::labels_of(all);
  for (int i = 0; i < all.members; ++i) {
    std::string const& label = labels[static_cast<std::size_t>(i)];
    if (label.find(settings.only) != std::string::npos) result.push_back({label, all.member(all.kernel, i)});
  }
  return result;
}

/// Holds what the model counts of a kernel at a size, beside what was measured.
struct Counted {
  std::string label;
  jit::Estimate work;
  double seconds = 0;
};

struct CountedSize {
  Measured const* measured;
  std::vector<Counted> kernels;
};

jit::Executor const executor{&sm_90a, sm_90a.costs.multiprocessors};

std::vector<CountedSize> counted(std::vector<Measured> const& all, Settings const& settings, std::string const& half) {
  std::vector<Kernel> const kernels = kernels_of(settings);
  std::vector<CountedSize> result;
  for (Measured const& measured : all) {
    if (!of_half(measured.size, half)) continue;
    auto const arguments = arguments_of(measured.size);
    CountedSize size{&measured, {}};
    for (Kernel const& kernel : kernels)
      if (auto const found = measured.kernels.find(kernel.label); found != measured.kernels.end())
        size.kernels.push_back({kernel.label,
                                jit::estimate(jit::traced(kernel.reference)->kernel, arguments, {},
                                              jit::chosen_options(kernel.reference), executor),
                                found->second});
    if (!size.kernels.empty()) result.push_back(std::move(size));
  }
  return result;
}

struct Choice {
  Counted const *taken = nullptr, *best = nullptr;
};

Choice chosen(CountedSize const& size, analysis::LaunchCosts const& costs) {
  Choice result;
  double least = 0;
  for (Counted const& kernel : size.kernels) {
    double const expected = analysis::seconds_of(kernel.work, executor, costs);
    if (result.taken == nullptr || expected < least) least = expected, result.taken = &kernel;
    if (result.best == nullptr || kernel.seconds < result.best->seconds) result.best = &kernel;
  }
  return result;
}

void judge(std::vector<Measured> const& all, Settings const& settings) {
  constexpr double shortest = 4e-6;  // shorter ones are listed apart
  Summary taken{"chosen to the best of all kernels", {}};
  std::map<std::string, Summary> beside;
  std::vector<CountedSize> const sizes = counted(all, settings, settings.half);
  for (CountedSize const& size : sizes) {
    Measured const& measured = *size.measured;
    Choice const choice = chosen(size, analysis::hopper_costs);
    double const seconds = choice.taken->seconds, best = choice.best->seconds;
    double const to_rival = measured.rival / seconds;
    std::string const where = fmt::format("{}, {}: {}, best {}", measured.size.str(), measured.size.kind,
                                          choice.taken->label, choice.best->label);
    if (settings.verbose)
      fmt::print("{:<40} {:8.2f} us, {:.3f} of the best, {:8.2f} us; {:.3f} of cuBLASLt, best {:.3f}\n", where,
                 seconds * 1e6, seconds / best, best * 1e6, to_rival, measured.rival / best);
    if (settings.estimates)
      for (Counted const& kernel : size.kernels)
        fmt::print("{} {}: estimate {:.2f} us, {:.2f} us\n", measured.size.str(), kernel.label,
                   analysis::seconds_of(kernel.work, executor) * 1e6, kernel.seconds * 1e6);
    taken.add(seconds / best, where);
    if (measured.rival == 0) continue;
    std::string const table = std::max(seconds, measured.rival) < shortest ? "shorter than 4 us"
                              : measured.size.aligned()                    ? "rows of 16 bytes"
                                                                           : "other rows";
    auto const add = [&](std::string const& name, double ratio) {
      auto& summary = beside[name];
      summary.name = name;
      summary.add(ratio, where);
    };
    add(table + " to cuBLASLt", to_rival);
    add(table + " to cuBLASLt, best kernel", measured.rival / best);
    add("  of these, " + measured.size.kind, to_rival);
  }
  taken.print(1e9, true);
  for (auto& [name, summary] : beside) summary.print(1.2, false);
}

/// Prints how each kernel stands to the rival, and to itself without a split.
void compare(std::vector<Measured> const& all, Settings const& settings) {
  std::map<std::string, Summary> summaries;
  auto const add = [&](std::string const& name, double ratio, Size const& size) {
    Summary& summary = summaries[name];
    summary.name = name;
    summary.add(ratio, fmt::format("{}, {}", size.str(), size.kind));
  };
  for (Measured const& measured : all)
    for (auto const& [label, seconds] : measured.kernels) {
      if (settings.verbose)
        fmt::print("{:<22} {:<18} {:9.2f} us, {:.3f} of cuBLASLt\n", measured.size.str(), label, seconds * 1e6,
                   measured.rival / seconds);
      add(label + (measured.size.aligned() ? ", rows of 16 bytes" : ", other rows") + ", to cuBLASLt",
          measured.rival / seconds, measured.size);
      auto const whole = measured.kernels.find(label + ", not split");
      if (whole != measured.kernels.end()) add(label + " to itself, not split", whole->second / seconds, measured.size);
    }
  for (auto& [name, summary] : summaries) summary.print(1e9, false);
}

/// Weighs costs: the mean loss of the choices, and a little of the errors of kernels that are near the best.
double loss(std::vector<CountedSize> const& sizes, analysis::LaunchCosts const& costs) {
  constexpr double of_errors = 0.1, near = 2;
  double choices = 0, errors = 0;
  int count = 0;
  for (CountedSize const& size : sizes) {
    Choice const choice = chosen(size, costs);
    choices += std::log(choice.taken->seconds / choice.best->seconds);
    for (Counted const& kernel : size.kernels) {
      if (kernel.seconds > near * choice.best->seconds) continue;
      errors += std::abs(std::log(analysis::seconds_of(kernel.work, executor, costs) / kernel.seconds));
      ++count;
    }
  }
  return choices / static_cast<double>(sizes.size()) + of_errors * errors / std::max(count, 1);
}

/// Finds costs with the least loss by changing one after another, and prints them.
void fit(std::vector<Measured> const& all, Settings const& settings) {
  using Costs = analysis::LaunchCosts;
  constexpr std::pair<char const*, double Costs::*> fields[] = {{"line", &Costs::line},
                                                                {"outside_line", &Costs::outside_line},
                                                                {"pair", &Costs::pair},
                                                                {"latency", &Costs::latency},
                                                                {"start", &Costs::start},
                                                                {"wave", &Costs::wave},
                                                                {"exchange", &Costs::exchange},
                                                                {"exchange_cta", &Costs::exchange_cta},
                                                                {"exchange_bytes", &Costs::exchange_bytes},
                                                                {"products", &Costs::products},
                                                                {"narrow", &Costs::narrow},
                                                                {"narrow_wait", &Costs::narrow_wait},
                                                                {"alone_bytes", &Costs::alone_bytes},
                                                                {"pair_bytes", &Costs::pair_bytes},
                                                                {"hindrance", &Costs::hindrance}};
  bool const swapped = settings.half == "judged";
  std::vector<CountedSize> const sizes = counted(all, settings, swapped ? "judged" : "fit"),
                                 others_half = counted(all, settings, swapped ? "fit" : "judged");
  Costs costs = analysis::hopper_costs;
  double least = loss(sizes, costs);
  fmt::print("loss {:.4f}, of the other half {:.4f}\n", least, loss(others_half, costs));
  for (double const step : {1.5, 1.25, 1.1, 1.25, 1.1, 1.05})
    for (auto const& [name, field] : fields)
      for (double const factor : {step, 1 / step}) {
        for (bool better = true; better;) {
          Costs changed = costs;
          changed.*field *= factor;
          double const now = loss(sizes, changed);
          better = now < least - 1e-6;
          if (better) costs = changed, least = now;
        }
      }
  for (auto const& [name, field] : fields) fmt::print(".{} = {:.3g}, ", name, costs.*field);
  fmt::print("\nloss {:.4f}, of the other half {:.4f}\n", least, loss(others_half, costs));
}

/// Prepares every kernel on all threads, as they compile, and times those that compile.
Measured measure(Size const& size, stream const& order, Cublas const* cublas, Settings const& settings) {
  Measured result{size, 0, {}};
  std::unique_ptr<Workload> const work = make_product(order, {size.m, size.n, size.k}, settings.seed, false);
  struct Prepared : Kernel {
    std::vector<prepared> launches;  // one for each set
  };
  std::vector<Prepared> kernels;
  for (Kernel& each : kernels_of(settings)) kernels.push_back({std::move(each), {}});
  in_parallel(std::ssize(kernels), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      Prepared& each = kernels[static_cast<std::size_t>(i)];
      try {
        for (int set = 0; set < work->sets(); ++set) {
          std::map<std::string, Argument> const by_name = work->arguments(set);
          std::array<Argument, 3> const arguments{by_name.at("A"), by_name.at("B"), by_name.at("C")};
          each.launches.emplace_back(jit::prepare(nullptr, each.reference, {arguments.data(), 3}, {}));
        }
      } catch (Error const& error) {  // of a UserError, or of the assembler
        each.launches.clear();
        if (settings.verbose) fmt::print("{}, {}: {}\n", size.str(), each.label, error.what());
      }
    }
  });
  std::vector<Candidate> timed;
  std::optional<Candidate> const rival = cublas == nullptr ? std::nullopt : work->first_of_heuristics(*cublas);
  if (rival) timed.push_back(*rival);
  for (Prepared const& each : kernels)
    if (!each.launches.empty())
      timed.push_back(
          {each.label, [&each, &order](int set) { each.launches[static_cast<std::size_t>(set)](order); }, {}});
  for (Candidate const& each : timed) each.launch(0);
  order.synchronize();
  constexpr double graph_work = 5e9;  // under about 40 us: a thread may not keep up
  if (2.0 * static_cast<double>(size.m * size.n) * static_cast<double>(size.k) < graph_work)
    for (Candidate& each : timed) each = tuning::in_graph(order, each, work->sets());
  time_in_turns(order, timed, work->sets(), settings.clock);
  for (Candidate const& each : timed) {
    double const seconds = median(each.seconds);
    if (rival && each.name == rival->name)
      result.rival = seconds;
    else
      result.kernels[each.name] = seconds;
  }
  return result;
}

int run(Settings const& settings) {
  if (!settings.judge.empty()) {
    (settings.fit ? fit : judge)(read(settings.judge), settings);
    return 0;
  }
  device const where = device::cuda();
  stream const order(where);
  std::string why;
  std::unique_ptr<Cublas> const cublas = Cublas::open(order, why);
  fmt::print("{}, {}, {}, seed {}\n", today(), where.name(), cublas ? cublas->description() : "no cuBLAS: " + why,
             settings.seed);
  std::ofstream file;
  if (!settings.json.empty()) file.open(settings.json, std::ios::app);
  Draw draw(settings.seed);
  std::vector<Measured> all;
  auto const start = std::chrono::steady_clock::now();
  int const count = settings.sizes.empty() ? settings.count : static_cast<int>(settings.sizes.size());
  for (int i = 0; i < count; ++i) {
    Size const size = settings.sizes.empty() ? draw.size() : stated(settings.sizes[static_cast<std::size_t>(i)]);
    std::chrono::duration<double> const spent = std::chrono::steady_clock::now() - start;
    if (spent.count() > settings.max_seconds) {
      fmt::print("{} of {} sizes measured in {:.0f} s\n", i, count, spent.count());
      break;
    }
    if (i < settings.skip) continue;
    all.push_back(measure(size, order, cublas.get(), settings));
    if (file.is_open()) file << to_json(all.back(), settings.seed, where.name()).dump() << std::endl;
  }
  (settings.plain ? compare : judge)(all, settings);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Holds the choice of a product's kernel against sizes drawn by a seed");
  app.add_flag("--plain", settings.plain, "time two kernels without variants, as launched and not split");
  app.add_option("--seed", settings.seed, "of the sizes");
  app.add_option("--count", settings.count, "sizes to draw")->check(CLI::Range(1, 100000));
  app.add_option("--size", settings.sizes, "measure this size, MxNxK, instead of drawn ones; may be repeated");
  app.add_option("--skip", settings.skip, "sizes to leave out at the start");
  app.add_option("--json", settings.json, "append what is measured to this file, one JSON object a line");
  app.add_option("--judge", settings.judge, "measure nothing; judge the sizes of this file");
  app.add_flag("--fit", settings.fit, "find the costs of the model that suit one half of the sizes of --judge");
  app.add_option("--half", settings.half, "judge one half of the sizes")->check(CLI::IsMember({"fit", "judged"}));
  app.add_option("--only", settings.only, "kernels with this in their label");
  app.add_option("--rounds", settings.clock.rounds, "samples of each kernel")->check(CLI::Range(1, 100));
  app.add_option("--max-seconds", settings.max_seconds, "draw no more sizes after so long");
  app.add_flag("--estimates", settings.estimates, "print what the model expects of each kernel");
  app.add_flag("--verbose", settings.verbose, "print each size");
  CLI11_PARSE(app, argc, argv);
  if (settings.judge.empty() && device::cuda_count() == 0) {
    fmt::print("skipped: {}; --judge needs no device\n", device::cuda_status());
    return 0;
  }
  return samples::guarded("gpu_sizes", [&] { return run(settings); });
}
