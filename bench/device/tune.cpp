// Tunes the products of samples/tuned_products.hpp, and compares the choices of the model of the cost with those of the
// measurement. Writes the table that the sample ships. On a CUDA device; on the host with --host, at few small
// problems.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <cmath>
#include <string>
#include <vector>

#include "../../samples/support/report.hpp"
#include "../../samples/tuned_products.hpp"
#include "tegula/tune/tune.hpp"

using namespace tegula;

namespace {

struct Problem {
  std::int64_t m, n, k;
};

constexpr Problem problems[] = {{8192, 8192, 8192}, {4096, 4096, 4096}, {2048, 2048, 2048},  {1024, 1024, 1024},
                                {512, 512, 512},    {256, 256, 256},    {4096, 4096, 16384}, {4000, 4000, 4000},
                                {3072, 5120, 1536}, {128, 28672, 8192}, {8192, 1000, 4104},  {8192, 1000, 4096},
                                {1, 4096, 4096},    {1, 8192, 8192},    {16, 8192, 8192},    {16, 4096, 4096},
                                {64, 4096, 4096},   {256, 4096, 4096},  {512, 512, 8192},    {128, 128, 16384},
                                {1536, 1536, 1536}, {6144, 6144, 1024}, {1000, 1032, 1016},  {16384, 1024, 1024},
                                {1024, 16384, 512}, {2048, 8192, 2048}};
constexpr Problem small_problems[] = {{256, 256, 256}, {64, 512, 128}};

/// Returns the second word of a device's name in small letters: "h200" of "NVIDIA H200".
std::string model_of(std::string const& name) {
  std::string result;
  for (std::size_t at = name.find(' ') + 1; at < name.size() && std::isalnum(static_cast<unsigned char>(name[at])) != 0;
       ++at)
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(name[at])));
  return result.empty() ? "device" : result;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Tunes the products of the samples");
  std::string log, tables;
  std::vector<std::int64_t> extents;
  double max_seconds = 30;
  bool on_host = false, verbose = false;
  app.add_option("--log", log, "results of earlier runs, which are not measured again; new ones are added");
  app.add_option("--tables", tables, "folder for the table, product.<model>.hpp, of a name such as product_h200");
  app.add_option("--extents", extents, "M, N and K of each problem, in place of the list")->delimiter(',');
  app.add_option("--max-seconds", max_seconds, "for each problem")->check(CLI::PositiveNumber);
  app.add_flag("--host", on_host, "tune for the host");
  app.add_flag("--verbose", verbose, "print every kernel");
  CLI11_PARSE(app, argc, argv);
  if (extents.size() % 3 != 0) {
    fmt::print(stderr, "tune: --extents has {} numbers; give M, N and K of each problem\n", extents.size());
    return 1;
  }
  std::vector<Problem> chosen(std::begin(problems), std::end(problems));
  if (on_host) chosen.assign(std::begin(small_problems), std::end(small_problems));
  if (!extents.empty()) chosen.clear();
  for (std::size_t i = 0; i + 2 < extents.size(); i += 3)
    chosen.push_back({extents[i], extents[i + 1], extents[i + 2]});
  if (!on_host && device::cuda_count() == 0) {
    fmt::print("skipped: {}\n", device::cuda_status());
    return 0;
  }
  return samples::guarded("tune", [&] {
    device const where = on_host ? device::host() : device::cuda();
    stream const order(where);
    TuneOptions options;
    options.log = log;
    options.max_seconds = max_seconds;
    options.max_estimate = 1e6;  // every kernel is timed, so that the model can be judged
    options.idle_seconds = 0.02;
    options.busy_seconds = 0.008;
    double logs = 0, worst = 1;
    int count = 0;
    for (Problem const& p : chosen) {
      auto const a = samples::filled<bf16, 2>(where, samples::random_values<bf16>(p.m * p.k), p.m, p.k);
      auto const b = samples::filled<bf16, 2>(where, samples::random_values<bf16>(p.k * p.n), p.k, p.n);
      buffer<bf16, 2> c(where, p.m, p.n);
      TuneResult const found = tune(order, options, samples::product_variants, a, b, c);
      VariantChoice const model = choice(samples::product_variants, a, b, c);
      TunedKernel const &best = found.kernels[static_cast<std::size_t>(found.best)],
                        &guess = found.kernels[static_cast<std::size_t>(model.number)];
      double const ratio = guess.seconds > 0 ? guess.seconds / best.seconds : std::nan("");
      fmt::print(
          "{:>6} {:>6} {:>6}  {:<18} {:9.2f} us {:8.1f} TFLOP/s   model: {:<18} {:.3f} of the time  ({:.1f} s)\n", p.m,
          p.n, p.k, best.label, best.seconds * 1e6,
          2e-12 * static_cast<double>(p.m * p.n) * static_cast<double>(p.k) / best.seconds, guess.label, ratio,
          found.seconds);
      if (verbose) fmt::print("{}", found.str());
      std::fflush(stdout);
      if (std::isnan(ratio)) continue;
      logs += std::log(ratio);
      worst = std::max(worst, ratio);
      ++count;
    }
    if (count > 0)
      fmt::print("model beside measurement: geometric mean {:.3f}, worst {:.3f} of {}\n", std::exp(logs / count), worst,
                 count);
    if (tables.empty()) return 0;
    std::string const model = model_of(where.name()), table = fmt::format("{}/product.{}.hpp", tables, model);
    fmt::print("{} problems in {}\n", write_tuned_table(log, "product", where, table, "product_" + model), table);
    return 0;
  });
}
