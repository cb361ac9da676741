// Finds tiles that lie in shared memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "ir/core/op.hpp"
#include "ir/core/walk.hpp"

namespace tegula::transform {

/// Returns the fetched tile that a tile was loaded from, with its two axes swapped if `transposed`; null: none.
struct FetchedOperand {
  ir::Value* view = nullptr;
  bool transposed = false;
};

inline FetchedOperand fetched_operand(ir::Value const& tile) {
  ir::Op* const op = tile.defining_op();
  if (op == nullptr) return {};
  if (op->is<ir::BufferLoadOp>()) return {op->in<ir::BufferLoadOp>("source"), false};
  if (!op->is<ir::TransOp>()) return {};
  FetchedOperand source = fetched_operand(*op->in<ir::TransOp>("tile"));
  if (op->as<ir::TransOp>().permutation == Extents{1, 0}) source.transposed = !source.transposed;
  return source;
}

/// Tells whether threads copy the tile, instead of the TMA engine: a box, rows at indices, or the pieces that cover the
/// rows of a box.
inline bool threads_copy(ir::Op const& fetch) { return fetch.in<ir::FetchOp>("map")->type().is_tensor(); }

/// Tells whether threads copy rows at indices.
inline bool fetches_rows(ir::Op const& fetch) {
  auto const offsets = fetch.all<ir::FetchOp>("offsets");
  return threads_copy(fetch) &&
         std::any_of(offsets.begin(), offsets.end(), [](ir::Value const* at) { return at->type().is_tile(); });
}

/// Counts the bytes that a thread copies at once.
inline constexpr std::int64_t chunk_bytes = 16;

/// Tells whether threads copy the aligned pieces that cover the rows of a box: shifted loads read them.
inline bool fetches_pieces(ir::Op const& fetch) {
  auto const& uses = fetch.result()->uses();
  return threads_copy(fetch) &&
         std::any_of(uses.begin(), uses.end(), [](ir::Use const& use) { return use.user->is<ir::ShiftedLoadOp>(); });
}

/// Tells whether a value only leads to indices of rows that threads copy, through pure ops.
inline bool leads_to_rows(ir::Value const& value) {
  auto const& uses = value.uses();
  return !uses.empty() && std::all_of(uses.begin(), uses.end(), [](ir::Use const& use) {
    if (use.user->is<ir::FetchOp>()) return true;
    return use.user->result_count() == 1 && use.user->block_count() == 0 && use.user->pure() &&
           leads_to_rows(*use.user->result());
  });
}

/// Returns the axis along which `share` CTAs fetch parts of a tile, each of whole boxes; nothing: there is none. Rows
/// of the swizzle's pattern stay together, and parts of other extents than powers of two do not lie alike in memory.
inline std::optional<int> shared_axis(Extents const& tile, Extents const& box, std::int64_t share) {
  constexpr std::int64_t rows_of_pattern = 8;
  for (int axis = tile.size() - 1; axis >= 0; --axis) {
    std::int64_t const part = tile[axis] / share, unit = box[box.size() - tile.size() + axis];
    bool const power = std::has_single_bit(static_cast<std::uint64_t>(tile[axis]));
    bool const whole = power && tile[axis] % share == 0 && part > 0 && part % unit == 0;
    if (whole && (axis == tile.size() - 1 || part % rows_of_pattern == 0)) return axis;
  }
  return std::nullopt;
}

/// Numbers the fetches of a loop that is about to be copied, so that a fetch and its copies share a ring.
inline void number_fetches(ir::Op& loop) {
  std::int64_t max = 0;
  ir::walk(*loop.function(), [&](ir::Op& op) {
    if (op.is<ir::FetchOp>()) max = std::max(max, op.as<ir::FetchOp>().ring);
  });
  for (int b = 0; b < loop.block_count(); ++b)
    ir::walk(loop.block(b), [&](ir::Op& op) {
      if (op.is<ir::FetchOp>() && op.as<ir::FetchOp>().ring == 0) op.as<ir::FetchOp>().ring = ++max;
    });
}

}  // namespace tegula::transform
