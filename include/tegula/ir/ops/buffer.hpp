// Defines buffers in shared and in global memory, views of them, and ordinary (generic proxy) accesses. The type says
// the space.
#pragma once

#include "tegula/ir/fields.hpp"

namespace tegula::ir {

/// Allocates a buffer. In shared memory it lives as long as its function runs:
/// `%s = buffer_alloc {align = 1024, offset = 0} : shared<4x128x64xbf16, swizzled(128)>`, or `: mbarrier<4>`. In the
/// outermost block of a function. Shared-memory allocation decides `offset` (-1: not decided), in bytes from the CTA's
/// shared memory. In a device function it counts from the base of the call. Buffers whose live ranges are disjoint may
/// overlap. `align` in bytes, a power of two: at least 8 for mbarriers, 128 for buffers that TMA touches, 256/512/1024
/// under a swizzle of 32/64/128 bytes.
///
/// In global memory, `%g = buffer_alloc {symbol = "log"} : global<4096xi64, dense>`, it is one for all CTAs, zero when
/// the code is loaded, and lives as long as the code. `symbol` names it in the object; empty: it has no name there. In
/// a kernel.
struct BufferAllocOp : OpDefaults<Family::memory> {
  static constexpr std::string_view mnemonic = "buffer_alloc";
  static constexpr auto operands = names();
  static constexpr unsigned traits = unique;
  std::int64_t align = 16;
  std::int64_t offset = -1;
  Symbol symbol;
  static constexpr auto attributes() {
    return fields(field("align", &BufferAllocOp::align, {1, 4096}),
                  field("offset", &BufferAllocOp::offset, bounds::shared_offset),
                  field("symbol", &BufferAllocOp::symbol));
  }
};

/// Ends the life of a buffer: `buffer_dealloc %s`. In the block of its buffer_alloc, once; nothing uses the buffer or a
/// view of it afterwards. Bytes of shared memory may then serve other buffers. A global buffer stays as it is.
struct BufferDeallocOp : OpDefaults<Family::synchronisation, on_host | on_warps> {
  static constexpr std::string_view mnemonic = "buffer_dealloc";
  static constexpr auto operands = names("buffer");
};

/// Returns the box of the result's shape at element offsets, one integer per axis of %s:
/// `%v = view %s, %stage, %row, %col : shared<64x64xbf16, swizzled(128)>`. A result of lower rank takes one element of
/// each leading axis. Its layout is that of %s without the leading axes. Along the other axes offsets are multiples of
/// the result's extents, so that the layout's pattern repeats. Of mbarriers: `%b = view %full, %stage : mbarrier`.
struct ViewOp : OpDefaults<Family::memory, on_host | on_warps> {
  static constexpr std::string_view mnemonic = "view";
  static constexpr auto operands = names("source", "offsets");
  static constexpr unsigned traits = variadic;
};

/// Returns the same bytes with the last two axes swapped: `%t = trans_view %v : shared<64x256xbf16, swizzled_t(128)>`.
struct TransViewOp : OpDefaults<Family::memory, on_host | on_warps> {
  static constexpr std::string_view mnemonic = "trans_view";
  static constexpr auto operands = names("source");
};

/// Loads a view, in shared or in global memory: in `%t = buffer_load %v : tile<64x64xbf16, LAYOUT>` each thread reads
/// the elements that the layout gives it. Layout assignment decides the layout where the type names none. A view of one
/// element also loads as a scalar, `: i32`, by every executing thread.
struct BufferLoadOp : OpDefaults<Family::memory, on_host | on_warps> {
  static constexpr std::string_view mnemonic = "buffer_load";
  static constexpr auto operands = names("source");
  static constexpr unsigned traits = collective;
  static constexpr Effects effects = reads(Space::shared, 0);
};

/// Stores a tile: in `buffer_store %v, %t` each owner of an element (Layout::owner) writes it. A scalar is written to a
/// view of one element, by every executing lane: within an elected region.
struct BufferStoreOp : OpDefaults<Family::memory, on_host | on_warps> {
  static constexpr std::string_view mnemonic = "buffer_store";
  static constexpr auto operands = names("destination", "value");
  static constexpr Effects effects = writes(Space::shared, 0);
};

}  // namespace tegula::ir
