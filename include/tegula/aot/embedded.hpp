// Describes the kernels that a program embeds. The CMake function tegula_kernels() generates these tables while the
// program is built; see tegula/exporter/exporter.hpp for their contents.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tegula/abi/loaded_host_kernel.hpp"
#include "tegula/abi/tuned_table.hpp"

namespace tegula::aot {

/// Holds one compiled form of a kernel, for one target and one set of facts about its tensors.
struct Image {
  char const* bytes;                 ///< a serialised CompiledKernel; that of a host kernel does not hold its object
  std::size_t size;                  ///< in bytes
  HostEntryFunction const* entries;  ///< host: one per phase, linked into the program; else null
  int entry_count;
};

/// Bounds an extent of a tensor argument; parameters and axes count from 0.
struct Limit {
  int parameter;
  int axis;
  std::int64_t max;
};

/// Holds one configuration of a kernel. It serves launches within its limits; without any it serves all.
struct Configuration {
  char const* name;
  Limit const* limits;
  int limit_count;
  Image const* images;  ///< of each target: forms that need more facts first
  int image_count;
};

/// Lists the configurations of a kernel. A launch takes the one that a tuned table names for the nearest problem; where
/// no table is for the device, the first one that serves it.
struct KernelTable {
  char const* name;
  Configuration const* configurations;
  int count;
  TunedTable const* const* tuned;  ///< labels are names of configurations
  int tuned_count;
};

}  // namespace tegula::aot
