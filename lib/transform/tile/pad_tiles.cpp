#include "transform/tile/pad_tiles.hpp"

#include <bit>
#include <set>
#include <utility>
#include <vector>

#include "ir/builder.hpp"
#include "ir/combine.hpp"
#include "ir/walk.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

constexpr std::int64_t max_odd_factor = 15;  ///< a thread holds so many elements that it does not share
constexpr std::int64_t parts_of_octave = 4;  ///< padded extents are 4, 5, 6 or 7 times a power of two

std::int64_t padded(std::int64_t extent) {
  auto const number = static_cast<std::uint64_t>(extent);
  if (static_cast<std::int64_t>(number >> std::countr_zero(number)) <= max_odd_factor) return extent;
  auto const step = static_cast<std::int64_t>(std::bit_floor(number)) / parts_of_octave;
  return (extent + step - 1) / step * step;
}

/// Tells whether the op's tiles may be padded: each element stays at its place, or moves to a place that the padded
/// shape has too.
bool takes_padding(Op const& op) {
  switch (op.kind()) {
    case ir::OpKind::ConstantOp:
    case ir::OpKind::SplatOp:
    case ir::OpKind::IotaOp:
    case ir::OpKind::BroadcastOp:
    case ir::OpKind::ExpandDimsOp:
    case ir::OpKind::SqueezeOp:
    case ir::OpKind::TransOp:
    case ir::OpKind::ReduceOp:
    case ir::OpKind::ScanOp:
    case ir::OpKind::LoadOp:
    case ir::OpKind::StoreOp:
    case ir::OpKind::GatherOp:
    case ir::OpKind::ScatterOp:
    case ir::OpKind::AtomicUpdateOp:
    case ir::OpKind::CompareExchangeOp:
    case ir::OpKind::ForOp:
    case ir::OpKind::RepeatOp:
    case ir::OpKind::IfOp:
    case ir::OpKind::YieldOp:
      return true;
    case ir::OpKind::DivOp:
    case ir::OpKind::RemOp:
    case ir::OpKind::CeilDivOp:  // 0 may stand behind the part
      return is_float(op.result()->type().element());
    default:
      return op.info().has(ir::elementwise);
  }
}

template <class Visit>
void each_tile(Op const& op, Visit const& visit) {
  auto const one = [&](Value& value) {
    if (value.type().is_tile()) visit(value);
  };
  for (Value* operand : op.operands()) one(*operand);
  for (int i = 0; i < op.result_count(); ++i) one(*op.result(i));
  for (int b = 0; b < op.block_count(); ++b)
    for (int i = 0; i < op.block(b).argument_count(); ++i) one(*op.block(b).argument(i));
}

class Padding {
 public:
  explicit Padding(ir::Function& function) : function_(function) {}

  bool run() {
    find();
    if (extents_.empty()) return false;
    std::vector<std::pair<Op*, Extents>> limited;  // with the shapes that they have now
    ir::walk(function_, [&](Op& op) {
      if (Value const* const tile = limited_tile(op); tile != nullptr && pads(tile->type()))
        limited.emplace_back(&op, tile->type().shape());
    });
    ir::walk(function_, [&](Op& op) {
      each_tile(op, [&](Value& value) { value.set_type(value.type().with_shape(padded_shape(value.type().shape()))); });
    });
    for (auto& [op, part] : limited) limit(*op, part);
    return true;
  }

 private:
  /// Finds the extents to pad.
  void find() {
    std::set<std::int64_t> kept;
    auto const keep = [&](Value const& value) {
      for (std::int64_t const extent : value.type().shape()) kept.insert(extent);
    };
    if (!function_.is_kernel())
      for (int i = 0; i < function_.parameter_count(); ++i)
        if (function_.parameter(i)->type().is_tile()) keep(*function_.parameter(i));
    ir::walk(function_, [&](Op& op) {
      bool const taken = takes_padding(op);
      each_tile(op, [&](Value& value) {
        bool const fits = padded_elements(value.type().shape()) <= max_tile_elements;
        for (std::int64_t const extent : value.type().shape())
          if (padded(extent) != extent) extents_.insert(extent);
        if (!taken || !fits || value.type().layout() != nullptr) keep(value);
      });
    });
    for (std::int64_t const extent : kept) extents_.erase(extent);
  }

  static std::int64_t padded_elements(Extents shape) {
    for (std::int64_t& extent : shape) extent = padded(extent);
    return shape.product();
  }
  [[nodiscard]] Extents padded_shape(Extents shape) const {
    for (std::int64_t& extent : shape)
      if (extents_.count(extent) != 0) extent = padded(extent);
    return shape;
  }
  [[nodiscard]] bool pads(Type const& tile) const { return padded_shape(tile.shape()) != tile.shape(); }

  /// Gives the tile of which an op may use the part alone: what it reads from or writes to global memory, or reduces.
  /// Null: it uses none, or each element for itself.
  static Value* limited_tile(Op& op) {
    if (op.is<ir::LoadOp>() || op.is<ir::GatherOp>()) return op.result()->type().is_tile() ? op.result() : nullptr;
    bool const uses = op.is<ir::StoreOp>() || op.is<ir::ScatterOp>() || op.is<ir::AtomicUpdateOp>() ||
                      op.is<ir::CompareExchangeOp>() || op.is<ir::ReduceOp>() || op.is<ir::ScanOp>();
    return uses && op.in("tile")->type().is_tile() ? op.in("tile") : nullptr;
  }

  static void limit(Op& op, Extents const& part) {
    if (auto* const load = op.dyn<ir::LoadOp>()) {
      if (load->part.empty()) load->part = part;
    } else if (auto* const store = op.dyn<ir::StoreOp>()) {
      if (store->part.empty()) store->part = part;
    } else if (auto const* const reduce = op.dyn<ir::ReduceOp>()) {
      mask_operand(op, static_cast<int>(reduce->axis), reduce->combine, part);
    } else if (auto const* const scan = op.dyn<ir::ScanOp>()) {
      mask_operand(op, static_cast<int>(scan->axis), scan->combine, part);
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

  /// Puts the neutral element behind the part along the axis.
  static void mask_operand(Op& op, int axis, ir::Combine combine, Extents const& part) {
    Value* const tile = op.in("tile");
    Extents along = tile->type().shape();
    along[axis] = part[axis];
    if (along == tile->type().shape()) return;
    ir::Builder builder = ir::Builder::before(op);
    builder.set_where(op.where());
    Value* const neutral = builder.constant(ir::neutral(combine, tile->type().element()), tile->type());
    op.set_operand(op.position("tile"), inside_or(builder, tile, along, neutral));
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
  std::set<std::int64_t> extents_;
};

}  // namespace

PassResult pad_tiles(ir::Function& function, AnalysisCache&, PassContext&) {
  return result_of(Padding(function).run());
}

}  // namespace tegula::transform
