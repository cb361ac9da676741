#include "runtime/prepared_launch.hpp"

#include <fmt/format.h>

#include "runtime/allocation.hpp"
#include "runtime/argument_check.hpp"
#include "runtime/counters.hpp"
#include "runtime/host/run.hpp"
#include "runtime/launch_program.hpp"
#include "runtime/profile_buffer.hpp"
#include "support/locks.hpp"
#include "tegula/support/error.hpp"

namespace tegula::runtime {
namespace {

/// Limits the blocks of one host phase, so that the pool can count in 64 bits.
constexpr std::int64_t max_phase_blocks = std::int64_t{1} << 62;

std::int64_t step_value(std::span<std::int64_t const> values, std::int32_t step, char const* subject) {
  if (step < 0 || static_cast<std::size_t>(step) >= values.size())
    throw InternalError(fmt::format("launch program: {} names step {}", subject, step));
  return values[static_cast<std::size_t>(step)];
}

/// Checks facts that the code relies on. A tensor map's own rules give the more precise reason.
void check_facts(CompiledKernel const& compiled, std::span<Argument const> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (satisfies(facts_of(arguments[i]), compiled.parameters[i].facts)) continue;
    for (TensorMapInfo const& map : compiled.tensor_maps)
      if (map.parameter == static_cast<std::int32_t>(i))
        cuda::describe(compiled.name, map, compiled.parameters, arguments);
    throw UserError(
        fmt::format("{}: argument {}: the kernel was compiled for a tensor with unit inner stride or 16-byte "
                    "alignment, which this one lacks",
                    compiled.name, i + 1));
  }
}

}  // namespace

std::int64_t cuda_blocks(CompiledKernel const& compiled, std::int64_t const (&grid)[3]) {
  std::int64_t const product = check_grid(compiled.name, grid);  // all are launched along the first axis
  if (product % compiled.cluster != 0)
    throw UserError(
        fmt::format("{}: grid {}x{}x{} has {} blocks, not a multiple of the cluster of {}; round the "
                    "grid up to a multiple of {}",
                    compiled.name, grid[0], grid[1], grid[2], product, compiled.cluster, compiled.cluster));
  return product;
}

PreparedLaunch::PreparedLaunch(std::shared_ptr<LoadedKernel const> kernel, std::span<Argument const> arguments,
                               GridOverride const& grid, std::span<location const> require_sites)
    : kernel_(std::move(kernel)) {
  rebind(arguments, grid, require_sites);
}

PreparedLaunch::~PreparedLaunch() = default;

void PreparedLaunch::rebind(std::span<Argument const> arguments, GridOverride const& grid,
                            std::span<location const> require_sites) {
  CompiledKernel const& compiled = kernel_->compiled;
  check_arguments(compiled.name, compiled.parameters, arguments, kernel_->where);
  check_facts(compiled, arguments);
  Size size = size_of(arguments, grid, require_sites);
  pack_.fill(compiled, arguments, size.grid, kernel_->multiprocessors, kernel_->where.number(),
             cuda::tensor_map_cache());
  size_ = std::move(size);
  buffers_.clear();
  for (Argument const& argument : arguments) {
    if (argument.allocation == nullptr) continue;
    detail::retain(argument.allocation);
    buffers_.emplace_back(argument.allocation);
  }
}

PreparedLaunch::Size PreparedLaunch::size_of(std::span<Argument const> arguments, GridOverride const& grid,
                                             std::span<location const> require_sites) const {
  CompiledKernel const& compiled = kernel_->compiled;
  std::vector<std::int64_t> const values = evaluate(compiled.launch, arguments, kernel_->multiprocessors);
  check_requirements(compiled.name, compiled.launch, values, require_sites);
  Size size;
  bool nothing_to_do = false;
  for (int axis = 0; axis < 3; ++axis) {
    std::int32_t const step = compiled.launch.grid[static_cast<std::size_t>(axis)];
    std::int64_t& extent = size.grid[axis];
    extent = grid.given ? grid.extents[axis] : step < 0 ? 1 : step_value(values, step, "grid");
    if (grid.given && compiled.launch.grid[0] >= 0 && step < 0 && extent != 1)
      throw UserError(fmt::format("{}: grid: {} blocks given along axis {}, which the kernel's own grid does not have",
                                  compiled.name, extent, axis));
    nothing_to_do = nothing_to_do || extent == 0;
  }
  std::int64_t const blocks = check_grid(compiled.name, size.grid);
  if (!nothing_to_do) size.blocks = kernel_->where.is_host() ? blocks : cuda_blocks(compiled, size.grid);
  if (kernel_->where.is_host()) size_phases(values, size);
  return size;
}

void PreparedLaunch::size_phases(std::span<std::int64_t const> values, Size& size) const {
  CompiledKernel const& compiled = kernel_->compiled;
  for (HostPhase const& phase : compiled.phases) {
    std::int64_t const blocks = phase.blocks < 0 ? size.blocks : step_value(values, phase.blocks, "phase");
    if (blocks < 0 || blocks > max_phase_blocks)
      throw InternalError(fmt::format("{}: phase {} has {} blocks", compiled.name, phase.entry, blocks));
    size.phase_blocks.push_back(blocks);
  }
  if (compiled.workspace_bytes >= 0) size.workspace_bytes = step_value(values, compiled.workspace_bytes, "workspace");
  if (size.workspace_bytes < 0 || compiled.scratch_bytes < 0)
    throw InternalError(fmt::format("{}: workspace of {} bytes, scratch of {} bytes", compiled.name,
                                    size.workspace_bytes, compiled.scratch_bytes));
}

detail::Allocation const* PreparedLaunch::freed_buffer() const {
  for (auto const& buffer : buffers_)
    if (!buffer.get()->alive.load(std::memory_order_acquire)) return buffer.get();
  return nullptr;
}

void PreparedLaunch::run(stream const& order) const {
  CompiledKernel const& compiled = kernel_->compiled;
  if (order.where() != kernel_->where)
    throw UserError(fmt::format("{}: prepared for {} but the stream is of {}", compiled.name, kernel_->where.str(),
                                order.where().str()));
  if (detail::Allocation const* const freed = freed_buffer())
    throw UserError(fmt::format("{}: a buffer of {} bytes {}, after the launch was prepared", compiled.name,
                                freed->bytes, freed->freed_text()));
  if (size_.blocks == 0) return;
  count(&CounterCells::launches);
  if (kernel_->where.is_host()) {
    std::unique_lock<support::Mutex> one_at_a_time;  // the buffer numbers one launch
    if (kernel_->host.profile != nullptr) {
      static constinit support::PerProcess<support::Mutex> profiled;
      one_at_a_time = std::unique_lock(profiled.get());
      number_launch(kernel_->host);
    }
    host::run(kernel_->host, size_.phase_blocks, pack_.slots().data(), size_.workspace_bytes, compiled.scratch_bytes,
              std::span(kernel_->paces.get(), compiled.phases.size()));
    return;
  }
  cuda::launch(
      kernel_->function, order.handle(),
      {size_.blocks, compiled.threads_per_cta, compiled.shared_bytes, compiled.cluster, compiled.dependent_launch},
      pack_.parameters(), compiled.name);
}

}  // namespace tegula::runtime
