#include "gpu/rows/compile_times.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "../../../samples/tuned_products.hpp"
#include "compiler/compile.hpp"
#include "gpu/rows/kernels.hpp"
#include "runtime/cuda/ptxas.hpp"
#include "runtime/loaded_kernel.hpp"
#include "support/options.hpp"
#include "tegula/target/target_info.hpp"
#include "trace/traced_kernel.hpp"

namespace tegula::bench {
namespace {

/// Returns the time since the last call, in seconds.
class Lap {
 public:
  double operator()() {
    auto const now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

template <class F>
void time_one(std::string const& name, Kernel<F> const& kernel, device where,
              std::function<void(Result const&)> const& keep) {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = gpu_targets.front()->architecture;
  std::vector<std::pair<std::string, double>> parts;
  Lap lap;
  trace::TracedKernel const traced = kernel.trace();
  for (ParameterInfo const& parameter : traced.parameters()) {
    bool const tensor = parameter.kind == ParameterKind::tensor;
    options.facts.push_back({tensor, tensor});
  }
  parts.emplace_back("trace", lap());
  ir::Module const lowered = compiler::lower(trace::module(traced), options);
  parts.emplace_back("passes", lap());
  CompiledKernel const compiled = compiler::emit(lowered, options);
  parts.emplace_back("LLVM", lap());
  if (support::Options const& environment = support::options(); !runtime::cuda::find_ptxas(environment).empty()) {
    runtime::cuda::assemble(environment, compiled.image, compiled.architecture, compiled.name);
    parts.emplace_back("ptxas", lap());
  } else if (where.kind() == DeviceKind::cuda) {
    runtime::load_on(compiled, where);
    parts.emplace_back("driver's assembler", lap());
  }
  double all = 0;
  for (auto const& [part, seconds] : parts) all += seconds;
  parts.emplace_back("all", all);
  std::string line;
  for (auto const& [part, seconds] : parts) {
    line += fmt::format("{}{} {:.3f} s", line.empty() ? "" : ", ", part, seconds);
    keep({"gpu compile", name, part, "s", {seconds}, "", {}, {}, {}, {}});
  }
  fmt::print("compile {}: {}\n", name, line);
}

}  // namespace

void time_compilers(device where, std::function<void(Result const&)> const& keep) {
  time_one("product, 128 x 256 x 64", samples::product<128, 256, 64>, where, keep);
  time_one("attention, heads of 128", samples::attention<128, 128, 128>, where, keep);
  time_one("causal attention, heads of 128", causal_attention<128, 128, 128>, where, keep);
}

}  // namespace tegula::bench
