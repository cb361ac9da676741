#include "jit/debug.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "analysis/launch_program.hpp"
#include "jit/choose.hpp"
#include "jit/launch_options.hpp"
#include "jit/traced.hpp"
#include "jit/staging.hpp"
#include "jit/stated_grid.hpp"
#include "runtime/argument_check.hpp"
#include "runtime/launch_program.hpp"
#include "sim/stepper.hpp"
#include "support/options.hpp"
#include "tegula/support/error.hpp"
#include "trace/eager.hpp"
#include "trace/traced_kernel.hpp"
#include "transform/simplify/insert_checks.hpp"

namespace tegula::jit {
namespace {

constexpr std::int64_t shown_elements = 16;  ///< of each axis

/// Ends the call of a lambda whose grid has no block.
struct NoBlock {};

/// Executes what the lambda records, and knows the values behind its variables. Parameters and grid come from the
/// lambda's first call, so that a debugger meets no call without values.
class DebugExecutor final : public trace::Eager {
 public:
  DebugExecutor(KernelRef const& kernel, std::span<Argument const> given, GridOverride const& grid,
                sim::Arguments const& arguments)
      : kernel_(kernel),
        given_(given),
        override_(grid),
        arguments_(arguments),
        options_(launch_options(kernel, device::host(), {})),
        checks_(options_.checks),
        function_(module_.add_function(kernel.name, ir::FunctionKind::kernel)),
        former_(std::exchange(current, this)) {}
  ~DebugExecutor() override { current = former_; }
  DebugExecutor(DebugExecutor const&) = delete;
  DebugExecutor& operator=(DebugExecutor const&) = delete;

  [[nodiscard]] ir::Function& function() override { return function_; }
  ir::Value& parameter(ir::Type const& type, ir::ParameterAttributes const& attributes) override {
    int const number = next_parameter_++;
    if (number < function_.parameter_count()) return *function_.parameter(number);
    parameters_.push_back({type.is_tensor() ? ParameterKind::tensor : ParameterKind::scalar,
                           attributes.direction,
                           type.element(),
                           type.is_tensor() ? type.rank() : 0,
                           {}});
    return *function_.add_parameter(type, attributes, fmt::format("argument{}", number + 1));
  }
  void grid(std::vector<std::int64_t> const& extents) override {
    if (!first_block_) return;
    if (override_.given)
      check_stated_grid(function_.name(), static_cast<int>(extents.size()), override_, DeviceKind::host);
    sim::Grid grid = {1, 1, 1};
    for (std::size_t axis = 0; axis < grid.size(); ++axis) {
      if (override_.given)
        grid[axis] = static_cast<int>(axis) < override_.rank ? override_.extents[axis] : 1;
      else if (axis < extents.size())
        grid[axis] = extents[axis];
    }
    (void)runtime::check_grid(function_.name(), grid);
    stepper().set_grid(grid);
    if (stepper().blocks() == 0) throw NoBlock();
  }
  void run(ir::Op const& op) override {
    if (op.is<ir::AssertOp>() && !options_.asserts) return;
    ir::Op& last = function_.body().back();
    execute_behind([&] { checks_.insert(last); }, &last);
  }
  [[nodiscard]] std::int64_t number(ir::Value const& scalar) override {
    execute_behind([&] { checks_.append(scalar, function_.body()); }, nullptr);
    sim::Value const& value = stepper().value(scalar);
    return sim::with_storage(
        value.storage(), [&]<class T>(std::type_identity<T>) { return static_cast<std::int64_t>(*value.data<T>()); });
  }
  void name(trace::Handle variable, ir::Value const& value) override {
    variables_[{variable.trace, variable.value}] = &value;
  }

  /// Calls the lambda for each block.
  void run_blocks() {
    trace::EagerScope const scope(this);
    try {
      (void)call_lambda(kernel_);
    } catch (NoBlock const&) {
      empty_ = true;
      return;
    }
    first_block_ = false;
    for (std::int64_t block = 1; block < stepper().blocks(); ++block) {
      variables_.clear();
      next_parameter_ = 0;
      stepper().begin_block(block);
      (void)call_lambda(kernel_);
    }
  }
  [[nodiscard]] sim::Result take_result() {
    sim::Result result = stepper().take_result();
    if (empty_) result.blocks = 0;  // the first one began before the grid was known
    return result;
  }

  [[nodiscard]] char const* text(unsigned trace, int value) {
    auto const found = variables_.find({trace, value});
    if (!stepper_ || found == variables_.end() || found->second->type().is_tensor())
      text_ = "(a value of another block or launch, or none)";
    else
      text_ = sim::debug_text(stepper_->value(*found->second), shown_elements);
    return text_.c_str();
  }

  static thread_local DebugExecutor* current;

 private:
  /// Inserts ops before and after the last one and executes them and it in order. Null: all ops so far have run.
  template <class Insert>
  void execute_behind(Insert const& insert, ir::Op const* last) {
    ir::Block const& body = function_.body();
    std::size_t const done = body.size() - (last != nullptr ? 1 : 0);
    ir::Block::iterator before = body.end();
    for (int back = last != nullptr ? 2 : 1; done > 0 && back > 0; --back) --before;
    insert();
    for (auto at = done > 0 ? ++before : body.begin(); at != body.end(); ++at) stepper().execute(*at);
  }

  /// Returns the stepper, which begins when the parameters are known: with the first op, or the first number that the
  /// lambda asks for.
  sim::Stepper& stepper() {
    if (stepper_) return *stepper_;
    runtime::check_arguments(kernel_.name, parameters_, given_, device_of(given_));
    LaunchProgram const facts = analysis::launch_program(function_);  // of the types; requirements come as they are met
    runtime::check_requirements(kernel_.name, facts, runtime::evaluate(facts, given_, host_multiprocessors));
    sim::Options options;
    stepper_ = std::make_unique<sim::Stepper>(function_, arguments_, options);
    stepper_->begin_block(0);
    return *stepper_;
  }

  KernelRef kernel_;
  std::span<Argument const> given_;
  GridOverride override_;
  sim::Arguments const& arguments_;
  CompileOptions options_;  ///< as on the other executors: of the call and of the environment
  transform::RunningChecks checks_;
  ir::Module module_;
  ir::Function& function_;
  std::vector<ParameterInfo> parameters_;
  int next_parameter_ = 0;
  bool first_block_ = true;
  bool empty_ = false;
  std::unique_ptr<sim::Stepper> stepper_;
  std::map<std::pair<std::uint32_t, trace::Id>, ir::Value const*> variables_;
  std::string text_;
  DebugExecutor* former_ = nullptr;
};

thread_local DebugExecutor* DebugExecutor::current = nullptr;

}  // namespace

simulation run_by_lambda(KernelRef const& kernel, std::span<Argument const> given, GridOverride const& grid) {
  Staging staging(given);
  sim::Arguments const arguments = sim_arguments(given, staging);
  DebugExecutor executor(kernel, given, grid, arguments);
  executor.run_blocks();
  simulation result = summary(executor.take_result());
  result.executor = simulation::Executor::lambda;
  staging.write_back();
  return result;
}

simulation debug(KernelRef const& kernels, ArgumentList arguments, GridOverride const& grid) {
  std::span<Argument const> const given(arguments.first, static_cast<std::size_t>(arguments.count));
  Chosen const chosen(kernels, given, grid, runtime::place_of(given));
  return run_by_lambda(chosen.kernel(), given, grid);
}

}  // namespace tegula::jit

char const* tegula_debug_text(unsigned trace, int value) {
  auto* const executor = tegula::jit::DebugExecutor::current;
  return executor == nullptr ? "(no launch on the debug device runs on this thread)" : executor->text(trace, value);
}
