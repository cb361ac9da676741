#include "jit/advice.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "analysis/advice.hpp"
#include "analysis/kernel_paths.hpp"
#include "codegen/host/host.hpp"
#include "compiler/compile.hpp"
#include "jit/choose.hpp"
#include "jit/extent_class.hpp"
#include "jit/kernel_cache.hpp"
#include "jit/kernel_memo.hpp"
#include "jit/launch_options.hpp"
#include "jit/stated_grid.hpp"
#include "runtime/argument_check.hpp"
#include "runtime/cuda/ptxas_log.hpp"
#include "support/locks.hpp"
#include "target/gpu_target.hpp"
#include "tegula/jit/advice.hpp"
#include "tegula/runtime/timer.hpp"
#include "tegula/support/error.hpp"
#include "trace/traced_kernel.hpp"

namespace tegula::jit {
namespace {

std::vector<analysis::AdvisedTensor> tensors_of(ir::Function const& kernel, std::span<Argument const> arguments) {
  std::vector<analysis::AdvisedTensor> tensors;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    analysis::AdvisedTensor& tensor = tensors.emplace_back();
    static_cast<analysis::TensorSize&>(tensor) = size_of(arguments[i]);
    tensor.name = kernel.parameter(static_cast<int>(i))->name();
    auto const address = reinterpret_cast<std::uintptr_t>(arguments[i].address);
    tensor.address_step = std::gcd(static_cast<std::int64_t>(address % 16), std::int64_t{16});
  }
  return tensors;
}

/// Remembers the latest timed launch of loaded code, which lives until it is forgotten here too. A child of fork()
/// begins with none.
struct Timed {
  support::Mutex mutex;
  std::map<runtime::LoadedKernel const*, timer> latest;
};

Timed& timed() {
  static constinit support::PerProcess<Timed> all;
  return all.get();
}

/// Keeps the timer of a launch. True for the first one of its code.
bool keep(runtime::LoadedKernel const& loaded, timer const& taken) {
  Timed& all = timed();
  std::lock_guard const lock(all.mutex);
  return all.latest.insert_or_assign(&loaded, taken).second;
}

/// Describes a launch that is looked into.
struct Launch {
  Traced const& source;  ///< with the parameters of a stated grid, if the launch states one
  CompileOptions const& options;
  std::span<Argument const> arguments;
  GridOverride const& grid;
  Executor executor;
  std::int64_t spill_bytes = -1;  ///< as the assembler reports; -1: unknown
};

/// `own`: the kernel as its author wrote it.
Inspection look(Traced const& own, Launch const& launch) {
  ir::Module const& module = trace::module(launch.source.kernel);
  ir::Module const lowered = compiler::lower(module, launch.options);
  bool const host = launch.options.target == Target::host;
  Inspection result;
  result.paths = host ? codegen::host_paths(lowered, launch.options)
                      : analysis::kernel_paths(lowered, target::gpu_target(launch.options), module);
  result.advice =
      analysis::advice({own.kernel.where(), host ? nullptr : &lowered.kernel(), result.paths,
                        estimate(own.kernel, launch.arguments, launch.grid, launch.options, launch.executor),
                        tensors_of(trace::module(own.kernel).kernel(), launch.arguments), launch.options,
                        launch.executor.target, launch.executor.processors, launch.spill_bytes});
  return result;
}

GridFrom from(GridOverride const& grid) { return grid.given ? GridFrom::launch : GridFrom::kernel; }

/// Returns the bytes that the assembler says go to local memory and back; -1: nothing is known.
std::int64_t spills_of(runtime::LoadedKernel const& loaded) {
  std::string const& log = loaded.function.assembly_log;
  if (log.empty()) return -1;
  return runtime::cuda::parse_assembly_log(log).spill_bytes();
}

}  // namespace

CompileOptions options_of(KernelRef const& kernel, runtime::LoadedKernel const& loaded) {
  std::vector<TensorFacts> facts;  // those that the code uses; the arguments may have more
  for (ParameterInfo const& parameter : loaded.compiled.parameters) facts.push_back(parameter.facts);
  CompileOptions options = launch_options(kernel, loaded.where, std::move(facts));
  if (options.split == 0 && options.share == 0 && loaded.compiled.cluster > 1) options.split = loaded.compiled.cluster;
  return options;
}

Inspection inspect(KernelRef const& kernel, runtime::LoadedKernel const& loaded, std::span<Argument const> arguments,
                   GridOverride const& grid) {
  CompileOptions const options = options_of(kernel, loaded);
  std::shared_ptr<Traced const> const source = traced(kernel, from(grid));
  return look(*traced(kernel), {*source, options, arguments, grid, executor_of(loaded.where), spills_of(loaded)});
}

Inspection inspect(Traced const& source, CompileOptions const& options, std::span<Argument const> arguments,
                   Executor const& executor) {
  GridOverride const none;
  return look(source, {source, options, arguments, none, executor});
}

LaunchElsewhere::LaunchElsewhere(TargetInfo const& target, KernelRef const& kernels,
                                 std::span<Argument const> arguments, GridOverride const& grid)
    : given_(arguments), grid_(grid), executor_{&target, target.costs.multiprocessors}, kernel_(kernels) {
  if (kernels.members > 0)
    kernel_ = member_of(kernels, choose_by_estimate(kernels, arguments, grid, executor_).number, joined_);
  source_ = traced(kernel_, from(grid));
  with_grid_.assign(arguments.begin(), arguments.end());
  if (grid.given) with_grid_ = with_grid_arguments(traced(kernel_)->kernel, arguments, grid, DeviceKind::cuda);
  options_ = gpu_launch_options(kernel_, std::string(target.architecture), runtime::facts_of(with_grid_));
  if (kernels.members == 0)
    if (int const split = chosen_split(*source_, with_grid_, options_, executor_); split > 1) options_.split = split;
}

Inspection LaunchElsewhere::inspect() const {
  return look(*traced(kernel_), {*source_, options_, given_, grid_, executor_});
}

double measured_seconds(runtime::LoadedKernel const& loaded) {
  std::optional<timer> latest;
  {
    Timed& all = timed();
    std::lock_guard const lock(all.mutex);
    if (auto const found = all.latest.find(&loaded); found != all.latest.end()) latest = found->second;
  }
  try {
    return latest ? latest->seconds() : 0;
  } catch (DriverError const&) {
    return 0;
  }
}

void print_advice(runtime::LoadedKernel const& loaded, Advice const& advice) {
  std::string const text =
      fmt::format("tegula: advice: {} on {}\n{}", loaded.compiled.name, loaded.where.str(), advice.str(2));
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void run_with_advice(stream const& order, KernelRef const& kernel, std::span<Argument const> arguments,
                     GridOverride const& grid, runtime::PreparedLaunch const& launch) {
  timer took(order);
  took.start();
  launch.run(order);
  took.stop();
  if (!keep(launch.kernel(), took)) return;
  print_advice(launch.kernel(), inspect(kernel, launch.kernel(), arguments, grid).advice);
}

void forget_timed_launches() {
  Timed& all = timed();
  std::lock_guard const lock(all.mutex);
  all.latest.clear();
}

Advice advice(TargetInfo const* target, KernelRef const& kernels, ArgumentList list, GridOverride const& grid) {
  std::span<Argument const> const given{list.first, static_cast<std::size_t>(list.count)};
  if (target == nullptr) {
    device const where = runtime::place_of(given);
    Chosen const chosen(kernels, given, grid, where);
    KernelRef const& kernel = chosen.kernel();
    std::vector<Argument> arguments(given.begin(), given.end());
    if (grid.given) arguments = with_grid_arguments(traced(kernel)->kernel, given, grid, where.kind());
    FoundKernel const found = find_kernel(kernel, where, arguments, from(grid));
    Advice result = inspect(kernel, *found.loaded, given, grid).advice;
    result.measured = measured_seconds(*found.loaded);
    return result;
  }
  return LaunchElsewhere(*target, kernels, given, grid).inspect().advice;
}

}  // namespace tegula::jit
