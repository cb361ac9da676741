// Holds the constants of the passes that were measured on a GPU, or follow from what its units cost. A target states
// its own values where they were measured there; those here are an H200's. Each line says where a value comes from:
// measured (bench/RESULTS.md, lib/doc/tried.md), computed from another figure, or an estimate.
#pragma once

#include <cstdint>

namespace tegula {

struct Tuning {
  // ---- How many warps, and how products are multiplied (plan-kernel, schedule-dots).

  /// Limits the warps that multiply. Computed: 16 warps leave 128 registers to a thread.
  int max_warps = 16;
  /// Elements of a result of mma for each warp: 32 registers a thread. Estimate.
  std::int64_t elements_per_warp = 1024;
  /// Registers of a thread for both operands of mma, beside its part of the result. Computed: half of 255, where
  /// wgmma holds the large results.
  std::int64_t max_operand_registers = 128;
  /// Registers of a thread for addresses, counters and barriers. Estimate, checked with ptxas 13.0.
  int address_registers = 24;
  /// The same with maxima, sums and scales of rows, in a loop with late products. The same source.
  int row_registers = 32;
  /// Registers beside elements that a thread loads one by one while a product runs. The same source.
  int registers_beside_product = 56;

  // ---- Warps of kernels without products (plan-kernel). Measured: rows of 8192 reach 0.95 of a copy with 8 warps,
  // 0.79 with 16; bf16 rows of 4096 reach 0.99 with 4 warps, 0.95 with 8.

  /// Elements of a thread in small tiles: 32 bytes hide latency.
  std::int64_t small_elements = 8;
  /// In tiles of `medium_tile` elements, and of elements of at most 16 bits.
  std::int64_t medium_elements = 16;
  /// In tiles of `large_tile` elements.
  std::int64_t large_elements = 32;
  /// In tiles of `wide_tile` elements, and in the part of a row that a CTA of a cluster has: the exchanges between
  /// warps are done by fewer of them. Softmax of 131072 bf16, shared by eight CTAs, reaches 0.75 of a copy with 32,
  /// 0.83 with 64 and 0.98 with 128; of 16384, 0.89, 0.93 and 0.97. Measured.
  std::int64_t wide_elements = 128;
  /// Elements of a thread there times ops on the row: cross-entropy and its gradient, with 12 ops, reach 0.64 of a copy
  /// with 128 elements, and 0.69 with 64. Measured.
  std::int64_t wide_work = 1024;
  std::int64_t medium_tile = 4096;
  std::int64_t large_tile = 8192;
  std::int64_t wide_tile = 16384;

  // ---- Copies and rings.

  /// Stages of a ring whose loop states none. Measured: products gain nothing from a fifth one.
  std::int64_t max_stages = 4;
  /// Bytes of a tile that is copied into a ring though neither a product nor stages<n> ask for it: larger ones would
  /// take the room of operands. Estimate.
  std::int64_t max_bytes_beside_products = 16 << 10;
  /// Bytes of shared memory beside tiles, for mbarriers and gaps. Computed.
  std::int64_t shared_reserve = 2 << 10;
  /// Bytes of a staging buffer for stores; rings need the rest. Measured.
  std::int64_t max_staging = 32 << 10;
  /// Staging buffers that take turns. Measured: a third one gains nothing.
  std::int64_t max_staging_buffers = 2;
  /// Bytes of shared memory up to which as many CTAs share a multiprocessor as can. Computed: 32 CTAs of 228 KiB.
  std::int64_t small_shared = 8192;
  /// Registers that consumers need beside their values where a producer asks for more. Estimate.
  int spare_registers = 24;
  /// Registers of a thread that loads tiles element by element, beside them (load-ahead). Checked with ptxas 13.0.
  int registers_beside_loads = 40;

  // ---- The grid (persistent-grid).

  /// Rows of tiles in a group where nothing tells a better number. Measured.
  std::int64_t usual_rows = 8;
  /// CTAs of a persistent kernel of rows that share a multiprocessor: one computes where the other's threads meet.
  /// Measured.
  std::int64_t row_ctas = 2;
  /// Rows on their way to each of them. Measured.
  std::int64_t row_stages = 4;

  /// Bytes of rows of a cluster between the one that is prefetched to L2 and its own: half of those that run at once.
  /// Measured.
  std::int64_t prefetched_ahead = 4 << 20;

  // ---- Registers of kernels that memory limits (limit-registers, raise-loads).

  /// Registers with which 32 warps share a multiprocessor; more warps take turns where fewer would do. Measured.
  int usual_registers = 64;
  /// Kernels with more ops on tiles are limited by arithmetic, whose temporaries take registers, too. Estimate.
  int max_tile_ops = 64;
  /// CTAs of such a kernel with a loop: rows are on their way while others are computed, and two CTAs hide the
  /// exchanges of each other. Measured.
  int max_ctas_with_loops = 2;
  /// Registers of a thread whose loads come early: 28 warps share a multiprocessor. Measured.
  int max_early_registers = 72;
  /// Kernels with more loads hold more tiles than that. Estimate.
  int max_early_loads = 16;

  // ---- When a branch is cheaper than the arithmetic it avoids.

  /// Registers of a thread from which on a test is cheaper than a mask (test-masks). Measured.
  int mask_worth_a_test = 16;
  /// Elements per element of a factor from which on a test is cheaper than products (lower-online-softmax). Measured.
  std::int64_t rescale_worth_a_test = 32;
  /// Quotients per divisor from which on a test and one reciprocal are cheaper (share-reciprocals). Measured.
  std::int64_t quotients_worth_a_test = 16;
  /// Registers of a loaded tile from which on chunks are worth more code (compute-by-chunks). Checked with ptxas 13.0.
  int tile_worth_chunks = 16;
  /// Exponentials, in clocks of their unit, per clock of products from which on warpgroups take turns (take-turns).
  /// Measured with heads of 64 and 128.
  double turns_worth_exponentials = 1.5;

  // ---- Layouts (assign-layouts). Estimates.

  /// Times that a loop repeats an access, in the weights of accesses.
  double loop_weight = 8;
  /// The cost of bytes from L2, over that of bytes from the device's memory.
  double cache_weight = 1. / 16;
};

}  // namespace tegula
