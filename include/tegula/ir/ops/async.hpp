// Defines asynchronous copies: TMA, bulk copies, cp.async, and the ops that complete them. One lane issues copies
// (elect); all executing threads issue cp_async.
#pragma once

#include "tegula/abi/tensor_map_info.hpp"
#include "tegula/ir/ops/reduce.hpp"

namespace tegula::ir {

template <>
inline constexpr std::array enum_names<Swizzle>{"none"sv, "b32"sv, "b64"sv, "b128"sv};

enum class CachePolicy : std::uint8_t { normal, evict_first, evict_last };
template <>
inline constexpr std::array enum_names<CachePolicy>{"normal"sv, "evict_first"sv, "evict_last"sv};

/// Makes the descriptor of a tensor parameter, encoded on the host at the launch and passed by value:
/// `%m = tensor_map %A {box = [128, 64], swizzle = b128} : tensor_map<128x64xbf16>`. In the outermost block of a
/// kernel. One extent per tensor axis, outermost first; 1 along axes of which a copy takes one element. Rules: see
/// lib/runtime tensor maps. The map of a slice, which the host does not know, is built on the device: build-tensor-maps
/// replaces this op then.
struct TensorMapOp : OpDefaults<Family::symbolic, on_warps> {
  static constexpr std::string_view mnemonic = "tensor_map";
  static constexpr auto operands = names("tensor");
  Extents box;
  Swizzle swizzle = Swizzle::none;
  static constexpr auto attributes() {
    return fields(field("box", &TensorMapOp::box, bounds::box), field("swizzle", &TensorMapOp::swizzle));
  }
};

/// Builds a descriptor in global memory: `build_tensor_map %map, %slice, %home`. It is that of %map, a descriptor by
/// value of the tensor that the slice is of, with the slice's address and extents (tensormap.replace). That of a slice
/// without elements has one, at the tensor's address, which coordinates of copies avoid. The CTA owns the place until
/// free_tensor_map. `%home : shared<1xi64>` takes the address. One lane.
struct BuildTensorMapOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "build_tensor_map";
  static constexpr auto operands = names("map", "slice", "home");
  static constexpr Effects effects = writes(Space::shared, 2);
};

/// Publishes the descriptors that this thread built: `release_tensor_maps`
/// (PTX: fence.proxy.tensormap::generic.release.gpu). Then comes the barrier after which others acquire them.
struct ReleaseTensorMapsOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "release_tensor_maps";
  static constexpr auto operands = names();
};

/// Returns the descriptor that build_tensor_map put into a home: `%d = device_tensor_map %map, %slice, %home :
/// tensor_map<128x64xbf16>`.
struct DeviceTensorMapOp : OpDefaults<Family::memory, on_warps> {
  static constexpr std::string_view mnemonic = "device_tensor_map";
  static constexpr auto operands = names("map", "slice", "home");
  static constexpr Effects effects = reads(Space::shared, 2);
};

/// Lets copies that come after it read a descriptor in global memory: `acquire_tensor_map %d`
/// (PTX: fence.proxy.tensormap::generic.acquire.gpu). Once in a CTA, or more often.
struct AcquireTensorMapOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "acquire_tensor_map";
  static constexpr auto operands = names("map");
};

/// Frees the place of a descriptor: `free_tensor_map %d`, once all copies through it have ended. One lane.
struct FreeTensorMapOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "free_tensor_map";
  static constexpr auto operands = names("map");
};

/// Fetches the box of the result's shape at element offsets, as it lies in shared memory:
/// `%a = fetch %map, %o0, %o1 : shared<128x64xbf16, swizzled(128)>`. It is a value; circular-buffer makes a tma_load of
/// it. That pass decides which buffer holds it, which lane copies it and when the bytes may be used again. Elements
/// outside the tensor are zero. Fetches of one number `ring` above 0 are the same fetch at several places, before a
/// loop and in it. They take turns with one ring. `share`: so many CTAs of the cluster fetch a part each and send it to
/// all; 0: this CTA fetches for itself.
///
/// Instead of a map it takes a tensor with rows at indices: `%a = fetch %tensor, %rows, %k : shared<128x64xbf16, ...>`
/// with `%rows : tile<128x1xi32>`. Row r of the result begins at element (rows[r], k). Along each axis but the last one
/// stands such a tile or a scalar. Threads copy these rows (cp_async_gather).
///
/// From a tensor and scalars alone it takes a box whose rows threads copy by chunks of 16 bytes (cp_async). Where
/// shifted_load reads it, it takes the aligned pieces of 16 bytes that cover the rows of a box: `%a = fetch %tensor,
/// %o0, %o1 : shared<128x72xbf16, ...>` for a box of 128 x 64. Threads copy them then by cp_async_cover.
struct FetchOp : OpDefaults<Family::memory, nowhere> {
  static constexpr std::string_view mnemonic = "fetch";
  static constexpr std::string_view replaced_by = "circular-buffer";
  static constexpr auto operands = names("map", "offsets");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects = reads(Space::global, 0, Proxy::async).completed_by(Completion::later);
  std::int64_t ring = 0;
  std::int64_t share = 0;
  static constexpr auto attributes() {
    return fields(field("ring", &FetchOp::ring, {0, 1 << 20}), field("share", &FetchOp::share, {0, 8}));
  }
};

/// Copies the box of the destination's shape at element offsets, one integer per tensor axis:
/// `tma_load %map, %destination, %mbarrier, %o0, %o1 {multicast = 3}`. As few copies of the map's box as possible make
/// it up, in the order of the destination's layout. A destination of lower rank takes one element of each leading axis.
/// Outside the tensor it writes zeros. Each copy counts its full box on the mbarrier. `multicast`: bit r sends the data
/// and the count to the same offsets of CTA r of the cluster; 0: this CTA.
struct TmaLoadOp : OpDefaults<Family::memory, on_warps> {
  static constexpr std::string_view mnemonic = "tma_load";
  static constexpr auto operands = names("map", "destination", "mbarrier", "offsets");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects =
      reads(Space::shared, 2) | (reads(Space::global, 0, Proxy::async) | writes(Space::shared, 1, Proxy::async))
                                    .completed_by(Completion::mbarrier);
  std::int64_t multicast = 0;
  CachePolicy cache = CachePolicy::normal;
  static constexpr auto attributes() {
    return fields(field("multicast", &TmaLoadOp::multicast, {0, 0xffff}), field("cache", &TmaLoadOp::cache));
  }
};

/// Copies back: `tma_store %map, %source, %o0, %o1`; elements outside the tensor are dropped. Joins the bulk group that
/// the next bulk_commit of this lane closes.
struct TmaStoreOp : OpDefaults<Family::memory, on_warps> {
  static constexpr std::string_view mnemonic = "tma_store";
  static constexpr auto operands = names("map", "source", "offsets");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects =
      (reads(Space::shared, 1, Proxy::async) | writes(Space::global, 0, Proxy::async)).completed_by(Completion::bulk);
};

/// Reduces into global memory: `tma_reduce %map, %source, %o0, %o1 {combine = sum}`. As tma_store, but combines each
/// element with the one in memory, atomically per element and in no order.
struct TmaReduceOp : OpDefaults<Family::memory, on_warps> {
  static constexpr std::string_view mnemonic = "tma_reduce";
  static constexpr auto operands = names("map", "source", "offsets");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects =
      (reads(Space::shared, 1, Proxy::async) | writes(Space::global, 0, Proxy::async).atomic())
          .completed_by(Completion::bulk);
  Combine combine = Combine::sum;
  static constexpr auto attributes() { return fields(field("combine", &TmaReduceOp::combine)); }
};

/// Copies as many adjacent bytes as the destination has, from the element at the offsets:
/// `bulk_load %tensor, %destination, %mbarrier, %o0`. The destination is a dense view and a multiple of 16 bytes;
/// bounds are not tested. Counts its bytes on the mbarrier.
struct BulkLoadOp : OpDefaults<Family::memory, on_warps> {
  static constexpr std::string_view mnemonic = "bulk_load";
  static constexpr auto operands = names("tensor", "destination", "mbarrier", "offsets");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects =
      reads(Space::shared, 2) | (reads(Space::global, 0, Proxy::async) | writes(Space::shared, 1, Proxy::async))
                                    .completed_by(Completion::mbarrier);
};

/// Copies back: `bulk_store %tensor, %source, %o0`, in the lane's bulk group.
struct BulkStoreOp : OpDefaults<Family::memory, on_warps> {
  static constexpr std::string_view mnemonic = "bulk_store";
  static constexpr auto operands = names("tensor", "source", "offsets");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects =
      (reads(Space::shared, 1, Proxy::async) | writes(Space::global, 0, Proxy::async)).completed_by(Completion::bulk);
};

/// Writes a tile to another CTA of the cluster: `peer_store %destination, %t, %mbarrier, %rank`. Each owner of an
/// element (4 bytes) writes it to the same bytes of that CTA (st.async). The mbarrier there counts the bytes as they
/// arrive. The registers are free at once. An ordinary access (generic proxy): a thread that has waited for the phase
/// may read. Executed by all threads that have the tile.
struct PeerStoreOp : OpDefaults<Family::memory, on_warps> {
  static constexpr std::string_view mnemonic = "peer_store";
  static constexpr auto operands = names("destination", "value", "mbarrier", "rank");
  static constexpr Effects effects = writes(Space::shared, 0);
};

/// Closes this lane's bulk group: `bulk_commit`.
struct BulkCommitOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "bulk_commit";
  static constexpr auto operands = names();
};

/// Waits until at most so many of this lane's youngest bulk groups are open: `bulk_wait {pending = 1, read = true}`.
/// With `read` the others have read their sources, else their results are written too.
struct BulkWaitOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "bulk_wait";
  static constexpr auto operands = names();
  std::int64_t pending = 0;
  bool read = false;
  static constexpr auto attributes() {
    return fields(field("pending", &BulkWaitOp::pending, bounds::pending_groups), field("read", &BulkWaitOp::read));
  }
};

/// Prefetches a descriptor: `prefetch_tensor_map %map`, a hint. One lane.
struct PrefetchTensorMapOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "prefetch_tensor_map";
  static constexpr auto operands = names("map");
};

/// Prefetches one box of the map to L2: `tma_prefetch %map, %o0, %o1`, a hint. One lane.
struct TmaPrefetchOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "tma_prefetch";
  static constexpr auto operands = names("map", "offsets");
  static constexpr unsigned traits = variadic;
};

/// Prefetches the box of a tensor at element offsets to L2: `prefetch %tensor, %o0, %o1 {box = [1, 64]}`, a hint. Parts
/// outside of the tensor are left out. One thread asks for the memory from the box's first element to its last.
struct PrefetchOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "prefetch";
  static constexpr auto operands = names("tensor", "offsets");
  static constexpr unsigned traits = variadic;
  Extents box;
  static constexpr auto attributes() { return fields(field("box", &PrefetchOp::box, Bounds{1, 1 << 20})); }
};

/// Copies the box of the destination's shape at element offsets:
/// `cp_async %tensor, %destination, %o0, %o1 {vector = 8}`. It moves chunks of `vector` elements (4, 8 or 16 bytes)
/// along the last axis. Of n executing threads, thread t copies the chunks t, t + n, ... in row-major order. Elements
/// outside the tensor become zero; a chunk lies inside or outside as a whole. Joins the thread's cp.async group.
struct CpAsyncOp : OpDefaults<Family::memory, on_warps> {
  static constexpr std::string_view mnemonic = "cp_async";
  static constexpr auto operands = names("tensor", "destination", "offsets");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects =
      (reads(Space::global, 0) | writes(Space::shared, 1).by(Sharing::chunks)).completed_by(Completion::cp_async);
  std::int64_t vector = 1;
  static constexpr auto attributes() { return fields(field("vector", &CpAsyncOp::vector, {1, 16})); }
};

/// Copies chunks from rows at indices: `cp_async_gather %tensor, %destination, %rows, %k {vector = 8}`. The destination
/// is a matrix of chunks of `vector` elements (4, 8 or 16 bytes), and `%rows : tile<128x8xi32>` has an element for each
/// of them. Chunk (r, c) begins at element (rows[r, c], k + c * vector). Along each axis but the last one stands such a
/// tile or a scalar, at least one tile. Whoever owns an element of the first tile copies its chunk; warps that the
/// layout does not name copy none. k is a multiple of `vector`. Elements outside the tensor become zero. Joins the
/// thread's cp.async group.
struct CpAsyncGatherOp : OpDefaults<Family::memory, on_warps> {
  static constexpr std::string_view mnemonic = "cp_async_gather";
  static constexpr auto operands = names("tensor", "destination", "indices");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects =
      (reads(Space::global, 0) | writes(Space::shared, 1)).completed_by(Completion::cp_async);
  std::int64_t vector = 1;
  static constexpr auto attributes() { return fields(field("vector", &CpAsyncGatherOp::vector, {1, 16})); }
};

/// Copies the aligned pieces of 16 bytes that cover the rows of a box at element offsets:
/// `cp_async_cover %tensor, %destination, %o0, %o1`. The destination is dense, and its rows are 16 bytes longer than
/// the box's: row r begins with the piece that holds the first byte of element (o0 + r, o1). Rows outside the tensor
/// become zero, and so do bytes behind the tensor's last element, which are not read. Bytes in front of the first
/// element may be read, but no piece without a byte of the tensor is; the other bytes around a row have no stated
/// value. Offsets along the last two axes are not negative. Of n executing threads, thread t copies the pieces t, t +
/// n, ... of all rows without their last pieces, in row-major order, then the last pieces likewise. Joins the thread's
/// cp.async group.
struct CpAsyncCoverOp : OpDefaults<Family::memory, on_warps> {
  static constexpr std::string_view mnemonic = "cp_async_cover";
  static constexpr auto operands = names("tensor", "destination", "offsets");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects =
      (reads(Space::global, 0) | writes(Space::shared, 1)).completed_by(Completion::cp_async);
};

/// Loads a box from the pieces that cp_async_cover copied: `%t = shifted_load %pieces, %tensor, %o0, %o1 :
/// tile<128x64xbf16, LAYOUT>`, with the offsets of the copy. Each row begins as many bytes behind the start of its
/// pieces as its first element lies behind a multiple of 16 bytes in memory. Elements outside the tensor are zero.
struct ShiftedLoadOp : OpDefaults<Family::memory, on_warps> {
  static constexpr std::string_view mnemonic = "shifted_load";
  static constexpr auto operands = names("pieces", "tensor", "offsets");
  static constexpr unsigned traits = variadic | collective;
  static constexpr Effects effects = reads(Space::shared, 0).by(Sharing::anywhere);
};

/// Closes each executing thread's group: `cp_async_commit`.
struct CpAsyncCommitOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "cp_async_commit";
  static constexpr auto operands = names();
};

/// Waits until at most so many of each thread's youngest groups are open: `cp_async_wait {pending = 1}`. The data of
/// the others is visible to that thread alone.
struct CpAsyncWaitOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "cp_async_wait";
  static constexpr auto operands = names();
  std::int64_t pending = 0;
  static constexpr auto attributes() {
    return fields(field("pending", &CpAsyncWaitOp::pending, bounds::pending_groups));
  }
};

/// Arrives for each executing thread when its earlier cp.async are done: `cp_async_arrive %mbarrier {counted = true}`.
/// With `counted` the arrivals are among those that init expects (.noinc), else they are added to this phase.
struct CpAsyncArriveOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "cp_async_arrive";
  static constexpr auto operands = names("mbarrier");
  static constexpr Effects effects = reads(Space::shared, 0);
  bool counted = true;
  static constexpr auto attributes() { return fields(field("counted", &CpAsyncArriveOp::counted)); }
};

}  // namespace tegula::ir
