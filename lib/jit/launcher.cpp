#include "tegula/jit/launcher.hpp"

#include <fmt/format.h>

#include "abi/pass_options.hpp"
#include "codegen/host/host.hpp"
#include "compiler/compile.hpp"
#include "jit/advice.hpp"
#include "jit/choose.hpp"
#include "jit/debug.hpp"
#include "jit/extent_class.hpp"
#include "jit/fact_sets.hpp"
#include "jit/build.hpp"
#include "jit/facts.hpp"
#include "jit/kernel_cache.hpp"
#include "jit/kernel_memo.hpp"
#include "jit/launch_options.hpp"
#include "jit/page.hpp"
#include "jit/profile.hpp"
#include "jit/recording.hpp"
#include "jit/simulate.hpp"
#include "jit/stated_grid.hpp"
#include "profile/decode.hpp"
#include "runtime/argument_check.hpp"
#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/ptxas_log.hpp"
#include "runtime/explain.hpp"
#include "runtime/launch_program.hpp"
#include "runtime/prepared_launch.hpp"
#include "runtime/prepared_state.hpp"
#include "support/options.hpp"
#include "tegula/support/error.hpp"

namespace tegula::jit {
namespace {

std::span<Argument const> span_of(ArgumentList arguments) {
  return {arguments.first, static_cast<std::size_t>(arguments.count)};
}

/// Holds the arguments that a call hands to its kernel: as given, or followed by the grid that the call states.
class Call {
 public:
  Call(KernelRef const& kernel, std::span<Argument const> given, GridOverride const& grid, device where)
      : arguments_(given), from_(grid.given ? GridFrom::launch : GridFrom::kernel) {
    if (!grid.given) return;
    with_grid_ = with_grid_arguments(traced(kernel)->kernel, given, grid, where.kind());
    arguments_ = with_grid_;
  }
  Call(Call const&) = delete;
  Call& operator=(Call const&) = delete;
  [[nodiscard]] std::span<Argument const> arguments() const { return arguments_; }
  [[nodiscard]] FoundKernel find(KernelRef const& kernel, device where) const {
    return find_kernel(kernel, where, arguments_, from_);
  }
  [[nodiscard]] std::shared_ptr<runtime::PreparedLaunch const> launch(KernelRef const& kernel, device where) const {
    return find_launch(kernel, where, arguments_, from_);
  }

 private:
  std::span<Argument const> arguments_;
  std::vector<Argument> with_grid_;
  GridFrom from_;
};

/// Holds all that a simulation needs, under TEGULA_SIMULATE.
struct PreparedSimulation : PreparedState {
  PreparedSimulation(KernelRef const& kernel, std::span<Argument const> arguments, GridOverride const& grid,
                     std::string const& schedule)
      : simulation(kernel, arguments, grid, schedule) {}
  void run(stream const&) const override { simulation.run(); }

  Simulation simulation;
};

/// Stands for a launch that was recorded.
struct PreparedNothing : PreparedState {
  void run(stream const&) const override {}
};

}  // namespace

void launch(stream const& order, KernelRef const& kernels, ArgumentList arguments, GridOverride const& grid) {
  std::span<Argument const> const given = span_of(arguments);
  if (LaunchRecorder* const recorder = launch_recorder()) return recorder->add(kernels, given, grid, order.where());
  Chosen const chosen(kernels, given, grid, order.where());
  KernelRef const& kernel = chosen.kernel();
  support::Options const& environment = support::options();
  if (environment.simulate) return Simulation(kernel, given, grid, environment.simulate_schedule).run();
  if (environment.debug) {
    simulation const found = run_by_lambda(kernel, given, grid);
    if (!found.clean) throw UserError(fmt::format("{}: debug: {}", kernel.name, found.report));
    return;
  }
  Call const call(kernel, given, grid, order.where());
  std::shared_ptr<runtime::PreparedLaunch const> const found = call.launch(kernel, order.where());
  if (environment.advice) return run_with_advice(order, kernel, given, grid, *found);
  found->run(order);
}

PreparedState* prepare(device const* where, KernelRef const& kernels, ArgumentList arguments,
                       GridOverride const& grid) {
  std::span<Argument const> const given = span_of(arguments);
  device const target = where != nullptr ? *where : runtime::place_of(given);
  if (LaunchRecorder* const recorder = launch_recorder()) {
    recorder->add(kernels, given, grid, target);
    return new PreparedNothing;
  }
  Chosen const chosen(kernels, given, grid, target);
  KernelRef const& kernel = chosen.kernel();
  // The lambda of a prepared kernel may be gone when it runs: the debug device simulates its tiles.
  if (support::Options const& environment = support::options(); environment.simulate || environment.debug)
    return new PreparedSimulation(kernel, given, grid, environment.simulate_schedule);
  Call const call(kernel, given, grid, target);
  FoundKernel const found = call.find(kernel, target);
  if (support::options().advice) print_advice(*found.loaded, inspect(kernel, *found.loaded, given, grid).advice);
  return new runtime::PreparedCode(found.loaded, call.arguments(), GridOverride{}, *found.require_sites);
}

simulation simulate(KernelRef const& kernels, ArgumentList arguments, GridOverride const& grid,
                    std::string const& schedule) {
  std::span<Argument const> const given = span_of(arguments);
  Chosen const chosen(kernels, given, grid, runtime::place_of(given));
  return Simulation(chosen.kernel(), given, grid, schedule).result();
}

Profile profile(stream const& order, KernelRef const& kernels, ArgumentList arguments, GridOverride const& grid) {
  profiling::require_profiler();
  std::span<Argument const> const given = span_of(arguments);
  Chosen const chosen(kernels, given, grid, order.where());
  KernelRef const& kernel = chosen.kernel();
  CompileOptions options = chosen_options(kernel);
  if (!options.profile.any()) {  // records of the compiler are many, and rings leave little shared memory
    options.profile.user = options.profile.compiler = true;
    options.profile.strategy = ProfileStrategy::device;
  }
  KernelRef recorded = kernel;
  recorded.options = &options;
  support::Options const& environment = support::options();
  if (environment.debug)
    throw UserError(fmt::format("{}: profile: the debug device makes no records; use the host, a GPU or the simulator",
                                kernel.name));
  if (environment.simulate) {
    Simulation const launch(recorded, given, grid, environment.simulate_schedule);
    return launch.checked().profile;
  }
  Call const call(recorded, given, grid, order.where());
  return profiled(*call.launch(recorded, order.where()), order);
}

CompiledKernel compile(KernelRef const& kernel, CompileOptions const& options) {
  std::shared_ptr<Traced const> const source = traced(kernel);
  return compile(*source, with_facts(*source, options));
}

namespace {

std::string_view origin_text(Origin origin) {
  switch (origin) {
    case Origin::memory:
      return "found in memory";
    case Origin::disk:
      return "loaded from the disk cache";
    case Origin::compiled:
      return "compiled now";
  }
  return "";
}

}  // namespace

VariantChoice choice(device const* where, KernelRef const& kernels, ArgumentList arguments, GridOverride const& grid) {
  std::span<Argument const> const given = span_of(arguments);
  return choose(kernels, given, grid, where != nullptr ? *where : runtime::place_of(given));
}

namespace {

/// Adds the lines that every explanation has: the options, the plan of the arguments, and the rounding.
std::string plan_text(KernelRef const& kernel, Traced const& source, CompiledKernel const& compiled,
                      KernelPaths const& paths, CompileOptions const& used, std::span<Argument const> arguments,
                      std::size_t given) {
  HostPlan plan = plan_of(source, compiled, paths);
  runtime::add_arguments(plan, compiled, arguments);
  plan.arguments.resize(given);  // without the grid
  std::string text = plan.str(2);
  if (std::string const options = abi::changed_options(chosen_options(kernel)); !options.empty())
    text += fmt::format("  options: {}\n", options);
  return text + fmt::format("  products: {}\n", compiler::rounding_of_products(used));
}

/// Joins the text of an explanation with what its page is made from.
Explanation explanation(std::string launch, Inspection const& inspected, std::shared_ptr<Traced const> source,
                        CompileOptions options, std::span<Argument const> arguments) {
  std::string const advice = inspected.advice.str(2);
  std::string text = launch + inspected.paths.paths_text(2) + advice;
  auto about = std::make_unique<detail::ExplainedLaunch>();
  about->headline = launch.substr(0, launch.find('\n'));
  about->source = std::move(source);
  about->options = std::move(options);
  about->arguments.assign(arguments.begin(), arguments.end());
  about->launch = std::move(launch);
  about->advice = advice;
  return {std::move(text), about.release()};
}

}  // namespace

Explanation explain(device const* where, KernelRef const& kernels, ArgumentList arguments, GridOverride const& grid) {
  std::span<Argument const> const given = span_of(arguments);
  device const target = where != nullptr ? *where : runtime::place_of(given);
  Chosen const chosen(kernels, given, grid, target);
  Call const call(chosen.kernel(), given, grid, target);
  std::shared_ptr<Traced const> const source =
      traced(chosen.kernel(), grid.given ? GridFrom::launch : GridFrom::kernel);
  ExtentClass const extents(chosen.kernel(), *source, target, call.arguments());
  KernelRef const& kernel = extents.kernel();
  FoundKernel const found = call.find(kernel, target);
  runtime::PreparedLaunch const launch(found.loaded, call.arguments(), {}, *found.require_sites);
  CompiledKernel const& compiled = found.loaded->compiled;
  std::string text = fmt::format("kernel {} on {} ({}): {}\n", compiled.name, target.str(), compiled.architecture,
                                 origin_text(found.origin));
  if (kernels.members > 0) {
    VariantChoice const choice = choose(kernels, given, grid, target);
    text += fmt::format("  variant: {} of {} kernels, by {}\n", choice.label, kernels.members, choice.why);
  }
  CompileOptions const used = options_of(kernel, *found.loaded);
  Inspection inspected = inspect(kernel, *found.loaded, given, grid);
  inspected.advice.measured = measured_seconds(*found.loaded);
  text += plan_text(kernel, *source, compiled, inspected.paths, used, call.arguments(), given.size());
  text += fmt::format("  builds: {} of at most {} for this device and these options\n",
                      builds_for(kernel, target, grid.given ? GridFrom::launch : GridFrom::kernel), max_builds);
  text += runtime::grid_text(launch, grid.given);
  if (extents.split() > 1)
    text += fmt::format("  extents: tiles that do not fill the device; {} CTAs share each (split = {})\n",
                        extents.split(), extents.split());
  std::vector<std::int64_t> const values =
      runtime::evaluate(compiled.launch, call.arguments(), found.loaded->multiprocessors);
  text += runtime::requirements_text(compiled.launch, values);
  if (target.is_host()) {
    std::string phases;
    for (HostPhase const& phase : compiled.phases) phases += (phases.empty() ? "" : ", ") + phase.entry;
    text += fmt::format(
        "  path: host code, phases {}; vectors of {} bytes, {} bytes of scratch per thread, {} threads\n", phases,
        codegen::host_vector_bytes(used.architecture), compiled.scratch_bytes, target.limits().processors);
  } else {
    text += fmt::format(
        "  path: {}; {} threads per CTA, {} registers, {} bytes of local memory, {} bytes of shared "
        "memory\n",
        compiled.image_kind == ImageKind::cubin ? "cubin" : "PTX", compiled.threads_per_cta,
        found.loaded->function.registers, found.loaded->function.local_bytes, compiled.shared_bytes);
    if (compiled.cluster > 1)
      text += fmt::format("  clusters of {} CTAs; the device holds {} at once\n", compiled.cluster,
                          found.loaded->function.active_clusters);
    for (runtime::cuda::AssemblyNote const& note :
         runtime::cuda::parse_assembly_log(found.loaded->function.assembly_log).notes)
      text += fmt::format("  assembler: {}{}{}\n", note.code, note.code.empty() ? "" : ": ", note.text);
  }
  return explanation(std::move(text), inspected, source, used, call.arguments());
}

Explanation explain(TargetInfo const& target, KernelRef const& kernels, ArgumentList arguments,
                    GridOverride const& grid) {
  std::span<Argument const> const given = span_of(arguments);
  LaunchElsewhere const launch(target, kernels, given, grid);
  CompileOptions const& options = launch.options();
  CompiledKernel const compiled = compiler::compile(trace::module(launch.source()->kernel), options);
  Inspection const inspected = launch.inspect();
  std::string text = fmt::format("kernel {} for {}, which need not be here\n", compiled.name, target.architecture);
  if (kernels.members > 0)
    text +=
        fmt::format("  variant: {} of {} kernels, by the model of the cost\n", launch.kernel().label, kernels.members);
  text += plan_text(launch.kernel(), *launch.source(), compiled, inspected.paths, options, launch.arguments(),
                    given.size());
  std::vector<std::int64_t> const values =
      runtime::evaluate(compiled.launch, launch.arguments(), target.costs.multiprocessors);
  runtime::check_requirements(compiled.name, compiled.launch, values);
  text += runtime::grid_text(compiled.launch, values, grid.given);
  text += runtime::requirements_text(compiled.launch, values);
  text += fmt::format("  code: {} threads per CTA, {} bytes of shared memory\n", compiled.threads_per_cta,
                      compiled.shared_bytes);
  if (compiled.cluster > 1) text += fmt::format("  clusters of {} CTAs\n", compiled.cluster);
  return explanation(std::move(text), inspected, launch.source(), options, launch.arguments());
}

}  // namespace tegula::jit

namespace tegula {

std::string executor(device where) {
  support::Options const& environment = support::options();
  std::string const& schedule = environment.simulate_schedule;
  if (environment.simulate && !schedule.empty()) return "simulator of warps, " + schedule;
  if (environment.simulate) return environment.profile.on ? "simulator of warps, timed" : "simulator of tiles";
  return environment.debug ? "debug device" : where.str();
}

}  // namespace tegula
