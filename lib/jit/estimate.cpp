#include "jit/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "ir/builder.hpp"
#include "ir/elementary.hpp"
#include "ir/trip_count.hpp"
#include "ir/walk.hpp"
#include "tegula/support/element.hpp"
#include "tegula/target/target_info.hpp"
#include "trace/traced_kernel.hpp"
#include "transform/pipeline.hpp"

namespace tegula::jit {
namespace {

using ir::Op;

/// States rates of one processor, per clock, and of the whole device.
struct Machine {
  double clocks_per_ns = 1;
  double processors = 1;
  double product_bytes = 1;        ///< of products
  double operand_bytes = 1;        ///< between shared memory and the tensor cores; host: the first cache
  double cached_bytes = 1;         ///< between L2 and a processor
  double memory_bytes_per_ns = 1;  ///< of the device
  double functions = 1;
  double arithmetic = 1;
  double block_clocks = 0;  ///< of each block: start, first loads, end
  double launch_ns = 0;
};

/// The share of the port to L2 that a CTA gets while most multiprocessors load.
constexpr double port_share = 0.85;

Machine machine_of(Executor const& executor) {
  Machine machine;
  machine.processors = std::max(executor.processors, 1);
  if (TargetInfo const* const target = executor.target; target != nullptr) {
    CostModel const& costs = target->costs;
    machine.clocks_per_ns = costs.clocks_per_ns;
    machine.product_bytes = target->product_bytes_per_clock;
    machine.operand_bytes = costs.shared_bytes_per_clock;
    machine.cached_bytes = costs.global_bytes_per_clock;
    machine.memory_bytes_per_ns = 20 * machine.processors * costs.clocks_per_ns;  // 3.3 to 4.8 TB/s of 132
    machine.functions = target->exponentials_per_clock;
    machine.arithmetic = 4.0 * target->lanes;
    machine.block_clocks = costs.copy_latency + costs.global_latency;
    machine.launch_ns = 2000;
    return machine;
  }
  // A core with two units for 256-bit vectors; measured copies take about 10 bytes of memory per ns and core.
  machine.clocks_per_ns = 3;
  machine.product_bytes = 64;
  machine.operand_bytes = 64;
  machine.cached_bytes = 16;
  machine.memory_bytes_per_ns = 10 * std::sqrt(machine.processors);
  machine.functions = 1;
  machine.arithmetic = 16;
  machine.block_clocks = 300;
  return machine;
}

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

double bytes_of(ir::Type const& type) { return static_cast<double>(type.elements()) * info(type.element()).bits / 8; }

/// Tells whether a tile is a right operand of products alone, which tiles one above the other have in common.
bool is_right_operand(ir::Value const& tile) {
  return !tile.uses().empty() && std::all_of(tile.uses().begin(), tile.uses().end(), [](ir::Use const& use) {
    return use.is<ir::DotOp>("rhs") || (use.user->is<ir::TransOp>() && is_right_operand(*use.user->result()));
  });
}

/// Describes what an estimate counts by.
struct Counting {
  std::span<Argument const> arguments;
  double share = 1;  ///< CTAs that fetch right operands for each other
};

/// Gives the lines that a row of 128 bytes touches, in the mean over rows: rows that follow each other at a distance
/// that is no multiple of 128 bytes touch two, but for some.
double lines_of_a_row(Op const& load, Counting const& counting) {
  constexpr std::int64_t line = 128;
  ir::Value const& tensor = *load.in<ir::LoadOp>("tensor");
  int const rank = tensor.type().rank();
  if (tensor.defining_op() != nullptr || rank < 2) return 1;
  Argument const& argument = counting.arguments[static_cast<std::size_t>(tensor.index())];
  std::int64_t const pitch = argument.strides[rank - 2] * info(argument.element).bits / 8;
  return 2 - static_cast<double>(std::gcd(pitch, line)) / line;
}

/// Adds one op that runs `times` times.
void add(Estimate& found, Op const& op, double times, Counting const& counting) {
  if (op.is<ir::DotOp>()) {
    ir::Type const &lhs = op.lhs()->type(), &result = op.result()->type();
    double const columns = static_cast<double>(result.shape()[result.rank() - 1]);
    double const rows = static_cast<double>(result.elements()) / columns;
    double const depth_bytes = static_cast<double>(lhs.shape()[lhs.rank() - 1]) * info(lhs.element()).bits / 8;
    found.product_bytes += times * rows * columns * depth_bytes;
    // Each 64 rows read all columns.
    found.operand_bytes += times * depth_bytes * (rows + columns * std::ceil(rows / 64));
    return;
  }
  for (int i = 0; i < op.result_count(); ++i) {
    ir::Type const& type = op.result(i)->type();
    if (!type.is_tile()) continue;
    if (op.is<ir::LoadOp>() || op.is<ir::GatherOp>()) {
      found.loaded_bytes += times * bytes_of(type);
      double const ctas = is_right_operand(*op.result(i)) ? counting.share : 1;
      found.line_bytes += times * bytes_of(type) * (op.is<ir::LoadOp>() ? lines_of_a_row(op, counting) : 1) / ctas;
    } else if (op.pure() && !op.info().has(ir::rearranges) && !op.is<ir::ConstantOp>()) {
      double const elements = static_cast<double>(op.operand_count() > 0 && op.operand(0)->type().is_tile()
                                                      ? op.operand(0)->type().elements()
                                                      : type.elements());
      (ir::is_function(op) ? found.functions : found.arithmetic) += times * elements;
    }
  }
  if (op.is<ir::StoreOp>() || op.is<ir::ScatterOp>() || op.is<ir::AtomicUpdateOp>())
    for (ir::Value const* operand : op.operands())
      if (operand->type().is_tile()) found.stored_bytes += times * bytes_of(operand->type());
}

void add(Estimate& found, ir::Block& block, double times, Counting const& counting) {
  for (Op& op : block) {
    add(found, op, times, counting);
    double const trips = op.is<ir::ForOp>() ? static_cast<double>(ir::trip_count(op).value_or(1)) : 1;
    double const share = op.is<ir::IfOp>() ? 0.5 : 1;
    for (int i = 0; i < op.block_count(); ++i) add(found, op.block(i), times * trips * share, counting);
  }
}

double tensor_bytes(std::span<Argument const> arguments) {
  double bytes = 0;
  for (Argument const& argument : arguments) {
    if (argument.kind != ParameterKind::tensor) continue;
    double elements = 1;
    for (int axis = 0; axis < argument.rank; ++axis)
      if (argument.strides[axis] != 0) elements *= static_cast<double>(argument.extents[axis]);
    bytes += elements * info(argument.element).bits / 8;
  }
  return bytes;
}

}  // namespace

Executor executor_of(device where) {
  Executor result{nullptr, where.limits().processors};
  if (!where.is_cuda()) return result;
  std::string const architecture = where.architecture();
  result.target = gpu_targets.front();
  for (TargetInfo const* target : gpu_targets)
    if (target->architecture == architecture) result.target = target;
  return result;
}

Estimate estimate(trace::TracedKernel const& kernel, std::span<Argument const> arguments, GridOverride const& grid,
                  CompileOptions const& options, Executor const& executor) {
  Specialized specialized(kernel, arguments);
  std::vector<std::int64_t> extents = specialized.grid();
  if (grid.given) extents.assign(grid.extents, grid.extents + grid.rank);
  specialized.take_block(extents);
  Estimate found;
  bool const on_gpu = executor.target != nullptr;
  std::int64_t const share = on_gpu && extents.size() > 1 ? std::max(options.share, 1) : 1;
  // A cluster that stands partly behind the last row has CTAs without work.
  if (share > 1) extents[1] = (extents[1] + share - 1) / share * share;
  for (std::int64_t const extent : extents) found.blocks *= extent;
  add(found, specialized.kernel().body(), 1, {arguments, static_cast<double>(share)});

  Machine const machine = machine_of(executor);
  double const split = executor.target != nullptr && found.product_bytes > 0 ? std::max(options.split, 1) : 1;
  double const all_bytes = tensor_bytes(arguments);
  double const blocks = static_cast<double>(found.blocks) * split;
  bool const many = executor.target != nullptr && 2 * blocks > machine.processors;
  double const cached_bytes = machine.cached_bytes * (many ? port_share : 1);
  double block = std::max({found.product_bytes / machine.product_bytes, found.operand_bytes / machine.operand_bytes,
                           ((on_gpu ? found.line_bytes : found.loaded_bytes) + found.stored_bytes) / cached_bytes,
                           found.functions / machine.functions + found.arithmetic / machine.arithmetic});
  // CTAs of a cluster hand their sums on: a tile of f32 each way.
  block = block / split + (split > 1 ? found.stored_bytes * 4 / cached_bytes : 0);
  double const waves = std::max(std::ceil(blocks / machine.processors), 1.0);
  // The next block of a processor hides most of a block's start and end.
  double const fixed = machine.block_clocks * (1 + 0.3 * (waves - 1));
  double const ns = std::max((waves * block + fixed) / machine.clocks_per_ns, all_bytes / machine.memory_bytes_per_ns);
  found.seconds = (ns + machine.launch_ns) * 1e-9;
  return found;
}

std::string Estimate::str() const { return fmt::format("{:.2f} us, {} blocks", seconds * 1e6, blocks); }

}  // namespace tegula::jit
