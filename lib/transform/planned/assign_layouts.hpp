// Assigns every element of every tile to a thread and a register.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Gives every tile a layout and the kernel its number of warps.
///
///   before: %x = load %a, %i : tile<1024xf32>
///   after:  %x = load %a, %i {vector = 4} : tile<1024xf32, [register (1) (2) (512), lane (4) ..., warp (128) (256)]>
///
/// Tiles that meet in elementwise ops or are carried together share a layout. The largest are decided first. Their
/// layout is blocked:
/// - as many adjacent elements per thread as serve most bytes 16 at once: eight for rows of bf16 beside weights of f32,
///   four for moments of f32 beside parameters of bf16 (offsets by axis facts, tensors by `aligned_16` and
///   `unit_inner`);
/// - lanes along the last axis first;
/// - warps along axes that are not reduced first.
/// A tile whose equal elements are ranked lies in runs: each warp ranks its own, 32 elements at a time.
///
/// Results of reductions and sources of broadcasts are slices of them. Constants, splats and coordinates take the
/// layout of their use, once per layout. A convert_layout stands where two decided layouts meet. Tiles that already
/// have a layout (those of products) keep it, and decide first for the tiles around them. The number of warps stays if
/// it is decided. Functions take and give their tiles in the layouts that their bodies need; callers convert at the
/// call. All functions run on the kernel's warps. Needs: no-dots.  Leaves: a layout on every tile; `vector` on loads
/// and stores; warps.
PassResult assign_layouts(ir::Module& module, PassContext& context);

}  // namespace tegula::transform
