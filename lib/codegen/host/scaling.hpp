// Recognises plain arithmetic of tegula/math/elementary.hpp that some CPUs do in one instruction with the same bits.
// Other arithmetic is computed as it is written.
#pragma once

#include <optional>

#include "ir/core/op.hpp"

namespace tegula::codegen::host {

/// Holds p * 2^n in f32, rounded once, where `shifted` is n + math::detail::magic_f32 and n an integer of [-151, 129]
/// (or NaN).
struct Scaling {
  ir::Value const* p;
  ir::Value const* shifted;
};
std::optional<Scaling> match_scaling(ir::Op const& op);

/// Holds minuend - n * factor in f32 whose product is exact, so that a fused multiply-add has the same bits.
struct ExactReduction {
  ir::Value const* minuend;
  ir::Value const* n;
  ir::Value const* factor;
};
std::optional<ExactReduction> match_exact_reduction(ir::Op const& op);

}  // namespace tegula::codegen::host
