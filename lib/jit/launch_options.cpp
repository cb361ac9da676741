#include "jit/launch_options.hpp"

#include <utility>

#include <fmt/format.h>

#include "jit/profile.hpp"
#include "support/locks.hpp"
#include "support/options.hpp"
#include "tegula/support/error.hpp"
#include "transform/check_options.hpp"

namespace tegula::jit {

CompileOptions const& chosen_options(KernelRef const& kernel) {
  static constinit support::Lasting<CompileOptions const> none;
  return kernel.options != nullptr ? *kernel.options : none.get();
}

namespace {

/// Joins the options of the call with those of the environment that serve every target.
CompileOptions options_of_call(KernelRef const& kernel, Target target, std::vector<TensorFacts> facts) {
  support::Options const& environment = support::options();
  CompileOptions options = chosen_options(kernel);
  transform::check_options(options);
  if (options.target != Target::host || !options.architecture.empty() || !options.facts.empty())
    throw UserError(fmt::format(
        "{}: with(options): target, architecture and facts follow from the call; leave them out", kernel.name));
  options.target = target;
  options.exact = options.exact || environment.exact;
  if (environment.uncontracted) options.contraction = Choice::off;
  options.asserts = options.asserts && environment.asserts;
  options.ranges = options.ranges || environment.ranges;
  options.lines = options.lines || environment.lines;
  if (!options.profile.any()) options.profile = profile_of_environment();
  if (!options.checks.any())
    options.checks = {environment.check_bounds, environment.check_overflow, environment.check_nan};
  options.facts = std::move(facts);
  return options;
}

}  // namespace

CompileOptions gpu_launch_options(KernelRef const& kernel, std::string architecture, std::vector<TensorFacts> facts) {
  CompileOptions options = options_of_call(kernel, Target::cuda, std::move(facts));
  options.architecture = std::move(architecture);
  return options;
}

CompileOptions launch_options(KernelRef const& kernel, device where, std::vector<TensorFacts> facts) {
  if (where.is_cuda()) return gpu_launch_options(kernel, where.architecture(), std::move(facts));
  CompileOptions options = options_of_call(kernel, Target::host, std::move(facts));
  options.architecture = support::options().host_cpu;
  return options;
}

}  // namespace tegula::jit
