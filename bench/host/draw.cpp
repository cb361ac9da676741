// Compares host kernels with OpenBLAS, Eigen and OpenMP loops at extents, threads and CPUs that a seed draws. Prints
// each case, and of each part the geometric mean and the 5th percentile of the ratios.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "host/rows/rows.hpp"
#include "rig/comparison_runner.hpp"
#include "rig/host_group.hpp"
#include "rig/result_file.hpp"

namespace {

using namespace tegula;
using namespace tegula::bench;

/// Returns the time that a run takes when nothing disturbs it. Other work makes times longer, never shorter.
double undisturbed(std::vector<double> const& times) { return *std::min_element(times.begin(), times.end()); }

double geometric_mean(std::vector<double> const& ratios) {
  double sum = 0;
  for (double ratio : ratios) sum += std::log(ratio);
  return std::exp(sum / static_cast<double>(ratios.size()));
}

/// Is one case: a kernel of the table, drawn for threads and a CPU.
struct Drawn {
  Row row;
  std::uint64_t seed;
  int threads;
  std::string cpu;
  std::string part;  ///< the list that it belongs to
};

struct Options {
  std::uint64_t seed = 1;
  int count = 4;
  std::string only, json;
  std::vector<int> threads = {1, 2};
  std::vector<std::string> cpus = {"native", "x86-64-v3"};
};

std::vector<Drawn> drawn_cases(Options const& options) {
  std::vector<Drawn> all;
  auto const add = [&](std::vector<Row> const& rows, char const* part) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (int number = 0; number < options.count; ++number) {
        std::uint64_t const seed = options.seed * 1000003 + i * 1009 + static_cast<std::uint64_t>(number);
        Draw draw(seed);
        auto const one_of = [&](auto const& list) {
          return list[static_cast<std::size_t>(draw.integer(0, static_cast<std::int64_t>(list.size()) - 1))];
        };
        int const threads = one_of(options.threads);
        std::string const cpu = one_of(options.cpus);
        bool const wanted = std::string(rows[i].name).find(options.only) != std::string::npos ||
                            std::string(rows[i].family).find(options.only) != std::string::npos;
        if (wanted) all.push_back({rows[i], seed + 1, threads, cpu, part});
      }
  };
  add(drawn_rows(), "drawn");
  add(written_rows(), "written");
  return all;
}

/// Measures one case and appends its ratio, as a line of text, to the file.
void measure(Drawn const& drawn, ComparisonRunner& runner, Options const& options, bool with_blas, std::FILE* ratios) {
  if (runner.skip(1)) return;
  Draw draw(drawn.seed);
  bool const native = drawn.cpu == "native";
  Case const one = drawn.row.make(draw, {drawn.threads, with_blas, native ? native_loops() : avx2_loops(),
                                         native ? native_written_loops() : avx2_written_loops()});
  if (!one.theirs) {
    runner.compare([] {}, [] {});
    if (!runner.is_turn()) std::printf("%-22s %-24s no rival is built\n", drawn.row.name, one.extents.c_str());
    return;
  }
  std::optional<Pair> const pair = runner.compare(one.ours, one.theirs);
  if (!pair) return;
  double const ours = undisturbed(pair->ours), theirs = undisturbed(pair->rival), ratio = theirs / ours;
  samples::Comparison const compared = one.check();
  std::printf("%-22s %-24s %-9s %7d %10.2f %10.2f %6.2f  %-18s %.1e\n", drawn.row.name, one.extents.c_str(),
              drawn.cpu.c_str(), drawn.threads, 1e6 * ours, 1e6 * theirs, ratio, one.rival.c_str(), compared.error());
  std::fflush(stdout);
  if (!compared.right()) throw std::runtime_error(std::string("WRONG: ") + drawn.row.name + ": " + compared.str());
  std::fprintf(ratios, "%s\t%s\t%s\t%.6g\n", drawn.part.c_str(), drawn.row.family, drawn.row.name, ratio);
  std::fflush(ratios);
  ResultFile results(options.json, "host_draw", device::host().name());
  std::string const shape = fmt::format("{}, threads {}, {}", one.extents, drawn.threads, drawn.cpu);
  results.write(
      {drawn.row.name, shape, "tile ops", "1/s", {1 / ours}, one.rival, {ratio}, compared.error(), {}, options.seed});
}

/// Prints the geometric mean and the 5th percentile of the ratios of a name.
void print_summary(std::string const& name, std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  std::printf("%-22s %4zu cases, geometric mean %.3f, 5th percentile %.3f, worst %.3f\n", name.c_str(), ratios.size(),
              geometric_mean(ratios), ratios[ratios.size() / 20], ratios.front());
}

void print_summaries(std::FILE* file) {
  std::map<std::string, std::vector<double>> families, parts, kernels;
  std::rewind(file);
  char part[64], family[64], name[64];
  for (double ratio = 0; std::fscanf(file, "%63[^\t]\t%63[^\t]\t%63[^\t]\t%lf\n", part, family, name, &ratio) == 4;) {
    families[family].push_back(ratio);
    parts[std::string("all ") + part].push_back(ratio);
    if (std::string(part) == "written") kernels[name].push_back(ratio);
  }
  for (auto const& [name_of, ratios] : families) print_summary(name_of, ratios);
  for (auto const& [name_of, ratios] : kernels) print_summary(name_of, ratios);
  for (auto const& [name_of, ratios] : parts) print_summary(name_of, ratios);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Host kernels against OpenBLAS, Eigen and OpenMP loops, at extents that a seed draws");
  Options options;
  double budget = 0.02;
  int rounds = 3;
  bool cpu_time = false;
  app.add_option("--seed,--draw", options.seed, "of the extents, threads and CPUs");
  app.add_option("--count", options.count, "cases of each kernel")->check(CLI::Range(1, 1000));
  app.add_option("--budget", budget, "seconds of each turn of each side")->check(CLI::Range(0.001, 60.0));
  app.add_option("--rounds", rounds, "turns of each side, interleaved")->check(CLI::Range(1, 1000));
  app.add_option("--threads", options.threads, "numbers of threads to draw from");
  app.add_option("--cpu", options.cpus, "native, or LLVM's names of CPUs, to draw from");
  app.add_flag("--cpu-time", cpu_time, "processor time of all threads; for a machine that does other work");
  app.add_option("--only", options.only, "kernels whose name or family has this part");
  app.add_option("--json", options.json, "append the results to this file, one JSON object a line");
  std::vector<int> turn;
  app.add_option("--turn", turn)->group("")->expected(3);  // hidden: see ComparisonRunner
  CLI11_PARSE(app, argc, argv);
  ComparisonRunner runner(budget, rounds, cpu_time);
  runner.want(turn);
  std::vector<Drawn> const all = drawn_cases(options);
  std::FILE* const ratios = std::tmpfile();  // that the processes of all groups write
  if (ratios == nullptr) throw std::runtime_error("draw: cannot make a temporary file");
  bool failed = false;
  if (!runner.is_turn())
    std::printf("%-22s %-24s %-9s %7s %10s %10s %6s  %-18s %s\n", "kernel", "extents", "cpu", "threads", "ours, us",
                "rival, us", "ratio", "rival", "error");
  for (std::string const& cpu : options.cpus) {
    std::string const core = core_of(cpu, runner.is_turn());
    for (int count : options.threads) {
      bool const fine = runner.group(environment_of(cpu, count, core), [&] {
        for (Drawn const& drawn : all)
          if (drawn.threads == count && drawn.cpu == cpu) measure(drawn, runner, options, !core.empty(), ratios);
      });
      if (!fine) std::printf("draw: a measurement failed\n");
      failed = failed || !fine;
    }
  }
  if (!runner.is_turn()) {
    print_summaries(ratios);
  }
  return failed ? 1 : 0;
}
