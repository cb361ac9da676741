#include "rig/openblas.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace tegula::bench {
namespace {

/// Returns the rate of a product in GFLOP/s, or 0 if OpenBLAS takes another core type than the one asked for.
double rate_of(std::string const& core) {
  OpenBlas const* const blas = openblas();
  if (blas == nullptr) return 0;
  std::string name = blas->core_name(), asked = core;
  for (std::string* text : {&name, &asked})
    std::transform(text->begin(), text->end(), text->begin(), [](unsigned char c) { return std::tolower(c); });
  if (name != asked) return 0;
  blas->set_threads(1);
  constexpr int n = 512;
  std::vector<float> const a(n * n, 1), b(n * n, 1);
  std::vector<float> c(n * n);
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    std::clock_t const start = std::clock();  // a busy machine does not choose
    blas->product(a.data(), b.data(), c.data(), n, n, n);
    double const seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    if (c[0] == n) best = std::max(best, 2e-9 * n * n * n / seconds);
  }
  return best;
}

}  // namespace

OpenBlas const* openblas() {
  static OpenBlas blas;
  static OpenBlas const* const loaded = []() -> OpenBlas const* {
    void* const library = dlopen("libopenblas.so.0", RTLD_NOW);
    if (library == nullptr) return nullptr;
    auto const find = [&](auto& function, char const* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    bool const whole = find(blas.sgemm, "cblas_sgemm") && find(blas.dgemm, "cblas_dgemm") &&
                       find(blas.set_threads, "openblas_set_num_threads") &&
                       find(blas.core_name, "openblas_get_corename");
    return whole ? &blas : nullptr;
  }();
  return loaded;
}

std::string fastest_core(std::vector<std::string> const& cores) {
  std::string best;
  double best_rate = 0;
  std::printf("OpenBLAS, GFLOP/s of 512 cubed:");
  for (std::string const& core : cores) {
    std::fflush(stdout);
    int ends[2];
    if (pipe(ends) != 0) break;
    pid_t const child = fork();
    if (child == 0) {
      close(ends[0]);
      setenv("OPENBLAS_CORETYPE", core.c_str(), 1);
      double const rate = rate_of(core);
      _exit(write(ends[1], &rate, sizeof rate) == sizeof rate ? 0 : 1);
    }
    close(ends[1]);
    double rate = 0;
    bool const answered = read(ends[0], &rate, sizeof rate) == sizeof rate;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (!answered || rate == 0)
      std::printf(" %s does not run here;", core.c_str());
    else
      std::printf(" %s %.1f;", core.c_str(), rate);
    if (rate > best_rate) best = core, best_rate = rate;
  }
  std::printf(best.empty() ? " none runs, or libopenblas.so.0 is not installed\n" : " the rival is %s\n", best.c_str());
  return best;
}

}  // namespace tegula::bench
