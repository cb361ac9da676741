#include "jit/debug.hpp"

#include <fmt/format.h>

#include <map>
#include <string>

#include "ir/text.hpp"
#include "ir/verify_block.hpp"
#include "jit/staging.hpp"
#include "runtime/argument_check.hpp"
#include "sim/stepper.hpp"
#include "support/options.hpp"
#include "tegula/support/error.hpp"
#include "trace/eager.hpp"
#include "trace/traced_kernel.hpp"

namespace tegula::jit {
namespace {

constexpr std::int64_t shown_elements = 16;  ///< of each axis

/// Executes what the lambda records, and knows the values behind its variables.
class DebugExecutor final : public trace::Eager {
 public:
  DebugExecutor(ir::Function const& kernel, sim::Arguments const& arguments, sim::Options const& options)
      : function_(module_.add_function(kernel.name(), ir::FunctionKind::kernel)) {
    function_.where = kernel.where;
    for (int i = 0; i < kernel.parameter_count(); ++i)
      function_.add_parameter(kernel.parameter(i)->type(), kernel.parameter_attributes()[static_cast<std::size_t>(i)],
                              kernel.parameter(i)->name());
    stepper_ = std::make_unique<sim::Stepper>(function_, arguments, options);
    former_ = current;
    current = this;
  }
  ~DebugExecutor() override { current = former_; }
  DebugExecutor(DebugExecutor const&) = delete;
  DebugExecutor& operator=(DebugExecutor const&) = delete;

  [[nodiscard]] ir::Function& function() override { return function_; }
  void run(ir::Op const& op) override { stepper_->execute(op); }
  [[nodiscard]] std::int64_t number(ir::Value const& scalar) const override {
    sim::Value const& value = stepper_->value(scalar);
    return value.element() == Element::boolean ? *value.data<std::uint8_t>() : *value.data<std::int64_t>();
  }
  void name(trace::Handle variable, ir::Value const& value) override {
    variables_[{variable.trace, variable.value}] = &value;
  }

  [[nodiscard]] sim::Stepper& stepper() { return *stepper_; }
  void begin_block(std::int64_t linear) {
    variables_.clear();
    stepper_->begin_block(linear);
  }

  [[nodiscard]] char const* text(unsigned trace, int value) {
    auto const found = variables_.find({trace, value});
    if (found == variables_.end())
      text_ = "(a value of another block or launch, or none)";
    else
      text_ = sim::debug_text(stepper_->value(*found->second), shown_elements);
    return text_.c_str();
  }

  static thread_local DebugExecutor* current;

 private:
  ir::Module module_;
  ir::Function& function_;
  std::unique_ptr<sim::Stepper> stepper_;
  std::map<std::pair<std::uint32_t, trace::Id>, ir::Value const*> variables_;
  std::string text_;
  DebugExecutor* former_ = nullptr;
};

thread_local DebugExecutor* DebugExecutor::current = nullptr;

}  // namespace

simulation run_by_lambda(KernelRef const& kernel, std::span<Argument const> given, GridOverride const& grid) {
  std::shared_ptr<Traced const> const whole = traced(kernel);
  runtime::check_arguments(whole->kernel.name(), whole->kernel.parameters(), given, device_of(given));
  ir::Function const& function = trace::module(whole->kernel).kernel();
  if (ir::has_block_ops(function))
    throw UserError(fmt::format("debug: @{} holds block ops; simulate it warp by warp", function.name()),
                    function.where);
  Staging staging(given);
  sim::Arguments const arguments = sim_arguments(given, staging);
  sim::Options options;
  options.check_asserts = support::options().asserts;
  options.grid = sim::launch_grid(function, arguments);
  if (grid.given)
    for (std::size_t axis = 0; axis < options.grid->size(); ++axis)
      (*options.grid)[axis] = static_cast<int>(axis) < grid.rank ? grid.extents[axis] : 1;
  DebugExecutor executor(function, arguments, options);
  {
    trace::EagerScope const scope(executor);
    for (std::int64_t block = 0; block < executor.stepper().blocks(); ++block) {
      executor.begin_block(block);
      (void)kernel.trace(kernel.kernel);
    }
  }
  simulation result = summary(executor.stepper().take_result());
  result.executor = simulation::Executor::lambda;
  staging.write_back();
  return result;
}

simulation debug(KernelRef const& kernel, ArgumentList arguments, GridOverride const& grid) {
  return run_by_lambda(kernel, {arguments.first, static_cast<std::size_t>(arguments.count)}, grid);
}

}  // namespace tegula::jit

char const* tegula_debug_text(unsigned trace, int value) {
  auto* const executor = tegula::jit::DebugExecutor::current;
  return executor == nullptr ? "(no launch on the debug device runs on this thread)" : executor->text(trace, value);
}
