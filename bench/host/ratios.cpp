// Compares host kernels with OpenBLAS and hand-written OpenMP loops, at one and two threads: medians of interleaved
// runs.
#include <sys/wait.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "../../samples/support/compare.hpp"
#include "host/loops/loops.hpp"
#include "rig/cool_clock.hpp"
#include "rig/result_file.hpp"
#include "tegula/tegula.hpp"

namespace {

using namespace tegula;

constexpr auto vadd = kernel("vadd", [](in<float, 1> a, in<float, 1> b, out<float, 1> c) {
  auto g = grid_over(c, shape<1024>);
  store(c, shape<1024>, load(a, shape<1024>, g[0]) + load(b, shape<1024>, g[0]), g[0]);
});

constexpr auto softmax = kernel("softmax", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 1024>);
  require(y.extent(1) <= 1024, "softmax: a row must fit one tile");
  tile v = load(x, shape<1, 1024>, g[0], 0, pad(-inf));
  tile e = exp(v - max(v, axis<1>));
  store(y, shape<1, 1024>, e / sum(e, axis<1>), g[0], 0);
});

constexpr auto gemm = kernel("gemm", [](in<float, 2> A, in<float, 2> B, out<float, 2> C) {
  require(A.extent(1) == B.extent(0), "gemm: A is M x K and B is K x N, but the two K differ");
  auto g = grid_over(C, shape<128, 128>);
  tile acc = loop(ceil_div(A.extent(1), 64), zeros<float>(shape<128, 128>), [&](auto k, auto sum) {
    return dot(load(A, shape<128, 64>, g[0], k), load(B, shape<64, 128>, k, g[1]), sum);
  });
  store(C, shape<128, 128>, acc, g[0], g[1]);
});

bool failed = false;  // a measurement, or its results
bool cpu_time = false;
std::string json;  // a file for the results

double now() {
  if (cpu_time) return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Pair {
  std::vector<double> ours, rival;  ///< seconds of each run
};

/// Names one side of one comparison, timed by a process of its own: this program again, with this in its arguments.
/// Idle threads of OpenBLAS spin for long and take a core from the program beside them. Threads do not outlive a fork.
/// Groups, and comparisons within them, are counted as they come.
struct Turn {
  int group = -1, comparison = -1;
  int side = 0;  ///< 0: ours
  int runs = 0;
};
Turn wanted;  ///< no group: all of them
int group = -1, comparison = -1;

/// Gives this program's arguments and one more turn.
std::vector<std::string> arguments_of(Turn const& turn) {
  std::vector<std::string> words;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  words.push_back("--turn");
  for (int value : {turn.group, turn.comparison, turn.side, turn.runs}) words.push_back(std::to_string(value));
  return words;
}

void print_times(std::function<void()> const& run) {
  for (int i = -1; i < wanted.runs; ++i) {  // the first is not counted
    double const start = now();
    run();
    if (i >= 0) std::printf("%.9g\n", now() - start);
  }
}

std::vector<double> times_of(Turn const& turn) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("bench: no pipe");
  std::fflush(stdout);
  pid_t const child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    std::vector<std::string> words = arguments_of(turn);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    execv("/proc/self/exe", argv.data());
    _exit(127);
  }
  close(ends[1]);
  std::vector<double> times;
  std::FILE* const lines = fdopen(ends[0], "r");
  for (double spent = 0; std::fscanf(lines, "%lf", &spent) == 1;) times.push_back(spent);
  std::fclose(lines);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0 || times.size() != static_cast<std::size_t>(turn.runs))
    throw std::runtime_error("bench: a measurement failed");
  return times;
}

/// Medians of both, in turn, so that both see the same machine; then both once here, for their results. Nothing in a
/// process that was asked for another turn.
std::optional<Pair> interleaved(int runs, std::function<void()> const& ours, std::function<void()> const& rival) {
  ++comparison;
  if (wanted.group >= 0) {
    if (comparison == wanted.comparison) print_times(wanted.side == 0 ? ours : rival);
    return {};
  }
  constexpr int turns = 4;
  std::vector<double> times[2];
  for (int turn = 0; turn < turns; ++turn)
    for (int side = 0; side < 2; ++side) {
      std::vector<double> const some = times_of({group, comparison, side, (runs + turns - 1) / turns});
      times[side].insert(times[side].end(), some.begin(), some.end());
    }
  ours();
  rival();
  return Pair{std::move(times[0]), std::move(times[1])};
}

template <int Rank>
void fill(buffer<float, Rank>& to, int seed) {
  for (std::int64_t i = 0; i < to.size(); ++i)
    to.data()[i] = static_cast<float>((i * 7919 + seed) % 2003) / 1001.0F - 1.0F;
}

template <int Rank>
void poison(buffer<float, Rank>& ours, buffer<float, Rank>& rival) {
  ours.fill(samples::poison<float>());
  rival.fill(samples::poison<float>());
}

/// Gives the max difference from the rival's results.
template <int Rank>
samples::Comparison compared(buffer<float, Rank>& ours, buffer<float, Rank>& rival, double bound) {
  samples::Comparison all(bound);
  for (std::int64_t i = 0; i < ours.size(); ++i) all.add(i, ours.data()[i], static_cast<double>(rival.data()[i]));
  return all;
}

/// Prints one line of the table and writes the results of both sides; work is flops or bytes. Throws if the results
/// differ.
void print(int threads, char const* name, char const* extents, char const* rival, double work, char const* unit,
           Pair const& pair, samples::Comparison const& results) {
  double const ours = bench::median(pair.ours), theirs = bench::median(pair.rival);
  std::printf("%-8s %-16s %7d %9.1f %9.1f %-7s %6.2f  %-22s %.1e\n", name, extents, threads, 1e-9 * work / ours,
              1e-9 * work / theirs, unit, theirs / ours, rival, results.error());
  std::fflush(stdout);
  auto const rates = [work](std::vector<double> seconds) {
    for (double& value : seconds) value = 1e-9 * work / value;
    return seconds;
  };
  std::string const shape = std::string(extents) + ", threads " + std::to_string(threads);
  bench::ResultFile file(json, "host_ratios", device::host().name());
  file.write({name, shape, rival, unit, rates(pair.rival), "", {}, {}, {}, {}});
  file.write({name, shape, "tile ops", unit, rates(pair.ours), rival, {theirs / ours}, results.error(), {}, {}});
  if (!results.right()) throw std::runtime_error(std::string("WRONG: ") + name + ": " + results.str());
}

using Sgemm = void (*)(int, int, int, int, int, int, float, float const*, int, float const*, int, float, float*, int);

void bench_gemm(int threads, int runs, std::int64_t n) {
  void* const library = dlopen("libopenblas.so.0", RTLD_NOW);
  if (library == nullptr) {
    std::printf("%-8s libopenblas.so.0 is not installed\n", "gemm");
    return;
  }
  auto const sgemm = reinterpret_cast<Sgemm>(dlsym(library, "cblas_sgemm"));
  reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"))(threads);
  std::string const rival =
      std::string("OpenBLAS ") + reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_corename"))();
  buffer<float, 2> a(device::host(), n, n), b(device::host(), n, n), c(device::host(), n, n), d(device::host(), n, n);
  fill(a, 1);
  fill(b, 2);
  poison(c, d);
  auto const go = prepare(device::host(), gemm, a, b, c);
  host_stream const order;
  int const size = static_cast<int>(n);
  std::optional<Pair> const pair = interleaved(
      runs, [&] { go(order); },
      [&] { sgemm(101, 111, 111, size, size, size, 1, a.data(), size, b.data(), size, 0, d.data(), size); });
  std::string const extents = std::to_string(n) + " cubed";
  if (!pair) return;
  print(threads, "gemm f32", extents.c_str(), rival.c_str(), 2.0 * static_cast<double>(n * n * n), "GFLOP/s", *pair,
        compared(c, d, 1e-3));
}

void bench_vadd(int threads, int runs, std::int64_t n) {
  buffer<float> a(device::host(), n), b(device::host(), n), c(device::host(), n), d(device::host(), n);
  fill(a, 1);
  fill(b, 2);
  poison(c, d);
  auto const go = prepare(device::host(), vadd, a, b, c);
  host_stream const order;
  std::optional<Pair> const pair = interleaved(
      runs, [&] { go(order); }, [&] { bench::loop_vadd(a.data(), b.data(), d.data(), n, threads); });
  if (!pair) return;
  print(threads, "vadd", std::to_string(n).c_str(), "OpenMP loop", 12.0 * static_cast<double>(n), "GB/s", *pair,
        compared(c, d, 0));
}

using SoftmaxLoop = void (*)(float const*, float*, std::int64_t, std::int64_t, int);

void bench_softmax(int threads, int runs, std::int64_t rows, std::int64_t n, char const* rival, SoftmaxLoop loop) {
  buffer<float, 2> x(device::host(), rows, n), y(device::host(), rows, n), z(device::host(), rows, n);
  fill(x, 1);
  poison(y, z);
  auto const go = prepare(device::host(), softmax, x, y);
  host_stream const order;
  std::optional<Pair> const pair = interleaved(
      runs, [&] { go(order); }, [&] { loop(x.data(), z.data(), rows, n, threads); });
  std::string const extents = std::to_string(rows) + " x " + std::to_string(n);
  if (!pair) return;
  print(threads, "softmax", extents.c_str(), rival, 8.0 * static_cast<double>(rows * n), "GB/s", *pair,
        compared(y, z, 1e-7));
}

void print_first_prepare() {
  if (wanted.group >= 0) return;
  buffer<float, 2> x(device::host(), 1, 1), y(device::host(), 1, 1);
  double const start = now();
  auto const go = prepare(device::host(), softmax, x, y);
  std::printf("%-8s first prepare (trace, passes, LLVM, load): %.1f ms\n", "softmax", (now() - start) * 1e3);
}

/// Starts a child process with its own number of threads and core type of OpenBLAS.
void in_child(int threads, char const* core, std::function<void()> const& body) {
  ++group;
  if (wanted.group >= 0) {  // in such a child already
    if (group == wanted.group) body();
    return;
  }
  std::fflush(stdout);
  pid_t const child = fork();
  if (child == 0) {
    std::string const count = std::to_string(threads);
    setenv("TEGULA_THREADS", count.c_str(), 1);
    setenv("TEGULA_DEVICE", "host", 1);
    setenv("TEGULA_CACHE", "off", 1);
    setenv("OMP_NUM_THREADS", count.c_str(), 1);
    if (core != nullptr) setenv("OPENBLAS_CORETYPE", core, 1);
    int status = 0;
    try {
      body();
    } catch (std::exception const& error) {
      std::printf("%s\n", error.what());
      status = 1;
    }
    std::fflush(stdout);
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status == 0) return;
  failed = true;
  std::printf("bench: a measurement failed\n");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Host kernels against OpenBLAS and hand-written OpenMP loops");
  int runs = 21;
  std::vector<int> threads = {1, 2};
  app.add_option("--runs", runs, "timed runs of each, interleaved")->check(CLI::Range(3, 1000));
  app.add_option("--threads", threads, "numbers of threads");
  app.add_flag("--cpu-time", cpu_time, "processor time of all threads; for a machine that does other work");
  app.add_option("--json", json, "append the results to this file, one JSON object a line");
  std::vector<int> turn;
  app.add_option("--turn", turn)->group("")->expected(4);  // hidden: see Turn
  CLI11_PARSE(app, argc, argv);
  if (!turn.empty()) wanted = {turn[0], turn[1], turn[2], turn[3]};
  try {
    bench::ResultFile const writable(json, "", "");  // an error before anything is measured
  } catch (std::exception const& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  if (wanted.group < 0)
    std::printf("%-8s %-16s %7s %9s %9s %-7s %6s  %-22s %s\n", "kernel", "extents", "threads", "tegula", "rival",
                "unit", "ratio", "rival", "difference");
  for (int count : threads) {
    for (char const* core : {"SkylakeX", "Cooperlake", "Zen"})
      in_child(count, core, [&] { bench_gemm(count, runs, 1024); });
    if (count > 1 && !bench::loops_are_parallel()) {
      std::printf("vadd, softmax: built without OpenMP, no rival at %d threads\n", count);
      continue;
    }
    in_child(count, nullptr, [&] {
      bench_vadd(count, runs, std::int64_t{1} << 24);
      bench_vadd(count, runs, std::int64_t{1} << 20);
      if (count == 1) print_first_prepare();
      for (std::int64_t rows : {8192, 256}) {
        for (std::int64_t n : {1024, 1000}) {
          bench_softmax(count, runs, rows, n, "OpenMP loop", bench::loop_softmax);
          bench_softmax(count, runs, rows, n, "OpenMP, fast-math", bench::loop_softmax_fast_math);
        }
      }
    });
  }
  return failed ? 1 : 0;
}
