#include "jit/stated_grid.hpp"

#include <fmt/format.h>

#include <memory>

#include "ir/core/builder.hpp"
#include "tegula/abi/limits.hpp"
#include "tegula/support/error.hpp"
#include "trace/traced_kernel.hpp"

namespace tegula::jit {
namespace {

constexpr int max_axes = 3;

ir::Op* grid_of(ir::Function const& kernel) {
  for (ir::Op& op : kernel.body())
    if (op.is<ir::GridOp>()) return &op;
  return nullptr;
}

/// Prints the grid as a user writes it: the first axis of a launch is the last number.
std::string grid_text(GridOverride const& grid) {
  std::string text;
  for (int axis = grid.rank; axis-- > 0;) text += fmt::format("{}{}", text.empty() ? "" : ", ", grid.extents[axis]);
  return "grid(" + text + ")";
}

}  // namespace

void check_stated_grid(std::string_view kernel, int own_rank, GridOverride const& grid, DeviceKind kind) {
  std::string const subject = fmt::format("{}: {} given in the launch", kernel, grid_text(grid));
  if (own_rank >= 0 && own_rank != grid.rank)
    throw UserError(
        fmt::format("{} has rank {}, but the kernel's own grid has {}; give a number of blocks for each of its axes",
                    subject, grid.rank, own_rank));
  for (int axis = 0; axis < grid.rank; ++axis)
    if (grid.extents[axis] < 0)
      throw UserError(fmt::format("{}: {} blocks, at least 0 are needed", subject, grid.extents[axis]));
  std::int64_t blocks = 1;
  bool too_many = false;
  for (std::int64_t const extent : grid.extents)
    too_many = too_many || __builtin_mul_overflow(blocks, extent, &blocks) || blocks > max_grid_blocks;
  if (too_many)
    throw UserError(fmt::format("{}: more blocks than the {} that can be launched on {}", subject, max_grid_blocks,
                                kind == DeviceKind::host ? "the host" : "a GPU"));
}

trace::TracedKernel with_stated_grid(trace::TracedKernel const& kernel) {
  auto variant = std::make_unique<trace::TracedKernel::Impl>();
  variant->name = kernel.name();
  variant->where = kernel.where();
  variant->module = trace::module(kernel).clone();
  variant->parameters = kernel.parameters();
  ir::Function& function = variant->module.kernel();
  ir::Op* own = grid_of(function);
  std::vector<ir::Value*> extents;
  for (int axis = 0; axis < (own != nullptr ? own->operand_count() : max_axes); ++axis) {
    extents.push_back(function.add_parameter(ir::Type::index(), {}, fmt::format("grid{}", axis)));
    variant->parameters.push_back({ParameterKind::scalar, Direction::in, Element::i64, 0, {}});
  }
  if (own != nullptr) {
    for (int axis = 0; axis < own->operand_count(); ++axis)
      own->set_operand(axis, extents[static_cast<std::size_t>(axis)]);
  } else {
    ir::Builder builder = ir::Builder::before(function.body().front());
    builder.set_where(kernel.where());
    builder.op(ir::GridOp{}, extents, {});
  }
  return trace::TracedKernel(variant.release());
}

std::vector<Argument> with_grid_arguments(trace::TracedKernel const& kernel, std::span<Argument const> arguments,
                                          GridOverride const& grid, DeviceKind kind) {
  ir::Op const* const own = grid_of(trace::module(kernel).kernel());
  check_stated_grid(kernel.name(), own != nullptr ? own->operand_count() : -1, grid, kind);
  std::vector<Argument> result(arguments.begin(), arguments.end());
  for (int axis = 0; axis < (own != nullptr ? own->operand_count() : max_axes); ++axis) {
    Argument extent;
    extent.kind = ParameterKind::scalar;
    extent.element = Element::i64;
    extent.scalar = grid.extents[axis];
    result.push_back(extent);
  }
  return result;
}

}  // namespace tegula::jit
