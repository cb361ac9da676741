#include "transform/common/axis_classes.hpp"

#include <algorithm>
#include <optional>

#include "ir/core/loop.hpp"
#include "ir/core/match.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/source.hpp"

namespace tegula::transform {

using ir::Op;
using ir::Value;

AxisClasses::AxisClasses(ir::Function& function, Layouts layouts) {
  if (!function.is_kernel())
    for (int i = 0; i < function.parameter_count(); ++i)
      if (Value const& tile = *function.parameter(i); tile.type().is_tile())
        for (int axis = 0; axis < tile.type().rank(); ++axis) fix(tile, axis);
  ir::walk(function, [&](Op& op) {
    each_tile(op, [&](Value& tile) {
      node(tile, 0);
      if (layouts == Layouts::divided || tile.type().layout() == nullptr) return;
      for (int axis = 0; axis < tile.type().rank(); ++axis) fix(tile, axis);
    });
    visit(op);
  });
  // Numbers the classes.
  std::vector<int> numbers(parents_.size(), -1);
  std::vector<bool> fixed;
  std::vector<std::int64_t> extents;
  std::vector<int> classes(parents_.size());
  for (std::size_t i = 0; i < parents_.size(); ++i) {
    auto const at = static_cast<std::size_t>(root(static_cast<int>(i)));
    if (numbers[at] < 0) {
      numbers[at] = static_cast<int>(extents.size());
      extents.push_back(extents_[at]);
      fixed.push_back(fixed_[at]);
    }
    classes[i] = numbers[at];
  }
  parents_ = std::move(classes);
  fixed_ = std::move(fixed);
  extents_ = std::move(extents);
}

int AxisClasses::of(Value const& tile, int axis) const {
  return parents_[static_cast<std::size_t>(first_.at(&tile) + axis)];
}

int AxisClasses::node(Value const& tile, int axis) {
  auto const [at, is_new] = first_.try_emplace(&tile, static_cast<int>(parents_.size()));
  if (is_new)
    for (std::int64_t const extent : tile.type().shape()) {
      parents_.push_back(static_cast<int>(parents_.size()));
      fixed_.push_back(false);
      extents_.push_back(extent);
    }
  return at->second + axis;
}

int AxisClasses::root(int node) {
  while (parents_[static_cast<std::size_t>(node)] != node) {
    int& parent = parents_[static_cast<std::size_t>(node)];
    parent = parents_[static_cast<std::size_t>(parent)];
    node = parent;
  }
  return node;
}

void AxisClasses::join(Value const& a, int a_axis, Value const& b, int b_axis) {
  int const x = root(node(a, a_axis)), y = root(node(b, b_axis));
  if (x == y) return;
  parents_[static_cast<std::size_t>(y)] = x;
  fixed_[static_cast<std::size_t>(x)] = fixed_[static_cast<std::size_t>(x)] || fixed_[static_cast<std::size_t>(y)];
}

void AxisClasses::join_all(Value const& a, Value const& b) {
  if (!a.type().is_tile() || !b.type().is_tile()) return;
  for (int axis = 0; axis < a.type().rank(); ++axis) join(a, axis, b, axis);
}

void AxisClasses::fix(Value const& tile, int axis) { fixed_[static_cast<std::size_t>(root(node(tile, axis)))] = true; }

void AxisClasses::visit(Op& op) {
  using ir::on;
  auto const rule = ir::match<std::optional<Rule>>(
      op, on<ir::ConstantOp, ir::IotaOp, ir::LoadOp, ir::StoreOp, ir::YieldOp>([] { return Rule::none; }),
      on<ir::ForOp, ir::RepeatOp>([&] { return join_carried(op); }), on<ir::IfOp>([&] { return join_branches(op); }),
      on<ir::ReduceOp>([&] { return join_reduced(op); }), on<ir::DotOp>([&] { return join_factors(op); }),
      // 0 may stand where an axis grows.
      on<ir::DivOp, ir::RemOp, ir::CeilDivOp>(
          [&] { return is_float(op.result()->type().element()) ? Rule::joined : Rule::fixed; }));
  if (!rule && ir::moves_elements(op)) return join_source(op);
  bool const alike = op.is(ir::Family::elementwise) || op.info().has(ir::one_layout);
  Rule const own = rule.value_or(alike ? Rule::joined : Rule::fixed);
  if (own == Rule::joined) join_tiles(op);
  if (own == Rule::fixed) fix_tiles(op);
}

AxisClasses::Rule AxisClasses::join_carried(Op& op) {
  ir::Loop const loop(op);
  for (int k = 0; k < loop.count(); ++k)
    for (Value const* value : {loop.carried(k), loop.yielded(k), loop.result(k)}) join_all(*loop.init(k), *value);
  return Rule::none;
}

AxisClasses::Rule AxisClasses::join_branches(Op const& op) {
  for (int block = 0; block < op.block_count(); ++block)
    for (int i = 0; i < op.result_count(); ++i) join_all(*op.result(i), *op.block(block).back().operand(i));
  return Rule::none;
}

AxisClasses::Rule AxisClasses::join_reduced(Op const& op) {
  for (int axis = 0; axis < op.result()->type().rank(); ++axis)
    if (axis == op.as<ir::ReduceOp>().axis)
      fix(*op.result(), axis);
    else
      join(*op.operand(), axis, *op.result(), axis);
  return Rule::none;
}

AxisClasses::Rule AxisClasses::join_factors(Op const& op) {
  join(*op.lhs(), 0, *op.result(), 0);
  join(*op.lhs(), 1, *op.rhs(), 0);
  join(*op.rhs(), 1, *op.result(), 1);
  join_all(*op.in<ir::DotOp>("accumulator"), *op.result());
  return Rule::none;
}

/// Joins the axes of a shape op's result with those that they come from. Axes of which it takes parts, or that it puts
/// together, are fixed.
void AxisClasses::join_source(Op const& op) {
  ir::Source const source = ir::source(op);
  ir::SourcePart const& part = source.parts[0];
  Value const &from = *op.operand(0), &to = *op.result();
  if (!from.type().is_tile()) return;
  if (source.count > 1 || part.row_major || ir::takes_equal_elements(source)) return fix_tiles(op);
  auto const same_extent = [&](int axis) {
    return from.type().shape()[axis] == to.type().shape()[part.axes[axis].axis];
  };
  for (int axis = 0; axis < part.rank && !source.partial; ++axis)
    if (part.axes[axis].axis >= 0 && !same_extent(axis)) return fix_tiles(op);
  for (int axis = 0; axis < part.rank; ++axis) {
    ir::AxisSource const& own = part.axes[axis];
    if (own.axis >= 0 && same_extent(axis)) join(from, axis, to, own.axis);
    if (own.axis < 0 || ir::reorders(own)) fix(from, axis);
  }
  for (int axis = 0; axis < to.type().rank(); ++axis)
    if (to.type().shape()[axis] == 1 && ir::operand_axis(part, axis) < 0) fix(to, axis);
}

void AxisClasses::join_tiles(Op const& op) {
  Value const* first = nullptr;
  each_tile(op, [&](Value& tile) {
    if (first == nullptr) first = &tile;
    join_all(*first, tile);
  });
}

void AxisClasses::fix_tiles(Op const& op) {
  each_tile(op, [&](Value& tile) {
    for (int axis = 0; axis < tile.type().rank(); ++axis) fix(tile, axis);
  });
}

}  // namespace tegula::transform
