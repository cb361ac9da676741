// Names the path of every load, store and product of compiled code, with the reason, as data that tests can pin.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tegula/support/location.hpp"

namespace tegula {

/// Names the way in which compiled code accesses memory or multiplies.
enum class Path : std::uint8_t {
  tma,          ///< GPU: the TMA engine copies between global and shared memory
  pointer,      ///< GPU: threads access global memory
  wgmma,        ///< GPU: tensor cores multiply for warpgroups, the right operand from shared memory
  mma,          ///< GPU: tensor cores multiply for warps, from registers
  lanes,        ///< GPU: lanes multiply and add
  vector,       ///< host: adjacent elements at once
  element,      ///< host: one element at a time
  contraction,  ///< host: a loop is one product, its operands packed for many iterations at once
  product,      ///< host: each product packs its operands by itself
};

/// Returns "tma", "pointer" and so on.
[[nodiscard]] char const* name(Path path);

/// Says how one access to a tensor is done.
struct AccessPath {
  enum class Kind : std::uint8_t { load, store, gather, scatter, atomic };
  Kind kind = Kind::load;
  Path path = Path::pointer;
  std::string memory;  ///< name of the tensor
  int parameter = -1;  ///< GPU: number of the kernel's parameter; -1: of a function's
  std::string tile;    ///< shape and element that the code accesses, "128x64xbf16"
  location where;      ///< in the user's source
  int bytes = 0;       ///< that an instruction of a thread moves; 0 of copies by TMA
  std::string reason;  ///< why not tma, and why no wider
  std::string fix;     ///< the remedy, if there is one
};

/// Says how one product is done.
struct DotPath {
  Path path = Path::lanes;
  std::string tiles;   ///< rows x columns x depth and the operands' element, "128x256x64xbf16"
  location where;      ///< in the user's source
  std::string reason;  ///< why no better path
  std::string fix;     ///< the remedy, if there is one
};

/// Says how deep a ring of copied tiles is.
struct RingDepth {
  std::string memory;  ///< names of the tensors whose tiles one stage holds
  location where;      ///< of the first load
  int written = 0;     ///< stages that the kernel or an option asks for; 0: none, the compiler chose
  int used = 0;
  std::int64_t stage_bytes = 0;
  std::string reason;  ///< why there are fewer or more than written
};

/// Names a tile that the compiler gave larger extents.
struct PaddedTile {
  std::string tile;     ///< "load x", "store y" with the tensor's name, or "dot"
  std::string written;  ///< "1x1000"; rows, columns and depth of a dot
  std::string used;     ///< "1x1024"
  location where;
};

/// Holds the paths of a kernel's code, in its order. Code that the compiler repeats (before a loop and in it) counts
/// once.
struct KernelPaths {
  std::vector<AccessPath> loads, stores;
  std::vector<AccessPath> indexed;  ///< gathers, scatters and atomics
  std::vector<DotPath> dots;
  std::vector<RingDepth> rings;    ///< GPU only
  std::vector<PaddedTile> padded;  ///< GPU only
  /// GPU only: warps, and path and arrangement of each product, as CompileOptions::plan takes it.
  std::string kernel_plan;
  /// Returns a line for each, indented by so many blanks.
  [[nodiscard]] std::string paths_text(int indent = 0) const;
};

}  // namespace tegula
