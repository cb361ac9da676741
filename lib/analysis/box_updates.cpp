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

/// Returns the number that all elements of a tile are. Nothing if they may differ.
std::optional<BoxOffset> common_number(Value const& tile) {
  Op const* op = tile.defining_op();
  while (op != nullptr && op->is<ir::BroadcastOp>()) op = op->operand()->defining_op();
  if (op == nullptr) return std::nullopt;
  if (op->is<ir::SplatOp>()) return BoxOffset{op->operand(), 0};
  if (!op->is<ir::ConstantOp>()) return std::nullopt;
  return BoxOffset{nullptr, static_cast<std::int64_t>(op->as<ir::ConstantOp>().value.bits)};
}

/// Returns the number from which a tile of indices counts an axis. Nothing if it does not count it.
std::optional<BoxOffset> first_along(Value const& tile, std::int64_t axis) {
  BoxOffset first;
  Value const* at = &tile;
  for (Op const* op = at->defining_op(); op != nullptr && at->type().element() == Element::i64;
       op = at->defining_op()) {
    if (op->is<ir::IotaOp>()) return op->as<ir::IotaOp>().axis == axis ? std::optional(first) : std::nullopt;
    if (op->is<ir::BroadcastOp>()) {
      at = op->operand();
      continue;
    }
    if (!op->is<ir::AddOp>()) return std::nullopt;
    auto const left = common_number(*op->lhs()), right = common_number(*op->rhs());
    if (left.has_value() == right.has_value()) return std::nullopt;
    BoxOffset const more = left ? *left : *right;
    at = left ? op->rhs() : op->lhs();
    if (more.is_zero()) continue;
    if (!first.is_zero()) return std::nullopt;
    first = more;
  }
  return std::nullopt;
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
    auto const first = first_along(*indices[i], axis);
    if (!first) return std::nullopt;
    offsets.push_back(*first);
  }
  return offsets;
}

}  // namespace tegula::analysis
