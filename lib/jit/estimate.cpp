#include "jit/estimate.hpp"

#include <optional>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/walk.hpp"
#include "tegula/target/target_info.hpp"
#include "trace/traced_kernel.hpp"
#include "transform/check_options.hpp"
#include "transform/pipeline.hpp"

namespace tegula::jit {
namespace {

using ir::Op;

/// Puts numbers in place of symbols, and folds.
class Specialized {
 public:
  Specialized(trace::TracedKernel const& kernel, std::span<Argument const> arguments)
      : module_(trace::module(kernel).clone()) {
    transform::run_pipeline(module_, "inline-functions", {});
    ir::Function& function = module_.kernel();
    for (int i = 0; i < function.parameter_count(); ++i) {
      Argument const& argument = arguments[static_cast<std::size_t>(i)];
      ir::Value& parameter = *function.parameter(i);
      if (!parameter.type().is_scalar() || is_float(parameter.type().element())) continue;
      parameter.replace_all_uses_with(*number(argument.scalar, parameter.type()));
    }
    replace<ir::ExtentOp>([&](Op const& op) -> std::optional<std::int64_t> {
      for (int i = 0; i < function.parameter_count(); ++i)
        if (op.operand(0) == function.parameter(i))
          return arguments[static_cast<std::size_t>(i)].extents[op.as<ir::ExtentOp>().axis];
      return std::nullopt;
    });
    fold();
  }

  /// Puts the block in the middle of the grid in place of every block.
  void take_block(std::vector<std::int64_t> const& grid) {
    auto const extent = [&](std::int64_t axis) {
      return axis < static_cast<std::int64_t>(grid.size()) ? grid[static_cast<std::size_t>(axis)] : 1;
    };
    replace<ir::BlockIndexOp>([&](Op const& op) { return extent(op.as<ir::BlockIndexOp>().axis) / 2; });
    replace<ir::GridExtentOp>([&](Op const& op) { return extent(op.as<ir::GridExtentOp>().axis); });
    fold();
  }

  [[nodiscard]] std::vector<std::int64_t> grid() const {
    std::vector<std::int64_t> extents;
    for (Op const& op : module_.kernel().body()) {
      if (!op.is<ir::GridOp>()) continue;
      for (ir::Value const* extent : op.operands()) extents.push_back(ir::constant_int(*extent).value_or(1));
    }
    return extents;
  }
  [[nodiscard]] ir::Function& kernel() const { return module_.kernel(); }

 private:
  ir::Value* number(std::int64_t value, ir::Type const& type) {
    return ir::Builder::before(module_.kernel().body().front())
        .constant(ir::make_constant(type.element(), value), type);
  }

  template <class OpStruct, class Number>
  void replace(Number const& number_of) {
    std::vector<Op*> found;
    ir::walk(module_.kernel().body(), [&](Op& op) {
      if (op.is<OpStruct>()) found.push_back(&op);
    });
    for (Op* op : found)
      if (std::optional<std::int64_t> const value = number_of(*op))
        op->result()->replace_all_uses_with(*number(*value, op->result()->type()));
  }

  void fold() {
    transform::run_pipeline(module_, "canonicalize,eliminate-common-subexpressions,eliminate-dead-code", {});
  }

  ir::Module module_;
};

std::vector<analysis::TensorSize> sizes_of(std::span<Argument const> arguments) {
  std::vector<analysis::TensorSize> sizes;
  for (Argument const& argument : arguments) sizes.push_back(size_of(argument));
  return sizes;
}

}  // namespace

analysis::TensorSize size_of(Argument const& argument) {
  analysis::TensorSize size;
  size.element = argument.element;
  for (int axis = 0; argument.kind == ParameterKind::tensor && axis < argument.rank; ++axis) {
    size.extents.push_back(argument.extents[axis]);
    size.strides.push_back(argument.strides[axis]);
  }
  return size;
}

Executor executor_of(device where) {
  Executor result{nullptr, where.limits().processors};
  if (!where.is_cuda()) return result;
  std::string const architecture = where.architecture();
  TargetInfo const* const found = find_target(architecture);
  result.target = found != nullptr ? found : gpu_targets.front();
  return result;
}

Estimate estimate(trace::TracedKernel const& kernel, std::span<Argument const> arguments, GridOverride const& grid,
                  CompileOptions const& options, Executor const& executor) {
  transform::check_options(options);
  Specialized specialized(kernel, arguments);
  std::vector<std::int64_t> extents = specialized.grid();
  if (grid.given) extents.assign(grid.extents, grid.extents + grid.rank);
  specialized.take_block(extents);
  return analysis::estimate(specialized.kernel(), sizes_of(arguments), extents, options, executor);
}

std::vector<Estimate> estimates_of_splits(trace::TracedKernel const& kernel, std::span<Argument const> arguments,
                                          CompileOptions options, std::span<int const> splits,
                                          Executor const& executor) {
  transform::check_options(options);
  Specialized specialized(kernel, arguments);
  std::vector<std::int64_t> const extents = specialized.grid();
  specialized.take_block(extents);
  std::vector<analysis::TensorSize> const sizes = sizes_of(arguments);
  std::vector<Estimate> result;
  for (int const split : splits) {
    options.split = split;
    result.push_back(analysis::estimate(specialized.kernel(), sizes, extents, options, executor));
  }
  return result;
}

}  // namespace tegula::jit
