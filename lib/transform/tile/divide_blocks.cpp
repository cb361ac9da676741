#include "transform/tile/divide_blocks.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "analysis/effects.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "transform/common/axis_classes.hpp"
#include "transform/common/grid_extents.hpp"
#include "transform/common/kernel_plan.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

constexpr std::int64_t parts = 2;
/// Halves are whole blocks of wgmma's rows, and boxes that TMA copies without a rest.
constexpr std::int64_t step = 64;

/// Divides a function's blocks along one class of axes.
class Division {
 public:
  Division(ir::Function& function, AxisClasses const& classes, int divided)
      : function_(function), classes_(classes), class_(divided), half_(classes.extent(divided) / parts) {
    ir::walk(function_, [&](Op& op) {
      each_tile(op, [&](Value& tile) {
        for (int axis = 0; axis < tile.type().rank(); ++axis)
          if (classes_.of(tile, axis) == class_) axes_[&tile].insert(axis);
      });
    });
  }

  /// Tells whether each half can be computed by itself.
  [[nodiscard]] bool possible() const {
    if (classes_.is_fixed(class_) || half_ * parts != classes_.extent(class_) || half_ % step != 0) return false;
    bool possible = true;
    ir::walk(function_, [&](Op& op) { possible = possible && divides(op); });
    return possible;
  }

  void run(Op& grid) {
    std::vector<Op*> ops;
    ir::walk(function_, [&](Op& op) { ops.push_back(&op); });
    ir::Builder builder = ir::Builder::before(function_.body().front());
    Value* const at = builder.op(ir::make_op<ir::BlockIndexOp>(std::int64_t{0}), {}, {Type::index()}).result();
    Value* const count = builder.index(parts);
    Value* const block = builder.same(ir::DivOp{}, {at, count});
    first_ = builder.same(ir::MulOp{}, {builder.same(ir::RemOp{}, {at, count}), builder.index(half_)});
    first_->set_name("first");
    for (Op* op : ops) {
      if (op->is<ir::BlockIndexOp>() && op->as<ir::BlockIndexOp>().axis == 0) {
        ir::replace(*op, block);
      } else if (op->is<ir::GridExtentOp>() && op->as<ir::GridExtentOp>().axis == 0) {
        ir::replace_uses(*op->result(), [&] {
          ir::Builder after = ir::Builder::after(*op);
          return after.same(ir::DivOp{}, {op->result(), after.index(parts)});
        });
      } else {
        move(*op);
      }
    }
    multiply_blocks(grid, parts);
  }

 private:
  /// Returns the axis of a tile that is divided; nothing: none.
  [[nodiscard]] std::optional<int> axis_of(Value const& tile) const {
    auto const found = axes_.find(&tile);
    return found == axes_.end() ? std::nullopt : std::optional(*found->second.begin());
  }
  [[nodiscard]] bool is_along(Value const& tile, std::int64_t axis) const {
    return axis_of(tile) == std::optional(static_cast<int>(axis));
  }

  /// Tells whether an op can be done for one half, and then for the other.
  [[nodiscard]] bool divides(Op const& op) const {
    bool once = true, any = false;
    each_tile(op, [&](Value& tile) {
      auto const found = axes_.find(&tile);
      once = once && (found == axes_.end() || found->second.size() == 1);
      any = any || found != axes_.end();
    });
    if (!once || sums_both_halves(op)) return false;
    if (op.is<ir::CallOp>() || op.is<ir::MultiprocessorsOp>()) return false;
    if (op.info().effects.writes(ir::Space::console)) return false;
    if (any && (op.is<ir::TableOp>() || accesses_a_part(op))) return false;
    if (op.info().effects.writes(ir::Space::global)) return any;
    if (op.info().effects.reads(ir::Space::global) && !analysis::reads_constant_memory(op)) return is_updated(op);
    return true;
  }

  /// Tells whether an op combines elements of both halves.
  [[nodiscard]] bool sums_both_halves(Op const& op) const {
    if (op.is<ir::DotOp>()) return is_along(*op.lhs(), 1);
    if (op.is<ir::ReduceOp>()) return is_along(*op.operand(), op.as<ir::ReduceOp>().axis);
    return op.is<ir::ScanOp>() && is_along(*op.operand(), op.as<ir::ScanOp>().axis);
  }

  /// Tells whether a load or store accesses a part of the divided axis alone.
  [[nodiscard]] bool accesses_a_part(Op const& op) const {
    if (op.is<ir::LoadOp>()) return !is_whole(op.as<ir::LoadOp>().part, *op.result());
    return op.is<ir::StoreOp>() && !is_whole(op.as<ir::StoreOp>().part, *op.in("tile"));
  }

  /// Tells whether the part of a tile that an op accesses is all of the divided axis.
  [[nodiscard]] bool is_whole(Extents const& part, Value const& tile) const {
    auto const axis = axis_of(tile);
    return part.empty() || !axis || part[*axis] == tile.type().shape()[*axis];
  }

  /// Tells whether a load of written memory reads the box that each store to its tensor writes: of the other half's
  /// elements it reads none.
  [[nodiscard]] bool is_updated(Op const& load) const {
    if (!load.is<ir::LoadOp>() || !axis_of(*load.result())) return false;
    auto const offsets = load.all<ir::LoadOp>("offsets");
    bool found = true;
    ir::walk(function_, [&](Op& op) {
      if (!op.info().effects.writes(ir::Space::global)) return;
      bool const alike = op.is<ir::StoreOp>() && op.operand(0) == load.operand(0) &&
                         op.in("tile")->type().shape() == load.result()->type().shape() &&
                         axis_of(*op.in("tile")) == axis_of(*load.result()) &&
                         std::equal(offsets.begin(), offsets.end(), op.all<ir::StoreOp>("offsets").begin());
      bool const elsewhere = &ir::parameter_behind(*op.operand(0)) != &ir::parameter_behind(*load.operand(0));
      found = found && (alike || elsewhere);
    });
    return found;
  }

  /// Halves the op's tiles, and moves its box or coordinates to the half.
  void move(Op& op) {
    each_tile(op, [&](Value& tile) {
      auto const axis = axis_of(tile);
      if (!axis || !done_.insert(&tile).second) return;
      Extents shape = tile.type().shape();
      shape[*axis] = half_;
      tile.set_type(tile.type().with_shape(shape));
    });
    if (auto* const load = op.dyn<ir::LoadOp>(); load && op.result()->type().is_tile())
      move_box(op, load->part, *op.result());
    if (auto* const store = op.dyn<ir::StoreOp>(); store && op.in("tile")->type().is_tile())
      move_box(op, store->part, *op.in("tile"));
    if (op.is<ir::IotaOp>() && is_along(*op.result(), op.as<ir::IotaOp>().axis)) move_coordinates(op);
  }

  void move_box(Op& op, Extents& part, Value const& tile) {
    auto const axis = axis_of(tile);
    if (!axis) return;
    if (!part.empty()) part[*axis] = half_;
    ir::Builder builder = ir::Builder::before(op);
    builder.set_where(op.where());
    int const at = op.position("offsets") + *axis;
    op.set_operand(at, builder.same(ir::AddOp{}, {op.operand(at), first_}));
  }

  void move_coordinates(Op& op) {
    ir::Builder builder = ir::Builder::after(op);
    builder.set_where(op.where());
    Type const& type = op.result()->type();
    Value* const first = type.element() == first_->type().element()
                             ? first_
                             : builder.value(ir::CastOp{}, {first_}, Type::scalar(type.element()));
    ir::replace_uses(*op.result(), [&] {
      return builder.same(ir::AddOp{}, {op.result(), builder.value(ir::SplatOp{}, {first}, type)});
    });
  }

  ir::Function& function_;
  AxisClasses const& classes_;
  int class_;
  std::int64_t half_;
  std::unordered_map<Value const*, std::set<int>> axes_;  ///< that are divided, by tile
  Value* first_ = nullptr;                                ///< of the half's elements along the axis
  std::set<Value const*> done_;
};

/// Halves the blocks once. False: warps hold the sums, or nothing can be divided.
bool divide(ir::Function& function, TargetInfo const& target) {
  std::vector<Op*> dots;
  Op* grid = nullptr;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::DotOp>()) dots.push_back(&op);
    if (op.is<ir::GridOp>()) grid = &op;
  });
  if (dots.empty() || grid == nullptr || accumulators(dots) <= max_accumulators(target)) return false;
  AxisClasses const classes(function);
  auto const largest = *std::max_element(dots.begin(), dots.end(), [](Op const* a, Op const* b) {
    return a->result()->type().elements() < b->result()->type().elements();
  });
  for (int axis = 0; axis < largest->result()->type().rank(); ++axis) {
    Division division(function, classes, classes.of(*largest->result(), axis));
    if (!division.possible()) continue;
    division.run(*grid);
    return true;
  }
  return false;
}

}  // namespace

PassResult divide_blocks(ir::Function& function, AnalysisCache&, PassContext& context) {
  if (!function.is_kernel() || function.cluster != 1) return PassResult::unchanged;
  bool changed = false;
  while (divide(function, context.target)) changed = true;
  return result_of(changed);
}

}  // namespace tegula::transform
