// Broadcasts the old values returned by an atomic to every thread whose layout holds them.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Moves used results of atomics through shared memory where several threads hold an element, as only its owner makes
/// the change. Makes atomics of scalars, which one thread of a CTA executes, from tiles of one element.
///
///   before: %old = atomic_update %counter, %n, %i0 : i32
///   after:  %s = buffer_alloc : shared<1xi32, dense>
///           %t = splat %n : tile<1xi32, LAYOUT>
///           %u = atomic_update %counter, %t, %i0 : tile<1xi32, LAYOUT>
///           buffer_store %s, %u
///           %old = buffer_load %s : i32
///
/// Needs: layouts. Leaves: no promise.
///
/// Order: free after limit-registers, whose kernels have no atomics.
PassResult share_atomic_results(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
