#include "analysis/box_updates.hpp"

namespace tegula::analysis {
namespace {

using ir::Op;
using ir::Value;

bool engine_combines(ir::AtomicCombine combine, Element element) {
  bool const whole = element == Element::i32 || element == Element::u32;
  if (combine == ir::AtomicCombine::add)
    return whole || element == Element::f32 || element == Element::f16 || element == Element::bf16;
  return whole && (combine == ir::AtomicCombine::min || combine == ir::AtomicCombine::max);
}

/// Splits a tile of indices into what all its elements have in common and a count of the tile's axis.
struct Index {
  BoxOffset first;
  bool counts = false;
};
std::optional<Index> index_along(Value const& tile, std::int64_t axis) {
  Op const* const op = tile.defining_op();
  if (op == nullptr || tile.type().element() != Element::i64) return std::nullopt;
  if (op->is<ir::IotaOp>()) return op->as<ir::IotaOp>().axis == axis ? std::optional(Index{{}, true}) : std::nullopt;
  if (op->is<ir::SplatOp>()) return Index{{op->operand(), 0}, false};
  if (op->is<ir::ConstantOp>())
    return Index{{nullptr, static_cast<std::int64_t>(op->as<ir::ConstantOp>().value.bits)}, false};
  if (op->is<ir::BroadcastOp>()) return index_along(*op->operand(), axis);
  if (!op->is<ir::AddOp>()) return std::nullopt;
  auto const a = index_along(*op->lhs(), axis), b = index_along(*op->rhs(), axis);
  auto const unmoved = [](Index const& index) { return index.first.value == nullptr && index.first.number == 0; };
  if (!a || !b || a->counts == b->counts || (!unmoved(*a) && !unmoved(*b))) return std::nullopt;
  return Index{unmoved(*a) ? b->first : a->first, true};
}

}  // namespace

std::optional<BoxOffsets> updated_box(Op const& op) {
  if (!op.is<ir::AtomicUpdateOp>() || !op.result()->uses().empty()) return std::nullopt;
  auto const& update = op.as<ir::AtomicUpdateOp>();
  ir::Type const& tile = op.in<ir::AtomicUpdateOp>("tile")->type();
  if (!tile.is_tile() || update.order != ir::MemoryOrder::relaxed || update.scope == ir::AtomicScope::system ||
      !engine_combines(update.combine, tile.element()))
    return std::nullopt;
  auto const indices = op.all<ir::AtomicUpdateOp>("indices");
  auto const leading = static_cast<std::int64_t>(indices.size()) - tile.rank();
  if (leading < 0) return std::nullopt;
  BoxOffsets offsets;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    auto const axis = static_cast<std::int64_t>(i) - leading;
    if (axis < 0) {
      if (indices[i]->type().is_tile()) return std::nullopt;
      offsets.push_back({indices[i], 0});
      continue;
    }
    if (!indices[i]->type().is_tile()) return std::nullopt;
    auto const index = index_along(*indices[i], axis);
    if (!index || !index->counts) return std::nullopt;
    offsets.push_back(index->first);
  }
  return offsets;
}

}  // namespace tegula::analysis
