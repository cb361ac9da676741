// What decides a kernel's speed and can be read off its code before it runs, as numbers for tests to pin.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tegula/support/location.hpp"

namespace tegula {

/// How one op of a kernel reaches memory. Figures are those of the warp that pays most.
struct MemoryAccessFacts {
  enum class Kind : std::uint8_t {
    load,          ///< of global memory
    store,         ///< to global memory
    shared_load,   ///< ldmatrix too
    shared_store,  ///< stmatrix too
  };
  Kind kind = Kind::load;
  std::string memory;      ///< name of the tensor or of the shared buffer
  location where;          ///< in the user's source
  int bytes = 0;           ///< that a thread moves with one instruction; 16 is the most
  std::int64_t cost = 0;   ///< global: sectors of 32 bytes that all of a warp's accesses touch; shared: wavefronts
  std::int64_t least = 0;  ///< what the bytes moved need at least
  [[nodiscard]] bool global() const { return kind == Kind::load || kind == Kind::store; }
};

/// Facts of a kernel compiled for a GPU. Of global memory it is taken that rows lie sectors apart and that a tile
/// begins at a sector; tensors without unit inner stride cost a sector an element.
struct KernelFacts {
  std::vector<MemoryAccessFacts> accesses;  ///< in the order of the code
  /// Waits inside loops for what the same iteration has started, with no work between.
  int exposed_waits = 0;
  std::int64_t shared_bytes = 0;  ///< dynamic shared memory per CTA
  int warps = 0;                  ///< per CTA
  /// 32-bit registers of a thread that tiles and scalars need at once, addresses and temporaries not counted.
  int registers_estimated = 0;
  int registers = -1;             ///< as assembled; -1 where there is no ptxas
  std::int64_t spill_bytes = -1;  ///< stored and loaded by spills; -1 where there is no ptxas

  /// Wavefronts of shared memory beyond the least.
  [[nodiscard]] std::int64_t bank_conflicts() const { return beyond_least(false); }
  /// Sectors of global memory beyond the least.
  [[nodiscard]] std::int64_t wasted_sectors() const { return beyond_least(true); }
  /// Bytes of the narrowest access to global memory; 0 without one.
  [[nodiscard]] int narrowest_access() const {
    int result = 0;
    for (MemoryAccessFacts const& access : accesses)
      if (access.global() && (result == 0 || access.bytes < result)) result = access.bytes;
    return result;
  }
  /// A line for each access and one for the rest.
  [[nodiscard]] std::string str() const;

 private:
  [[nodiscard]] std::int64_t beyond_least(bool global) const {
    std::int64_t result = 0;
    for (MemoryAccessFacts const& access : accesses)
      if (access.global() == global) result += access.cost - access.least;
    return result;
  }
};

}  // namespace tegula
