// Prefetches into the L2 cache what a kernel reads once the previous kernel has ended.
#pragma once

#include "codegen/nvptx/emitter.hpp"

namespace tegula::codegen::nvptx {

/// Prefetches the boxes of `in` tensors that loads after `wait`, in its block, read at places known before it. A box is
/// one range of memory: from its first element to its last, if it fills a quarter of that at least. The previous kernel
/// may still write it: a prefetch has no value that could be old.
void prefetch_boxes(ir::Op const& wait, Emitter& e);

}  // namespace tegula::codegen::nvptx
