#include "jit/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "compiler/compile.hpp"
#include "ir/verify_block.hpp"
#include "runtime/argument_check.hpp"
#include "runtime/cuda/backend.hpp"
#include "runtime/overlap.hpp"
#include "sim/block/simulate.hpp"
#include "tegula/support/error.hpp"
#include "trace/traced_kernel.hpp"

namespace tegula::jit {
namespace {

/// Host copies of the device memory that arguments reach: one per run of bytes, so that tensors which interleave share
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

  /// The host address that stands for a device address.
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

bool holds_dot(ir::Block const& block) {
  for (ir::Op const& op : block) {
    if (op.is<ir::DotOp>()) return true;
    for (int i = 0; i < op.block_count(); ++i)
      if (holds_dot(op.block(i))) return true;
  }
  return false;
}
bool holds_dot(ir::Module const& module) {
  auto const& functions = module.functions();
  return std::ranges::any_of(functions, [](auto const& function) { return holds_dot(function->body()); });
}

/// What the passes make of a kernel for the GPU; nothing when it has products that they do not give to warps.
std::optional<ir::Module> lowered(ir::Module const& module, std::span<Argument const> arguments) {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = gpu_architectures[0];
  for (Argument const& argument : arguments) options.facts.push_back(runtime::facts_of(argument));
  if (!holds_dot(module)) return compiler::lower(module, options);
  try {
    ir::Module result = compiler::lower(module, options);
    if (!holds_dot(result)) return result;
  } catch (UserError const&) {  // the device has no such product
  }
  return std::nullopt;
}

sim::Schedule block_order(sim::machine::Schedule const& schedule) {
  return schedule.kind == sim::machine::Schedule::Kind::seed ? sim::schedule::seed(schedule.value)
                                                             : sim::schedule::ascending;
}

simulation summary(sim::Result const& result) { return {result.clean(), result.blocks, result.steps, result.str()}; }

}  // namespace

Simulation::Simulation(std::shared_ptr<Traced const> traced, std::span<Argument const> arguments,
                       GridOverride const& grid, std::string schedule)
    : traced_(std::move(traced)),
      arguments_(arguments.begin(), arguments.end()),
      grid_(grid),
      schedule_(std::move(schedule)) {
  if (!schedule_.empty()) (void)sim::machine::parse_schedule(schedule_);
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
  bool const by_hand = ir::has_block_ops(module.kernel());
  sim::machine::Schedule const schedule =
      schedule_.empty() ? sim::machine::Schedule::seed(1) : sim::machine::parse_schedule(schedule_);
  sim::Options options;
  if (grid_.given) options.grid = sim::Grid{grid_.extents[0], grid_.extents[1], grid_.extents[2]};
  Found found;
  if (schedule_.empty() && !by_hand) {
    found.what = summary(sim::run(module.kernel(), arguments, options));
    staging.write_back();
    return found;
  }
  std::optional<ir::Module> const made = lowered(module, arguments_);
  if (!made) {
    options.schedule = block_order(schedule);
    found.what = summary(sim::run(module.kernel(), arguments, options));
    staging.write_back();
    return found;
  }
  sim::block::Options warps;
  warps.grid = options.grid;
  // Blocks of tiles were compared with each other by the run of the tiles, and a large grid at once is slow.
  constexpr int blocks_at_once = 32;
  if (!by_hand && made->kernel().cluster == 1) warps.batch = blocks_at_once;
  sim::block::Simulation simulation(made->kernel(), arguments, warps);  // remembers what the tensors hold now
  if (!by_hand) {
    found.what = summary(sim::run(module.kernel(), arguments, options));
    if (!found.what.clean) {
      staging.write_back();
      return found;
    }
  }
  sim::block::Result const result = simulation.run(schedule);
  found.ours = !by_hand && !result.clean();
  sim::Grid const& grid = result.values.grid;
  found.what = {result.clean(), grid[0] * grid[1] * grid[2], result.values.steps,
                result.clean() ? std::string() : result.str()};
  staging.write_back();
  return found;
}

simulation Simulation::result() const { return find().what; }

void Simulation::run() const {
  Found const found = find();
  if (found.what.clean) return;
  std::string const text = fmt::format("{}: simulated: {}", traced_->kernel.name(), found.what.report);
  if (!found.ours) throw UserError(text);
  throw InternalError(text + "\n  the kernel ran clean as written, so what the passes made of it is wrong");
}

}  // namespace tegula::jit
