#include "transform/tile/pad_tiles.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <set>
#include <utility>
#include <vector>

#include "analysis/effects.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "ir/values/combine.hpp"
#include "transform/common/axis_classes.hpp"
#include "transform/common/dot_paths.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

constexpr std::int64_t max_odd_factor = 15;  ///< up to here a thread holds the odd part of an axis by itself
constexpr std::int64_t parts_of_octave = 4;  ///< padded extents are 4, 5, 6 or 7 times a power of two

std::int64_t rounded_up(std::int64_t extent, std::int64_t step) { return (extent + step - 1) / step * step; }

std::int64_t padded(std::int64_t extent) {
  auto const number = static_cast<std::uint64_t>(extent);
  if (static_cast<std::int64_t>(number >> std::countr_zero(number)) <= max_odd_factor) return extent;
  auto const step = static_cast<std::int64_t>(std::bit_floor(number)) / parts_of_octave;
  return rounded_up(extent, step);
}

/// Tells whether a tile is zero behind the part that its load accesses.
bool is_zero_behind_part(Value const& tile) {
  Op const* const op = tile.defining_op();
  if (op == nullptr) return false;
  if (op->is<ir::LoadOp>()) return op->as<ir::LoadOp>().pad.bits == 0;
  return (op->is<ir::CastOp>() || op->is<ir::TransOp>()) && is_zero_behind_part(*op->operand());
}

class Padding {
 public:
  Padding(ir::Function& function, TargetInfo const& target)
      : function_(function), target_(target), classes_(function) {}

  bool run() {
    for (int i = 0; i < classes_.count(); ++i)
      grown_.push_back({.extent = classes_.extent(i), .is_fixed = classes_.is_fixed(i)});
    for_dots();
    for (Grown& axis : grown_)
      if (!axis.of_product) axis.ask(padded(axis.extent));
    for_resizes();
    while (!fits()) {
    }
    std::vector<std::pair<Op*, Extents>> limited;  // with the shapes that they have now
    bool grows = false;
    ir::walk(function_, [&](Op& op) {
      if (Value const* const tile = limited_tile(op); tile != nullptr && new_shape(*tile) != tile->type().shape())
        limited.emplace_back(&op, part_of(op, *tile));
      if (op.is<ir::DotOp>() && grown(*op.lhs(), 1).grows()) limited.emplace_back(&op, op.lhs()->type().shape());
      each_tile(op, [&](Value& tile) { grows = grows || new_shape(tile) != tile.type().shape(); });
    });
    if (!grows) return false;
    std::set<Value*> done;
    ir::walk(function_, [&](Op& op) {
      each_tile(op, [&](Value& tile) {
        if (done.insert(&tile).second) tile.set_type(tile.type().with_shape(new_shape(tile)));
      });
    });
    for (auto& [op, part] : limited) limit(*op, part);
    std::vector<Op*> needless;
    ir::walk(function_, [&](Op& op) {
      if (op.is<ir::ResizeOp>() && op.operand()->type() == op.result()->type()) needless.push_back(&op);
    });
    for (Op* op : needless) ir::replace(*op, op->operand());
    return true;
  }

 private:
  /// Holds the decision about a class of axes.
  struct Grown {
    std::int64_t extent;
    bool is_fixed;
    std::int64_t asked = 0;
    bool of_product = false;
    bool is_depth = false;  ///< some product's K: elements behind the part are zero

    void ask(std::int64_t wanted) { asked = std::max(asked, wanted); }
    [[nodiscard]] bool grows() const { return !is_fixed && asked > extent; }
    [[nodiscard]] std::int64_t to() const { return grows() ? asked : extent; }
  };

  Grown& grown(Value const& tile, int axis) { return grown_[static_cast<std::size_t>(classes_.of(tile, axis))]; }
  Extents new_shape(Value const& tile) {
    Extents shape = tile.type().shape();
    for (int axis = 0; axis < shape.size(); ++axis) shape[axis] = grown(tile, axis).to();
    return shape;
  }

  /// Asks for the extents that mma takes, where it takes a product's elements but not its extents.
  void for_dots() {
    std::vector<Op*> dots;
    ir::walk(function_, [&](Op& op) {
      if (!op.is<ir::DotOp>()) return;
      for (Grown* axis : axes_of(op)) axis->of_product = true;
      grown(*op.lhs(), 1).is_depth = true;
      dots.push_back(&op);
    });
    for (Op* dot : dots) {
      auto const [rows, depth, columns] = axes_of(*dot);
      if (!fits_tensor_cores(*dot, target_) || rows->is_fixed || depth->is_fixed || columns->is_fixed) continue;
      depth->ask(rounded_up(depth->extent, target_.mma.depth_bytes / bytes(dot->lhs()->type().element())));
      // Operands may be exchanged: one extent is a multiple of rows, the other of columns.
      std::int64_t const m = rounded_up(rows->extent, target_.mma.column_step),
                         n = rounded_up(columns->extent, target_.mma.column_step);
      bool const whole = m % target_.mma.rows == 0 || n % target_.mma.rows == 0;
      rows->ask(whole || n < m ? m : rounded_up(m, target_.mma.rows));
      columns->ask(whole || n >= m ? n : rounded_up(n, target_.mma.rows));
    }
  }
  /// Asks for the larger extent on both sides of a resize, which then goes: anything stands behind the part.
  void for_resizes() {
    ir::walk(function_, [&](Op& op) {
      if (!op.is<ir::ResizeOp>()) return;
      for (int axis = 0; axis < op.result()->type().rank(); ++axis) {
        Grown &before = grown(*op.operand(), axis), &after = grown(*op.result(), axis);
        Grown& smaller = before.extent < after.extent ? before : after;
        if (before.extent != after.extent && !smaller.of_product) smaller.ask(std::max(before.extent, after.extent));
      }
    });
  }
  std::array<Grown*, 3> axes_of(Op const& dot) {
    return {&grown(*dot.lhs(), 0), &grown(*dot.lhs(), 1), &grown(*dot.rhs(), 1)};
  }

  /// Keeps the axes of a tile that would become too large as they are. False: there was one.
  bool fits() {
    Value const* large = nullptr;
    ir::walk(function_, [&](Op& op) {
      each_tile(op, [&](Value& tile) {
        if (Extents const shape = new_shape(tile); shape != tile.type().shape() && shape.product() > max_tile_elements)
          large = &tile;
      });
    });
    if (large == nullptr) return true;
    for (int axis = 0; axis < large->type().rank(); ++axis) grown(*large, axis).is_fixed = true;
    return false;
  }

  /// Returns the part of a tile that an op uses. A load of a tensor that the kernel does not write may read further
  /// rows and columns of a product: their results are not stored.
  Extents part_of(Op const& op, Value const& tile) {
    Extents part = tile.type().shape();
    if (op.is<ir::LoadOp>() && analysis::reads_constant_memory(op))
      for (int axis = 0; axis < part.size(); ++axis)
        if (Grown const& own = grown(tile, axis); own.of_product && !own.is_depth) part[axis] = own.to();
    return part;
  }

  /// Returns the tile of which an op may use the part alone: the one that it reads from or writes to global memory, or
  /// reduces. Null: it uses none, or each element for itself.
  static Value* limited_tile(Op& op) {
    if (analysis::is_global_read(op)) return op.result()->type().is_tile() ? op.result() : nullptr;
    bool const stores = op.info().effects.writes(ir::Space::global) && !op.info().is_block_op();
    bool const uses = stores || op.is<ir::ReduceOp>() || op.is<ir::ScanOp>();
    return uses && op.in("tile")->type().is_tile() ? op.in("tile") : nullptr;
  }

  static void limit(Op& op, Extents const& part) {
    if (op.is<ir::DotOp>()) return limit_depth(op, part[1]);
    if (auto* const load = op.dyn<ir::LoadOp>()) {
      if (load->part.empty() && part != op.result()->type().shape()) load->part = part;
    } else if (auto* const store = op.dyn<ir::StoreOp>()) {
      if (store->part.empty()) store->part = part;
    } else if (auto const* const reduce = op.dyn<ir::ReduceOp>()) {
      mask_reduced(op, reduce->axis, reduce->combine, part);
    } else if (auto const* const scan = op.dyn<ir::ScanOp>()) {
      mask_reduced(op, scan->axis, scan->combine, part);
    } else {
      // Indices behind the part are outside every tensor.
      for (int i = op.position("indices"); i < op.operand_count(); ++i)
        if (Value* const index = op.operand(i); index->type().is_tile()) {
          ir::Builder builder = ir::Builder::before(op);
          builder.set_where(op.where());
          Value* const outside =
              builder.constant(ir::make_constant(index->type().element(), std::int64_t{-1}), index->type());
          op.set_operand(i, inside_or(builder, index, part, outside));
          return;
        }
    }
  }

  /// Puts zeros behind the part of both operands along K.
  static void limit_depth(Op& dot, std::int64_t depth) {
    for (bool const left : {true, false}) {
      int const position = dot.position(left ? "lhs" : "rhs");
      if (is_zero_behind_part(*dot.operand(position))) continue;
      mask_operand(dot, position, left ? 1 : 0,
                   ir::make_constant(dot.operand(position)->type().element(), std::int64_t{0}), depth);
    }
  }

  /// Puts a constant behind the part along the axis.
  static void mask_operand(Op& op, int position, int axis, ir::Constant const& rest, std::int64_t part) {
    Value* const tile = op.operand(position);
    Extents along = tile->type().shape();
    if (along[axis] == part) return;
    along[axis] = part;
    ir::Builder builder = ir::Builder::before(op);
    builder.set_where(op.where());
    op.set_operand(position, inside_or(builder, tile, along, builder.constant(rest, tile->type())));
  }
  static void mask_reduced(Op& op, std::int64_t axis, ir::Combine combine, Extents const& part) {
    ir::Constant const neutral = ir::neutral(combine, op.in("tile")->type().element());
    mask_operand(op, op.position("tile"), static_cast<int>(axis), neutral, part[static_cast<int>(axis)]);
  }

  /// Selects the value inside the part, and the other behind it.
  static Value* inside_or(ir::Builder& builder, Value* value, Extents const& part, Value* otherwise) {
    Type const places = value->type().with_element(Element::i32), mask = value->type().with_element(Element::boolean);
    Value* inside = nullptr;
    for (int axis = 0; axis < part.size(); ++axis) {
      if (part[axis] == value->type().shape()[axis]) continue;
      Value* const at = builder.value(ir::make_op<ir::IotaOp>(std::int64_t{axis}), {}, places);
      Value* const end = builder.constant(ir::make_constant(Element::i32, part[axis]), places);
      Value* const here = builder.value(ir::make_op<ir::CompareOp>(ir::Predicate::lt), {at, end}, mask);
      inside = inside == nullptr ? here : builder.same(ir::AndOp{}, {inside, here});
    }
    return builder.value(ir::SelectOp{}, {inside, value, otherwise}, value->type());
  }

  ir::Function& function_;
  TargetInfo const& target_;
  AxisClasses classes_;
  std::vector<Grown> grown_;  ///< by class
};

}  // namespace

PassResult pad_tiles(ir::Function& function, PassContext& context) {
  return result_of(Padding(function, context.target).run());
}

}  // namespace tegula::transform
