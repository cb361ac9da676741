#include "jit/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/compile.hpp"
#include "ir/verify_block.hpp"
#include "jit/stated_grid.hpp"
#include "runtime/argument_check.hpp"
#include "runtime/cuda/backend.hpp"
#include "runtime/overlap.hpp"
#include "sim/block/simulate.hpp"
#include "sim/interpreter.hpp"
#include "support/options.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/target_info.hpp"
#include "trace/traced_kernel.hpp"
#include "transform/pipeline.hpp"

namespace tegula::jit {
namespace {

/// Holds host copies of the device memory that arguments reach: one per run of bytes, so that interleaved tensors share
/// one.
class Staging {
 public:
  explicit Staging(std::span<Argument const> arguments) {
    for (Argument const& argument : arguments) {
      if (argument.kind != ParameterKind::tensor || argument.space != DeviceKind::cuda) continue;
      runtime::ByteRange const range = runtime::byte_range(runtime::footprint_of(argument));
      if (range.first < range.last) pieces_.push_back({range, runtime::cuda::device_of_address(argument.address), {}});
    }
    std::ranges::sort(pieces_, {}, [](Piece const& piece) { return piece.range.first; });
    std::vector<Piece> merged;
    for (Piece& piece : pieces_) {
      if (!merged.empty() && piece.range.first < merged.back().range.last) {
        merged.back().range.last = std::max(merged.back().range.last, piece.range.last);
      } else {
        merged.push_back(std::move(piece));
      }
    }
    pieces_ = std::move(merged);
    for (Piece& piece : pieces_) {
      piece.bytes.resize(static_cast<std::size_t>(piece.range.last - piece.range.first));
      runtime::cuda::synchronize_device(piece.device);
      runtime::cuda::download(piece.device, nullptr, piece.bytes.data(), address(piece), size(piece));
      runtime::cuda::synchronize(piece.device, nullptr);
    }
  }

  /// Gives the host address that stands for a device address.
  void* host_address(void* device) {
    auto const wanted = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(device));
    for (Piece& piece : pieces_)
      if (wanted >= piece.range.first && wanted < piece.range.last)
        return piece.bytes.data() + (wanted - piece.range.first);
    return device;
  }

  void write_back() {
    for (Piece& piece : pieces_) {
      runtime::cuda::upload(piece.device, nullptr, address(piece), piece.bytes.data(), size(piece));
      runtime::cuda::synchronize(piece.device, nullptr);
    }
  }

 private:
  struct Piece {
    runtime::ByteRange range;
    int device;
    std::vector<std::byte> bytes;
  };
  static void* address(Piece const& piece) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(piece.range.first));
  }
  static std::int64_t size(Piece const& piece) { return static_cast<std::int64_t>(piece.bytes.size()); }

  std::vector<Piece> pieces_;
};

device device_of(std::span<Argument const> arguments) {
  for (Argument const& argument : arguments)
    if (argument.kind == ParameterKind::tensor && argument.space == DeviceKind::cuda)
      return device::cuda(argument.device_number >= 0 ? argument.device_number
                                                      : runtime::cuda::device_of_address(argument.address));
  return device::host();
}

sim::Arguments sim_arguments(std::span<Argument const> arguments, Staging& staging) {
  sim::Arguments result;
  for (Argument const& argument : arguments) {
    if (argument.kind == ParameterKind::scalar) {
      result.emplace_back(ir::Constant{argument.element, static_cast<std::uint64_t>(argument.scalar)});
      continue;
    }
    sim::Tensor tensor;
    tensor.data = argument.space == DeviceKind::cuda ? staging.host_address(argument.address) : argument.address;
    tensor.element = argument.element;
    for (int axis = 0; axis < argument.rank; ++axis) {
      tensor.extents.push_back(argument.extents[axis]);
      tensor.strides.push_back(argument.strides[axis]);
    }
    result.emplace_back(tensor);
  }
  return result;
}

/// Gives the options of a launch on the GPU with these arguments.
CompileOptions gpu_options(std::span<Argument const> arguments) {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = gpu_targets.front()->architecture;
  options.exact = support::options().exact;
  options.asserts = support::options().asserts;
  options.ranges = support::options().ranges;
  for (Argument const& argument : arguments) options.facts.push_back(runtime::facts_of(argument));
  return options;
}

/// Gives the kernel as the passes transform it for the GPU. Throws UserError with the compiler's reason if it is
/// refused.
ir::Module lowered_for_warps(Traced const& traced, CompileOptions const& options) {
  try {
    ir::Module result = compiler::lower(trace::module(traced.kernel), options);
    compiler::refuse_for_gpu(result, options);
    return result;
  } catch (UserError const& error) {
    throw UserError(
        fmt::format("{}: the kernel cannot run on {}, so its warps cannot be simulated: {}\n  note: without a schedule "
                    "its tiles are simulated",
                    traced.kernel.name(), options.architecture, error.what()),
        error.where());
  }
}

simulation summary(sim::Result const& result) {
  simulation found;
  found.clean = result.clean();
  found.blocks = result.blocks;
  found.steps = result.steps;
  found.report = result.str();
  return found;
}

}  // namespace

Simulation::Simulation(KernelRef const& kernel, std::span<Argument const> arguments, GridOverride const& grid,
                       std::string schedule)
    : traced_(traced(kernel)), arguments_(arguments.begin(), arguments.end()), schedule_(std::move(schedule)) {
  if (!schedule_.empty()) (void)sim::machine::parse_schedule(schedule_);
  if (grid.given) {
    DeviceKind const kind = schedule_.empty() ? DeviceKind::host : DeviceKind::cuda;
    arguments_ = with_grid_arguments(traced_->kernel, arguments, grid, kind);
    traced_ = traced(kernel, GridFrom::launch);
  }
  for (Argument const& argument : arguments_) {
    if (argument.allocation == nullptr) continue;
    detail::retain(argument.allocation);
    buffers_.emplace_back(argument.allocation);
  }
  runtime::check_arguments(traced_->kernel.name(), traced_->kernel.parameters(), arguments_, device_of(arguments_));
}

Simulation::Found Simulation::find() const {
  runtime::check_arguments(traced_->kernel.name(), traced_->kernel.parameters(), arguments_, device_of(arguments_));
  Staging staging(arguments_);
  sim::Arguments const arguments = sim_arguments(arguments_, staging);
  ir::Module const& module = trace::module(traced_->kernel);
  sim::Options tiles;
  tiles.check_asserts = support::options().asserts;
  bool const by_hand = ir::has_block_ops(module.kernel());
  Found found;
  if (schedule_.empty() && !by_hand) {
    found.result = summary(sim::run(module.kernel(), arguments, tiles));
    staging.write_back();
    return found;
  }
  CompileOptions const options = gpu_options(arguments_);
  ir::Module const lowered = lowered_for_warps(*traced_, options);
  sim::block::Options warps;
  warps.print = by_hand;  // else the run of the tiles prints
  // Limits the blocks at once: the run of the tiles compared blocks of tiles with each other, and a large grid at once
  // is slow.
  constexpr int blocks_at_once = 32;
  if (!by_hand && lowered.kernel().cluster == 1) warps.batch = blocks_at_once;
  sim::block::Simulation simulation(lowered.kernel(), arguments,
                                    warps);  // remembers the present contents of the tensors
  if (!by_hand) {
    found.result = summary(sim::run(module.kernel(), arguments, tiles));
    if (!found.result.clean) {
      staging.write_back();
      return found;
    }
  }
  sim::block::Result const result =
      simulation.run(schedule_.empty() ? sim::machine::Schedule::seed(1) : sim::machine::parse_schedule(schedule_));
  found.ours = !by_hand && !result.clean();
  found.result.clean = result.clean();
  found.result.blocks = result.values.blocks;
  found.result.steps = result.values.steps;
  found.result.report = result.clean() ? std::string() : result.str();
  found.result.executor = tegula::simulation::Executor::warps;
  found.result.pipeline = transform::to_string(compiler::default_pipeline(module, options));
  found.result.exact = options.exact;
  staging.write_back();
  return found;
}

simulation Simulation::result() const { return find().result; }

void Simulation::run() const {
  Found const found = find();
  if (found.result.clean) return;
  std::string const text = fmt::format("{}: simulated: {}", traced_->kernel.name(), found.result.report);
  if (!found.ours) throw UserError(text);
  throw InternalError(text + "\n  the kernel ran clean as written, so the result of the passes is wrong");
}

}  // namespace tegula::jit
