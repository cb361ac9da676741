// Compares profiled kernels with the same kernels without records, on a CUDA device: a softmax of three nested regions,
// with 8 records in a warp, and the bf16 product and attention with the compiler's records. Both strategies, in one
// run, in interleaved bursts; medians. Checks first that values are the same bit for bit. Prints "skipped" where there
// is no device.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "../../samples/kernels.hpp"
#include "../../samples/support/report.hpp"
#include "rig/result_file.hpp"
#include "tegula/jit/profile.hpp"
#include "tegula/tegula.hpp"
#include "tune/timing.hpp"

using namespace tegula;

namespace {

using tuning::median;

inline constexpr auto softmax = kernel("softmax_regions", [](in<float, 2> x, out<float, 2> y) {
  constexpr int width = 4096;
  auto g = grid_over(y, shape<1, width>);
  require(y.extent(1) <= width, "softmax: a row must fit one tile");
  region all("row");
  record(start, "load");
  tile v = load(x, shape<1, width>, g[0], 0, pad(-inf));
  tile m = max(v, axis<1>);
  record(stop, "load");
  region rest("weights");
  tile e = exp(v - m);
  region last("quotients");
  store(y, shape<1, width>, e / sum(e, axis<1>), g[0], 0);
});

/// Holds one way to run a kernel.
struct Variant {
  std::string name;
  std::function<void(stream const&)> go;
  std::vector<double> seconds = {};  ///< per launch, one per burst
};

// All launches together fill the buffer: a row that is dropped costs less.
constexpr int launches_of_a_burst = 3, max_rounds = 9;

CompileOptions recording(bool user, bool compiler, ProfileStrategy strategy,
                         ProfileGranularity granularity = ProfileGranularity::warp) {
  CompileOptions options;
  options.profile.user = user;
  options.profile.compiler = compiler;
  options.profile.strategy = strategy;
  options.profile.granularity = granularity;
  options.profile.slots = user ? 8 : 256;
  options.profile.circular = true;
  options.profile.rows = user ? (1 << 20) - 128 : 60'000;
  return options;
}

/// Profiles one launch, prints the summary and writes trace, page and picture into a folder of the given one.
template <class F, class... X>
void keep_profile(std::string const& folder, std::string const& name, bool user, Kernel<F> const& kernel,
                  X&... arguments) {
  if (folder.empty()) return;
  cuda_stream const order;
  launch(order, kernel, arguments...);
  CompileOptions options = recording(user, !user, ProfileStrategy::device, ProfileGranularity::warpgroup);
  options.profile.slots = user ? 8 : 1024;
  options.profile.rows = 8192;
  Profile const found = profile(order, with(options), kernel, arguments...);
  fmt::print("{}:\n{}\n", name, found.str());
  found.save(folder + "/" + name);
  ProfileView view;
  view.from = 0.8 * found.duration();
  view.to = std::min(found.duration(), view.from + 12e3);
  if (found.duration() < 20e3) view.from = view.to = 0;
  view.rows = 6;
  std::ofstream(folder + "/" + name + "/part.svg") << found.svg(view);
}

/// Prepares a kernel without records and with those of each strategy. The last argument is the result, which must not
/// depend on them.
template <class F, class Out, class... In>
bool measure(std::string const& name, bool user, double rate, char const* unit, int rounds, bench::ResultFile& file,
             Kernel<F> const& kernel, Out& result, In&... arguments) {
  stream const order(result.where());
  std::vector<Variant> variants = {{"none", prepare(kernel, arguments...)}};
  for (bool const shared : {true, false})
    for (bool const each : {true, false}) {
      ProfileStrategy const strategy = shared ? ProfileStrategy::shared : ProfileStrategy::device;
      ProfileGranularity const granularity = each ? ProfileGranularity::warp : ProfileGranularity::warpgroup;
      variants.push_back({fmt::format("{}, each {}", shared ? "shared" : "device", each ? "warp" : "warpgroup"),
                          prepare(with(recording(user, !user, strategy, granularity)), kernel, arguments...)});
    }
  using T = typename std::remove_cvref_t<Out>::element_type;
  std::vector<T> expected(static_cast<std::size_t>(result.size())), found(expected.size());
  bool right = true;
  for (Variant& variant : variants) {
    result.fill(order, samples::poison<T>());
    variant.go(order);
    order.synchronize();
    bool const first = &variant == &variants.front();
    result.copy_to(first ? expected : found);
    bool const same = first || std::memcmp(expected.data(), found.data(), expected.size() * sizeof(T)) == 0;
    if (!same) fmt::print("WRONG: {}: records of strategy {} change the result\n", name, variant.name);
    right = right && same;
  }
  timer clock(order);
  for (int round = 0; round < rounds; ++round)
    for (Variant& variant : variants) {
      clock.start();
      for (int i = 0; i < launches_of_a_burst; ++i) variant.go(order);
      clock.stop();
      variant.seconds.push_back(clock.seconds() / launches_of_a_burst);
    }
  for (Variant const& variant : variants) {
    bench::Result row{"profile", name, "records: " + variant.name, unit, {}, "", {}, {}, {}, {}};
    for (std::size_t round = 0; round < variant.seconds.size(); ++round) {
      row.rates.push_back(rate / variant.seconds[round]);
      if (&variant == &variants.front()) continue;
      row.rival = "records: none";
      row.ratios.push_back(variants.front().seconds[round] / variant.seconds[round]);
    }
    double const seconds = median(variant.seconds);
    fmt::print("{:<28} {:<22} {:9.2f} us {:10.1f} {}  ratio {:.4f}\n", name, variant.name, seconds * 1e6,
               rate / seconds, unit, row.ratios.empty() ? 1.0 : median(row.ratios));
    file.write(row);
  }
  return right;
}

template <int d, class F>
bool measure_attention(std::int64_t heads, std::int64_t length, int rounds, bench::ResultFile& file,
                       std::string const& folder, Kernel<F> const& kernel) {
  device const where = device::cuda();
  auto const filled = [&] {
    return samples::filled<bf16, 3>(where, samples::random_values<bf16>(heads * length * d), heads, length, d);
  };
  auto q = filled(), k = filled(), v = filled();
  buffer<bf16, 3> o(where, heads, length, d);
  float const scale = 1.442695041F / std::sqrt(static_cast<float>(d));
  double const work = 4e-12 * static_cast<double>(heads * length * length * d);
  bool const right = measure(fmt::format("attention {} x {}, d {}", heads, length, d), false, work, "TFLOP/s", rounds,
                             file, kernel, o, q, k, v, o, scale);
  keep_profile(folder, fmt::format("attention_{}_d{}", length, d), false, kernel, q, k, v, o, scale);
  return right;
}

/// Prints what the assembler says of a kernel without records and with those of each strategy; needs no device.
template <class F>
void print_facts(char const* name, bool user, Kernel<F> const& kernel) {
  auto const line = [&](std::string const& variant, CompileOptions options) {
    options.target = Target::cuda;
    options.architecture = "sm_90a";
    KernelFacts const found = facts(kernel, options);
    fmt::print("{:<18} {:<20} {} registers, {} bytes spilled\n", name, variant, found.registers, found.spill_bytes);
  };
  line("none", {});
  for (bool const shared : {true, false})
    line(shared ? "shared" : "device",
         recording(user, !user, shared ? ProfileStrategy::shared : ProfileStrategy::device));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Cost of records in kernels");
  int rounds = 9;
  std::string json;
  app.add_option("--rounds", rounds, "bursts of each variant, interleaved")->check(CLI::Range(1, max_rounds));
  std::string folder;
  app.add_option("--profiles", folder, "also keep a profile of each kernel in this folder");
  bool only_facts = false;
  app.add_flag("--facts", only_facts, "print registers and spills of the kernels, without a device");
  app.add_option("--json", json, "append the results to this file, one JSON object a line");
  CLI11_PARSE(app, argc, argv);
  if (only_facts) {
    print_facts("softmax", true, softmax);
    print_facts("product", false, samples::gemm<128, 256, 64>(samples::bias_relu));
    print_facts("attention, d 64", false, samples::attention<128, 128, 64>);
    print_facts("attention, d 128", false, samples::attention<128, 128, 128>);
    return 0;
  }
  if (device::cuda_count() == 0) {
    fmt::print("skipped: {}\n", device::cuda_status());
    return 0;
  }
  return samples::guarded("profile_cost", [&] {
    device const where = device::cuda();
    bench::ResultFile file(json, "device_profile_cost", where.name());
    bool right = true;
    {
      std::int64_t const rows = 4096, columns = 4096;
      auto x = samples::filled<float, 2>(where, samples::random_values<float>(rows * columns), rows, columns);
      buffer<float, 2> y(where, rows, columns);
      right = measure("softmax 4096 x 4096", true, 2e-9 * sizeof(float) * static_cast<double>(rows * columns), "GB/s",
                      rounds, file, softmax, y, x, y) &&
              right;
      keep_profile(folder, "softmax", true, softmax, x, y);
    }
    for (std::int64_t const n : {1024, 4096}) {
      auto a = samples::filled<bf16, 2>(where, samples::random_values<bf16>(n * n), n, n);
      auto b = samples::filled<bf16, 2>(where, samples::random_values<bf16>(n * n), n, n);
      auto bias = samples::filled<float, 1>(where, samples::random_values<float>(n), n);
      buffer<bf16, 2> c(where, n, n);
      auto const product = samples::gemm<128, 256, 64>(samples::bias_relu);
      right = measure(fmt::format("product {} cubed", n), false, 2e-12 * static_cast<double>(n * n * n), "TFLOP/s",
                      rounds, file, product, c, a, b, bias, c) &&
              right;
      keep_profile(folder, fmt::format("product_{}", n), false, product, a, b, bias, c);
    }
    for (auto const& [length, heads] : {std::pair<std::int64_t, std::int64_t>{1024, 256}, {4096, 64}}) {
      right = measure_attention<64>(heads, length, rounds, file, folder, samples::attention<128, 128, 64>) && right;
      right = measure_attention<128>(heads, length, rounds, file, folder, samples::attention<128, 128, 128>) && right;
    }
    return right ? 0 : 1;
  });
}
