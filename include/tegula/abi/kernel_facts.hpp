// States, as numbers that tests can pin, the properties of compiled code that decide its speed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tegula/abi/host_plan.hpp"
#include "tegula/abi/kernel_paths.hpp"
#include "tegula/support/location.hpp"

namespace tegula {

/// Describes how one op of a kernel accesses memory. Figures are those of the warp with the highest cost.
struct MemoryAccessFacts {
  enum class Kind : std::uint8_t {
    load,          ///< of global memory
    store,         ///< to global memory
    gather,        ///< of global memory at indices; its cost is at most the stated one
    scatter,       ///< to global memory at indices; the same
    atomic,        ///< of a tile; the same
    buffer_load,   ///< ldmatrix too
    buffer_store,  ///< stmatrix too
    exchange,      ///< through shared memory: threads write a tile, then read it in another layout
  };
  Kind kind = Kind::load;
  std::string memory;     ///< name of the tensor, of the shared buffer or of the exchanging op
  location where;         ///< in the user's source
  int bytes = 0;          ///< that a thread moves with one instruction; at most 16
  std::int64_t cost = 0;  ///< global: sectors of 32 bytes that all of a warp's accesses touch; shared: wavefronts
  std::int64_t min = 0;   ///< the minimum cost for the bytes moved
  [[nodiscard]] bool global() const { return kind < Kind::buffer_load; }
};

/// Holds the facts of a kernel compiled for a GPU, and the path of each of its loads, stores and products:
/// `CHECK(facts(k).dots[0].path == Path::wgmma)`. Figures assume of global memory that rows lie sectors apart and that
/// a tile begins at a sector. Tensors without unit inner stride cost a sector an element.
struct KernelFacts : KernelPaths {
  HostPlan plan;                            ///< the way of each tensor to the kernel: by descriptor or by pointer
  std::vector<MemoryAccessFacts> accesses;  ///< in the order of the code
  /// Waits inside loops for work that the same iteration started, with no other work between.
  int exposed_waits = 0;
  std::int64_t shared_bytes = 0;  ///< dynamic shared memory per CTA
  int warps = 0;                  ///< per CTA
  /// 32-bit registers per thread that the assembler is foretold to need.
  int registers_estimated = 0;
  int registers = -1;             ///< as assembled; -1 where there is no ptxas
  std::int64_t spill_bytes = -1;  ///< stored and loaded by spills; -1 where there is no ptxas

  LargestTile largest;             ///< the tile that takes most registers
  std::vector<std::string> notes;  ///< of the assembler besides these figures: "C7510: Potential Performance Loss: ..."

  /// Counts the wavefronts of shared memory beyond the minimum.
  [[nodiscard]] std::int64_t bank_conflicts() const { return beyond_min(false); }
  /// Counts the sectors of global memory beyond the minimum.
  [[nodiscard]] std::int64_t wasted_sectors() const { return beyond_min(true); }
  /// Returns the bytes of the narrowest access to global memory; 0 without one.
  [[nodiscard]] int narrowest_access() const {
    int result = 0;
    for (MemoryAccessFacts const& access : accesses)
      if (access.global() && (result == 0 || access.bytes < result)) result = access.bytes;
    return result;
  }
  /// Returns a line for each path, each argument's plan, each access and the rest.
  [[nodiscard]] std::string str() const;

 private:
  [[nodiscard]] std::int64_t beyond_min(bool global) const {
    std::int64_t result = 0;
    for (MemoryAccessFacts const& access : accesses)
      if (access.global() == global) result += access.cost - access.min;
    return result;
  }
};

}  // namespace tegula
