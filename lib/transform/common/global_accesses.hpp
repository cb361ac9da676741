// Names what the accesses of tiles to global memory have in common: loads and stores of boxes, and accesses at indices.
#pragma once

#include "ir/core/families.hpp"

namespace tegula::transform::global_accesses {

/// Tells whether an op accesses elements at indices, several adjacent ones at once if they lie so.
inline bool at_indices(ir::Op const& op) {
  return ir::has_indices(op) && !op.is<ir::CompareExchangeOp>() && !op.is<ir::CpAsyncGatherOp>();
}

/// Returns the tile that a load or gather returns, or that a store, scatter or atomic takes.
inline ir::Value* accessed_tile(ir::Op const& access) {
  return access.is<ir::LoadOp>() || access.is<ir::GatherOp>() ? access.result() : access.in("tile");
}

/// Returns the vector attribute of an access to global memory.
inline std::int64_t& vector_of(ir::Op& access) {
  if (access.is<ir::LoadOp>()) return access.as<ir::LoadOp>().vector;
  if (access.is<ir::StoreOp>()) return access.as<ir::StoreOp>().vector;
  if (access.is<ir::GatherOp>()) return access.as<ir::GatherOp>().vector;
  return access.is<ir::ScatterOp>() ? access.as<ir::ScatterOp>().vector : access.as<ir::AtomicUpdateOp>().vector;
}

/// Tells whether the GPU has an atomic of several adjacent elements.
inline bool has_vectors(ir::AtomicUpdateOp const& op, Element element, TargetInfo const& target) {
  return target.has(Ability::vector_atomics) && op.combine == ir::AtomicCombine::add && is_float(element) &&
         bits(element) <= 32;
}

}  // namespace tegula::transform::global_accesses
