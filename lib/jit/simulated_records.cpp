#include "jit/simulated_records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "analysis/profile_layout.hpp"
#include "compiler/compile.hpp"
#include "jit/profile.hpp"
#include "sim/block/simulate.hpp"
#include "support/diagnostics.hpp"
#include "target/gpu_target.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/target_info.hpp"
#include "trace/traced_kernel.hpp"

namespace tegula::jit {
namespace {

constexpr std::int64_t max_extent = std::int64_t{1} << 17, min_cut = 128;

std::int64_t elements(std::span<Argument const> arguments) {
  std::int64_t sum = 0;
  for (Argument const& argument : arguments) {
    std::int64_t product = argument.kind == ParameterKind::tensor ? 1 : 0;
    for (int axis = 0; axis < argument.rank; ++axis) product *= std::min<std::int64_t>(argument.extents[axis], 1 << 20);
    sum += product;
  }
  return sum;
}

/// Lays a tensor out anew: its axes keep the order of their strides, and rows begin at multiples of 16 bytes.
void lay_out(Argument& tensor) {
  std::array<int, max_rank> axes{};
  std::iota(axes.begin(), axes.end(), 0);
  std::stable_sort(axes.begin(), axes.begin() + tensor.rank, [&](int a, int b) {
    std::int64_t const left = std::abs(tensor.strides[a]), right = std::abs(tensor.strides[b]);
    return left != right ? left < right : a > b;
  });
  std::int64_t const step = std::max<std::int64_t>(16 / bytes(tensor.element), 1);
  std::int64_t next = 1;
  bool first = true;
  for (int i = 0; i < tensor.rank; ++i) {
    int const axis = axes[static_cast<std::size_t>(i)];
    if (tensor.strides[axis] == 0) continue;                    // one element for all
    if (first && std::abs(tensor.strides[axis]) > 1) next = 2;  // no adjacent elements
    tensor.strides[axis] = next;
    next = (next * std::max<std::int64_t>(tensor.extents[axis], 1) + step - 1) / step * step;
    first = false;
  }
}

std::string extents_text(Traced const& source, std::span<Argument const> arguments) {
  ir::Function const& kernel = trace::module(source.kernel).kernel();
  std::string text;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind != ParameterKind::tensor) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kernel.parameter(static_cast<int>(i))->name(),
                        fmt::join(arguments[i].extents, arguments[i].extents + arguments[i].rank, " x "));
  }
  return text;
}

/// Holds tensors of zeros for a run.
struct Tensors {
  explicit Tensors(std::span<Argument const> arguments) {
    for (Argument const& argument : arguments) {
      if (argument.kind == ParameterKind::scalar) {
        given.emplace_back(ir::Constant{argument.element, static_cast<std::uint64_t>(argument.scalar)});
        continue;
      }
      sim::Tensor tensor;
      tensor.element = argument.element;
      std::int64_t last = 0;
      for (int axis = 0; axis < argument.rank; ++axis) {
        tensor.extents.push_back(argument.extents[axis]);
        tensor.strides.push_back(argument.extents[axis] <= 1 ? 0 : argument.strides[axis]);
        last += std::max<std::int64_t>(argument.extents[axis] - 1, 0) * argument.strides[axis];
      }
      memory.emplace_back(static_cast<std::size_t>((last + 1) * bytes(argument.element)));
      tensor.data = memory.back().data();
      given.emplace_back(tensor);
    }
  }

  std::vector<std::vector<std::byte>> memory;
  sim::Arguments given;
};

bool equal_extents(Argument const& a, Argument const& b) {
  return std::equal(a.extents, a.extents + a.rank, b.extents);
}

/// Cuts a launch until few tiles are left, and its requirements hold. Throws UserError if that cannot be.
std::vector<Argument> small_launch(ir::Function const& kernel, std::span<Argument const> arguments) {
  constexpr std::int64_t max_tiles = 512;
  for (std::int64_t most = max_extent; most >= min_cut; most /= 2) {
    std::vector<Argument> small = cut(arguments, most);
    try {
      sim::Grid const grid = sim::launch_grid(kernel, Tensors(small).given);
      if (grid[0] * grid[1] * grid[2] <= max_tiles) return small;
    } catch (UserError const&) {
      if (most / 2 < min_cut) throw;
    }
  }
  throw UserError(fmt::format("the grid has more than {} blocks; pass the records of a launch", max_tiles));
}

}  // namespace

std::vector<Argument> cut(std::span<Argument const> arguments, std::int64_t most) {
  constexpr std::int64_t max_elements = std::int64_t{1} << 18;
  std::vector<Argument> result(arguments.begin(), arguments.end());
  for (;; most /= 2) {
    for (Argument& argument : result)
      for (int axis = 0; argument.kind == ParameterKind::tensor && axis < argument.rank; ++axis)
        argument.extents[axis] = std::min(argument.extents[axis], most);
    if (most / 2 < min_cut || elements(result) <= max_elements) break;
  }
  // Of batches and heads, few show as much.
  for (std::int64_t batch = 4; elements(result) > max_elements && batch >= 1; batch /= 2)
    for (Argument& argument : result)
      for (int axis = 0; argument.kind == ParameterKind::tensor && axis + 2 < argument.rank; ++axis)
        argument.extents[axis] = std::min(argument.extents[axis], batch);
  for (Argument& argument : result)
    if (argument.kind == ParameterKind::tensor) lay_out(argument);
  return result;
}

SimulatedRecords simulate_records(Traced const& source, CompileOptions options, std::span<Argument const> arguments) {
  SimulatedRecords result;
  try {
    options.profile = {};
    options.profile.user = options.profile.compiler = true;
    options.profile.strategy = ProfileStrategy::device;
    ir::Module const& module = trace::module(source.kernel);
    ir::Module const lowered = compiler::lower(module, options);
    compiler::refuse_for_gpu(lowered, options);
    ProfileLayout const layout = analysis::profile_layout(lowered.kernel());
    std::vector<Argument> const small = small_launch(module.kernel(), arguments);
    bool const same = std::equal(small.begin(), small.end(), arguments.begin(), arguments.end(), equal_extents);
    Tensors const tensors(small);
    TargetInfo const& target = target::default_target();
    int const cluster = std::max(lowered.kernel().cluster, 1);
    std::vector<std::byte> records;
    sim::block::Options how;
    how.print = false;
    how.timed = true;
    how.profile = &records;
    how.resident = target.costs.multiprocessors / cluster;
    if (cluster == 1) how.batch = target.costs.multiprocessors;
    how.max_steps = 4'000'000;
    sim::block::Result const run =
        sim::block::Simulation(lowered.kernel(), tensors.given, how).run(sim::machine::Schedule::timed());
    if (!records.empty()) result.records = decode_simulated(source.kernel.name(), layout, records);
    result.note = fmt::format("The simulator's virtual time, with {} as {}; all elements are 0.",
                              extents_text(source, small), same ? "given" : "cut down from the launch");
    if (!run.clean()) result.note += " The run reports: " + run.str();
  } catch (Error const& error) {
    result.records = {};
    result.note = fmt::format("No timeline: {}", error.what());
  }
  return result;
}

}  // namespace tegula::jit
