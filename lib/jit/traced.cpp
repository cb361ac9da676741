#include "jit/traced.hpp"

#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "analysis/launch_program.hpp"
#include "ir/core/walk.hpp"
#include "jit/stated_grid.hpp"
#include "support/key_text.hpp"
#include "tegula/support/error.hpp"
#include "tegula/support/symbol.hpp"
#include "trace/eager.hpp"

namespace tegula::jit {
namespace {

std::atomic<std::int64_t> trace_count = 0;

/// Notes that a kernel's lambda runs on this thread. Lambdas that launch form a chain.
class RunningLambda {
 public:
  explicit RunningLambda(KernelRef const& kernel) : kernel_(kernel), outer_(innermost) {
    int depth = 0;
    for (RunningLambda const* running = outer_; running != nullptr; running = running->outer_, ++depth)
      if (running->is(kernel)) refuse("launches itself while it is traced");
    if (depth >= max_depth) refuse(fmt::format("is launched by {} lambdas, each while another is traced", depth));
    innermost = this;
  }
  ~RunningLambda() { innermost = outer_; }
  RunningLambda(RunningLambda const&) = delete;
  RunningLambda& operator=(RunningLambda const&) = delete;

 private:
  static constexpr int max_depth = 32;

  [[nodiscard]] bool is(KernelRef const& other) const {
    return kernel_.identity != nullptr ? kernel_.identity == other.identity
                                       : kernel_.kernel == other.kernel && kernel_.trace == other.trace;
  }
  [[noreturn]] void refuse(std::string const& mistake) const {
    throw UserError(
        fmt::format("kernel '{}' {}: its lambda only describes a kernel, and is called again for that; "
                    "launch from the program, outside of the lambda",
                    kernel_.name, mistake));
  }

  static thread_local constinit RunningLambda const* innermost;
  KernelRef const& kernel_;
  RunningLambda const* outer_;
};
thread_local constinit RunningLambda const* RunningLambda::innermost = nullptr;

std::vector<Traced::RequireSite> require_sites_of(LaunchProgram const& launch) {
  std::vector<Traced::RequireSite> sites;
  for (Requirement const& requirement : launch.requirements)
    sites.push_back({requirement.message, location(Symbol(requirement.file).c_str(), requirement.line)});
  return sites;
}

/// Tells whether a kernel, or a function beside it, has a product in a loop.
bool multiplies_in_loops(ir::Module const& module) {
  bool found = false;
  for (auto const& function : module.functions())
    ir::walk(*function, [&](ir::Op const& op) {
      if (!op.is<ir::DotOp>()) return;
      bool const in_function = !function->is_kernel();
      found = found || in_function || (op.parent_op() != nullptr && op.parent_op()->is<ir::ForOp>());
    });
  return found;
}

}  // namespace

Traced::Traced(trace::TracedKernel from)
    : kernel(std::move(from)),
      text(kernel.text()),
      hash(support::hash_hex(text)),
      launch(analysis::launch_program(trace::module(kernel).kernel())),
      multiplies(multiplies_in_loops(trace::module(kernel))),
      sites(require_sites_of(launch)) {}

std::shared_ptr<std::vector<location> const> Traced::require_sites(LaunchProgram const& compiled) const {
  // The compiler may have dropped requirements that always hold, but keeps their order.
  auto result = std::make_shared<std::vector<location>>();
  std::size_t at = 0;
  for (Requirement const& requirement : compiled.requirements) {
    while (at < sites.size() && sites[at].message != requirement.message) ++at;
    result->push_back(at < sites.size() ? sites[at++].where : location());
  }
  return result;
}

trace::TracedKernel call_lambda(KernelRef const& kernel) {
  RunningLambda const runs(kernel);
  return kernel.trace(kernel.kernel);
}

trace::TracedKernel record(KernelRef const& kernel) {
  trace::EagerScope const only_records(nullptr);
  return call_lambda(kernel);
}

std::shared_ptr<Traced const> trace_of(KernelRef const& kernel) {
  ++trace_count;
  return std::make_shared<Traced const>(record(kernel));
}

std::shared_ptr<Traced const> variant_of(Traced const& traced) {
  return std::make_shared<Traced const>(with_stated_grid(traced.kernel));
}

std::int64_t traces() { return trace_count; }

}  // namespace tegula::jit
