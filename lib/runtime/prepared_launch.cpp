#include "runtime/prepared_launch.hpp"

#include <fmt/format.h>

#include "runtime/allocation.hpp"
#include "runtime/argument_check.hpp"
#include "runtime/host/run.hpp"
#include "runtime/launch_program.hpp"
#include "tegula/support/error.hpp"

namespace tegula::runtime {
namespace {

/// Blocks of one host phase; leaves the pool room to count in 64 bits.
constexpr std::int64_t most_blocks = std::int64_t{1} << 62;

std::int64_t step_value(std::span<std::int64_t const> values, std::int32_t step, char const* what) {
  if (step < 0 || static_cast<std::size_t>(step) >= values.size())
    throw InternalError(fmt::format("launch program: {} names step {}", what, step));
  return values[static_cast<std::size_t>(step)];
}

}  // namespace

PreparedLaunch::PreparedLaunch(std::shared_ptr<LoadedKernel const> kernel, std::span<Argument const> arguments,
                               GridOverride const& grid, std::span<location const> require_sites)
    : kernel_(std::move(kernel)) {
  CompiledKernel const& compiled = kernel_->compiled;
  check_arguments(compiled.name, compiled.parameters, arguments, kernel_->where);
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (!satisfies(facts_of(arguments[i]), compiled.parameters[i].facts))
      throw UserError(
          fmt::format("{}: argument {}: the kernel was compiled for a tensor with unit inner stride or 16-byte "
                      "alignment, which this one lacks",
                      compiled.name, i + 1));
  std::vector<std::int64_t> const values = evaluate(compiled.launch, arguments, kernel_->multiprocessors);
  check_requirements(compiled.name, compiled.launch, values, require_sites);
  for (int axis = 0; axis < 3; ++axis) {
    std::int32_t const step = compiled.launch.grid[static_cast<std::size_t>(axis)];
    grid_[axis] = grid.given ? grid.extents[axis] : step < 0 ? 1 : step_value(values, step, "grid");
    if (grid.given && compiled.launch.grid[0] >= 0 && step < 0 && grid_[axis] != 1)
      throw UserError(fmt::format("{}: grid: {} blocks given along axis {}, which the kernel's own grid does not have",
                                  compiled.name, grid_[axis], axis));
    if (grid_[axis] < 0)
      throw UserError(fmt::format("{}: grid: extent {} of axis {} is negative", compiled.name, grid_[axis], axis));
    nothing_to_do_ = nothing_to_do_ || grid_[axis] == 0;
  }
  if (kernel_->where.is_host()) {
    size_host_launch(values);
  } else {
    check_cuda_grid();
  }
  pack(arguments);
}

PreparedLaunch::~PreparedLaunch() = default;

void PreparedLaunch::size_host_launch(std::span<std::int64_t const> values) {
  CompiledKernel const& compiled = kernel_->compiled;
  std::int64_t product = 1;
  bool overflow = false;
  for (std::int64_t extent : grid_) overflow = __builtin_mul_overflow(product, extent, &product) || overflow;
  if (!nothing_to_do_ && (overflow || product > most_blocks))
    throw UserError(fmt::format("{}: grid {}x{}x{} has more blocks than can be counted", compiled.name, grid_[0],
                                grid_[1], grid_[2]));
  for (HostPhase const& phase : compiled.phases) {
    std::int64_t const blocks = phase.blocks < 0 ? product : step_value(values, phase.blocks, "phase");
    if (blocks < 0 || blocks > most_blocks)
      throw InternalError(fmt::format("{}: phase {} has {} blocks", compiled.name, phase.entry, blocks));
    phase_blocks_.push_back(blocks);
  }
  if (compiled.workspace_bytes >= 0) workspace_bytes_ = step_value(values, compiled.workspace_bytes, "workspace");
  if (workspace_bytes_ < 0 || compiled.scratch_bytes < 0)
    throw InternalError(fmt::format("{}: workspace of {} bytes, scratch of {} bytes", compiled.name, workspace_bytes_,
                                    compiled.scratch_bytes));
}

void PreparedLaunch::check_cuda_grid() const {
  if (nothing_to_do_) return;
  constexpr std::int64_t limit = 2147483647;  // of the first axis; all blocks are launched along it
  std::int64_t product = 1;
  for (std::int64_t extent : grid_)
    if (__builtin_mul_overflow(product, extent, &product) || product > limit)
      throw UserError(fmt::format("{}: grid {}x{}x{} has more blocks than CUDA's limit of {}", kernel_->compiled.name,
                                  grid_[0], grid_[1], grid_[2], limit));
}

void PreparedLaunch::pack(std::span<Argument const> arguments) {
  for (Argument const& argument : arguments) {
    if (argument.kind == ParameterKind::scalar) {
      slots_.push_back(argument.scalar);
      continue;
    }
    slots_.push_back(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(argument.address)));
    for (int axis = 0; axis < argument.rank; ++axis) slots_.push_back(argument.extents[axis]);
    // The stride of an axis of one element is never used; 0 keeps every alignment fact.
    for (int axis = 0; axis < argument.rank; ++axis)
      slots_.push_back(argument.extents[axis] <= 1 ? 0 : argument.strides[axis]);
    if (argument.allocation != nullptr) {
      detail::retain(argument.allocation);
      buffers_.emplace_back(argument.allocation);
    }
  }
  for (std::int64_t extent : grid_) slots_.push_back(extent);
  slots_.push_back(kernel_->multiprocessors);
  if (kernel_->where.is_cuda())
    for (std::int64_t& slot : slots_) slot_addresses_.push_back(&slot);
}

void PreparedLaunch::run(stream const& order) const {
  CompiledKernel const& compiled = kernel_->compiled;
  if (order.where() != kernel_->where)
    throw UserError(fmt::format("{}: prepared for {} but the stream is of {}", compiled.name, kernel_->where.str(),
                                order.where().str()));
  for (auto const& buffer : buffers_)
    if (!buffer.get()->alive.load(std::memory_order_acquire))
      throw UserError(fmt::format("{}: a buffer of {} bytes was freed after the launch was prepared", compiled.name,
                                  buffer.get()->bytes));
  if (nothing_to_do_) return;
  if (kernel_->where.is_host()) {
    host::run(kernel_->host, phase_blocks_, slots_.data(), workspace_bytes_, compiled.scratch_bytes);
  } else {
    // The driver reads the parameters during the call and does not write to them.
    cuda::launch(kernel_->function, order.handle(), grid_, compiled.threads_per_cta, compiled.shared_bytes,
                 const_cast<void**>(slot_addresses_.data()), compiled.name);
  }
}

}  // namespace tegula::runtime
