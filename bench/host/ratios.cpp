// Compares host kernels with OpenBLAS, Eigen and hand-written OpenMP loops, by medians of interleaved runs. Runs at one
// and two threads, for this machine's CPU and for AVX2 alone.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "../../samples/support/compare.hpp"
#include "host/kernels.hpp"
#include "host/loops/loops.hpp"
#include "tune/timing.hpp"
#include "rig/host_group.hpp"
#include "rig/openblas.hpp"
#include "rig/result_file.hpp"
#include "rig/comparison_runner.hpp"
#include "tegula/tegula.hpp"

namespace {

using namespace tegula;
using namespace tegula::bench;

/// Names a row of the table.
struct Row {
  char const* kernel;
  std::string extents;
  std::string rival;
  char const* unit;
  double work;            ///< flops or bytes
  double rival_work = 0;  ///< 0: the same
};

/// Holds what all measurements of a group share.
struct Bench {
  bench::ComparisonRunner& runner;
  std::string json;
  int threads;
  std::string cpu;   ///< LLVM's name; empty: this machine
  std::string core;  ///< of OpenBLAS
  bench::Loops const& loops;
  std::string only;  ///< part of the name of the kernels to measure

  /// Tells whether the next comparisons are made in this process.
  [[nodiscard]] bool wants(std::string const& kernel, int comparisons = 1) const {
    return kernel.find(only) != std::string::npos && !runner.skip(comparisons);
  }
};

/// Times both sides, prints one line of the table and writes the results of both. Throws if the results differ.
void compare(Bench const& all, Row const& row, std::function<void()> const& ours, std::function<void()> const& rival,
             std::function<samples::Comparison()> const& results) {
  std::optional<bench::Pair> const pair = all.runner.compare(ours, rival);
  if (!pair) return;
  double const rival_work = row.rival_work == 0 ? row.work : row.rival_work;
  double const our_rate = 1e-9 * row.work / tuning::median(pair->ours);
  double const rival_rate = 1e-9 * rival_work / tuning::median(pair->rival);
  samples::Comparison const compared = results();
  std::string const cpu = all.cpu.empty() ? "native" : all.cpu;
  std::printf("%-13s %-16s %-9s %7d %9.1f %9.1f %-7s %6.2f  %-22s %.1e\n", row.kernel, row.extents.c_str(), cpu.c_str(),
              all.threads, our_rate, rival_rate, row.unit, our_rate / rival_rate, row.rival.c_str(), compared.error());
  std::fflush(stdout);
  auto const rates = [](std::vector<double> seconds, double work) {
    for (double& value : seconds) value = 1e-9 * work / value;
    return seconds;
  };
  std::string shape = fmt::format("{}, threads {}", row.extents, all.threads);
  if (!all.cpu.empty()) shape += ", " + all.cpu;
  bench::ResultFile file(all.json, "host_ratios", device::host().name());
  file.write({row.kernel, shape, row.rival, row.unit, rates(pair->rival, rival_work), "", {}, {}, {}, {}});
  file.write({row.kernel,
              shape,
              "tile ops",
              row.unit,
              rates(pair->ours, row.work),
              row.rival,
              {our_rate / rival_rate},
              compared.error(),
              {},
              {}});
  if (!compared.right()) throw std::runtime_error(std::string("WRONG: ") + row.kernel + ": " + compared.str());
}

std::string extents_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  if (m == n && n == k) return fmt::format("{} cubed", m);
  return fmt::format("{} x {} x {}", m, n, k);
}

template <class T>
void bench_product(Bench const& all, std::int64_t m, std::int64_t n, std::int64_t k) {
  char const* const name = sizeof(T) == 8 ? "gemm f64" : "gemm f32";
  bench::OpenBlas const* const blas = all.core.empty() ? nullptr : bench::openblas();
  bool const with_eigen = sizeof(T) == 4 && all.loops.product != nullptr;
  if (!all.wants(name, (blas != nullptr) + with_eigen)) return;
  auto const a = filled<T, 2>(1, m, k), b = filled<T, 2>(2, k, n);
  auto c = samples::poisoned<T, 2>(device::host(), m, n), d = samples::poisoned<T, 2>(device::host(), m, n);
  auto const go =
      n > 64 ? prepare(device::host(), product<T, T>, a, b, c) : prepare(device::host(), product<T, T, 64>, a, b, c);
  host_stream const order;
  double const flops = 2.0 * static_cast<double>(m * n * k);
  auto const same = [&] { return compared(c, d, 1e-3); };
  if (blas != nullptr) {
    blas->set_threads(all.threads);
    compare(
        all, {name, extents_of(m, n, k), std::string("OpenBLAS ") + blas->core_name(), "GFLOP/s", flops},
        [&] { go(order); },
        [&] {
          blas->product(a.data(), b.data(), d.data(), static_cast<int>(m), static_cast<int>(n), static_cast<int>(k));
        },
        same);
  }
  if constexpr (sizeof(T) == 4)
    if (with_eigen)
      compare(
          all, {name, extents_of(m, n, k), "Eigen", "GFLOP/s", flops}, [&] { go(order); },
          [&] { all.loops.product(a.data(), b.data(), d.data(), m, n, k, all.threads); }, same);
}

/// The rival is our product of the same numbers in f32.
template <class T, class Sum>
void bench_narrow_product(Bench const& all, char const* name, std::int64_t n) {
  if (!all.wants(name)) return;
  auto const a = filled<T, 2>(1, n, n), b = filled<T, 2>(2, n, n);
  buffer<float, 2> wide_a(device::host(), n, n), wide_b(device::host(), n, n);
  for (std::int64_t i = 0; i < a.size(); ++i) {
    wide_a.data()[i] = static_cast<float>(a.data()[i]);
    wide_b.data()[i] = static_cast<float>(b.data()[i]);
  }
  auto c = samples::poisoned<Sum, 2>(device::host(), n, n);
  auto d = samples::poisoned<float, 2>(device::host(), n, n);
  auto const go = prepare(device::host(), product<T, Sum>, a, b, c);
  auto const go_wide = prepare(device::host(), product<float, float>, wide_a, wide_b, d);
  host_stream const order;
  compare(
      all, {name, extents_of(n, n, n), "tile ops in f32", "GFLOP/s", 2.0 * static_cast<double>(n * n * n)},
      [&] { go(order); }, [&] { go_wide(order); }, [&] { return compared(c, d, 1e-2); });
}

/// The rival is our best product: attention is two products and a softmax. Rows are compared with sums in double.
template <int D>
void bench_attention(Bench const& all, std::int64_t n) {
  if (!all.wants("attention f32")) return;
  auto const q = filled<float, 2>(1, n, D), k = filled<float, 2>(2, n, D), v = filled<float, 2>(3, n, D);
  auto o = samples::poisoned<float, 2>(device::host(), n, D);
  auto const scale = static_cast<float>(1.4426950408889634 / std::sqrt(double(D)));
  auto const go = prepare(device::host(), attention<D>, q, k, v, o, scale);
  std::int64_t const size = 1024;
  auto const a = filled<float, 2>(1, size, size), b = filled<float, 2>(2, size, size);
  auto c = samples::poisoned<float, 2>(device::host(), size, size);
  auto const go_product = prepare(device::host(), product<float, float>, a, b, c);
  host_stream const order;
  auto const right = [&] {
    samples::Comparison rows(1e-4);
    for (std::int64_t i = 0; i < n; i += 509) {
      std::vector<double> expected(D);
      double total = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        double score = 0;
        for (int e = 0; e < D; ++e) score += double(q.data()[i * D + e]) * double(k.data()[j * D + e]);
        double const weight = std::exp(score / std::sqrt(double(D)));
        total += weight;
        for (int e = 0; e < D; ++e) expected[static_cast<std::size_t>(e)] += weight * double(v.data()[j * D + e]);
      }
      for (int e = 0; e < D; ++e)
        rows.add(i * D + e, o.data()[i * D + e], expected[static_cast<std::size_t>(e)] / total);
    }
    return rows;
  };
  compare(
      all,
      {"attention f32", fmt::format("{}, d {}", n, D), "tile ops, 1024 cubed", "GFLOP/s",
       4.0 * static_cast<double>(n * n * D), 2.0 * static_cast<double>(size * size * size)},
      [&] { go(order); }, [&] { go_product(order); }, right);
}

void bench_vadd(Bench const& all, std::int64_t n) {
  if (!all.wants("vadd")) return;
  auto const a = filled<float, 1>(1, n), b = filled<float, 1>(2, n);
  auto c = samples::poisoned<float, 1>(device::host(), n), d = samples::poisoned<float, 1>(device::host(), n);
  auto const go = prepare(device::host(), vadd, a, b, c);
  host_stream const order;
  compare(
      all, {"vadd", fmt::to_string(n), "OpenMP loop", "GB/s", 12.0 * static_cast<double>(n)}, [&] { go(order); },
      [&] { all.loops.vadd(a.data(), b.data(), d.data(), n, all.threads); }, [&] { return compared(c, d, 0); });
}

template <int Rank, class K>
void bench_rows(Bench const& all, K const& kernel, char const* name, bench::Loops::Rows loop, std::int64_t rows,
                std::int64_t n, double bytes, double bound) {
  if (!all.wants(name)) return;
  auto const x = filled<float, 2>(1, rows, n);
  auto const output = [&] {
    if constexpr (Rank == 1)
      return samples::poisoned<float, 1>(device::host(), rows);
    else
      return std::string(name) == "transpose" ? samples::poisoned<float, 2>(device::host(), n, rows)
                                              : samples::poisoned<float, 2>(device::host(), rows, n);
  };
  auto y = output(), z = output();
  auto const go = prepare(device::host(), kernel, x, y);
  host_stream const order;
  compare(
      all, {name, fmt::format("{} x {}", rows, n), "OpenMP, fast-math", "GB/s", bytes}, [&] { go(order); },
      [&] { loop(x.data(), z.data(), rows, n, all.threads); }, [&] { return compared(y, z, bound); });
}

void bench_all(Bench const& all) {
  bool const whole = all.cpu.empty();
  for (std::int64_t n : {512, 1000, 1024, 2048})
    if (whole || n < 2048) bench_product<float>(all, n, n, n);
  bench_product<float>(all, 2048, 64, 2048);
  bench_product<float>(all, 2048, 2048, 64);
  bench_product<double>(all, 1024, 1024, 1024);
  bench_narrow_product<bf16, float>(all, "gemm bf16", 1024);
  bench_narrow_product<std::int8_t, std::int32_t>(all, "gemm i8", 1024);
  bench_attention<64>(all, 4096);
  bench_attention<128>(all, 4096);
  if (all.threads > 1 && !bench::loops_are_parallel()) {
    std::printf("rows and vadd: built without OpenMP, no rival at %d threads\n", all.threads);
    return;
  }
  for (std::int64_t n : {std::int64_t{1} << 24, std::int64_t{1} << 16}) bench_vadd(all, n);
  for (std::int64_t rows : {8192, 64}) {  // out of cache, and in it
    for (std::int64_t n : {1024, 1000}) {
      double const moved = 8.0 * static_cast<double>(rows * n);
      bench_rows<2>(all, softmax<>, "softmax", all.loops.softmax, rows, n, moved, 1e-7);
    }
    double const moved = 8.0 * static_cast<double>(rows) * 1024;
    bench_rows<2>(all, layernorm<>, "layernorm", all.loops.layernorm, rows, 1024, moved, 1e-5);
    bench_rows<2>(all, rmsnorm<>, "rmsnorm", all.loops.rmsnorm, rows, 1024, moved, 1e-5);
    bench_rows<1>(all, sums<>, "sums", all.loops.sums, rows, 1024, moved / 2, 1e-3);
    bench_rows<2>(all, transpose, "transpose", all.loops.transpose, rows == 64 ? 128 : 4096, rows == 64 ? 128 : 4096,
                  rows == 64 ? 8.0 * 128 * 128 : 8.0 * 4096 * 4096, 0);
  }
}

void print_first_prepare(bench::ComparisonRunner const& runner) {
  if (runner.is_turn()) return;
  buffer<float, 2> x(device::host(), 1, 1), y(device::host(), 1, 1);
  auto const start = std::clock();
  auto const go = prepare(device::host(), softmax<>, x, y);
  std::printf("softmax: first prepare (trace, passes, LLVM, load): %.1f ms\n",
              1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Host kernels against OpenBLAS, Eigen and hand-written OpenMP loops");
  double budget = 0.06;
  int rounds = 4;
  bool cpu_time = false;
  std::string json, only;
  std::vector<int> threads = {1, 2};
  std::vector<std::string> cpus = {"native", "x86-64-v3"};
  app.add_option("--budget", budget, "seconds of each turn of each side")->check(CLI::Range(0.001, 60.0));
  app.add_option("--rounds", rounds, "turns of each side, interleaved")->check(CLI::Range(1, 1000));
  app.add_option("--threads", threads, "numbers of threads");
  app.add_option("--cpu", cpus, "native, or LLVM's names of CPUs");
  app.add_flag("--cpu-time", cpu_time, "processor time of all threads; for a machine that does other work");
  app.add_option("--only", only, "measure kernels whose name has this part");
  app.add_option("--json", json, "append the results to this file, one JSON object a line");
  std::vector<int> turn;
  app.add_option("--turn", turn)->group("")->expected(3);  // hidden: see ComparisonRunner
  CLI11_PARSE(app, argc, argv);
  bench::ComparisonRunner runner(budget, rounds, cpu_time);
  runner.want(turn);
  try {
    bench::ResultFile const writable(json, "", "");  // an error before anything is measured
  } catch (std::exception const& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  bool failed = false;
  for (std::string const& cpu : cpus) {
    bool const native = cpu == "native";
    std::string const core = bench::core_of(cpu, runner.is_turn());
    if (!runner.is_turn())
      std::printf("%-13s %-16s %-9s %7s %9s %9s %-7s %6s  %-22s %s\n", "kernel", "extents", "cpu", "threads", "tegula",
                  "rival", "unit", "ratio", "rival", "difference");
    for (int count : threads) {
      bool const fine = runner.group(bench::environment_of(cpu, count, core), [&] {
        if (count == 1) print_first_prepare(runner);
        bench_all(
            {runner, json, count, native ? "" : cpu, core, native ? bench::native_loops() : bench::avx2_loops(), only});
      });
      if (!fine) std::printf("bench: a measurement failed\n");
      failed = failed || !fine;
    }
  }
  return failed ? 1 : 0;
}
