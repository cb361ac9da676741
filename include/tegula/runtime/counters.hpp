// Counts events of the launcher, for tests and reports.
#pragma once

#include <cstdint>

namespace tegula {

/// Holds numbers of events of this process since it began.
struct LaunchCounters {
  std::int64_t launches = 0;          ///< of kernels, on any device; captured ones too
  std::int64_t maps_encoded = 0;      ///< tensor maps made by the driver
  std::int64_t maps_shared = 0;       ///< tensor maps taken from an earlier encoding
  std::int64_t copies_to_device = 0;  ///< from host memory, by buffers; a launch does not make any
  std::int64_t kernels_loaded = 0;    ///< on devices: cubins and PTX
  std::int64_t kernels_compiled = 0;  ///< by the compiler, for any device; see builds(kernel) for those of one
};
LaunchCounters launch_counters();

}  // namespace tegula
