// Reads and clears the buffer of records of a loaded kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/loaded_kernel.hpp"
#include "tegula/runtime/stream.hpp"

namespace tegula::runtime {

/// True if the kernel has a buffer of records.
bool has_profile(LoadedKernel const& kernel);

/// Clears the buffer, ordered on the stream.
void clear_profile(LoadedKernel const& kernel, stream const& order);

/// Returns the bytes of the buffer, after all work of the stream before.
std::vector<std::byte> read_profile(LoadedKernel const& kernel, stream const& order);
/// Returns the bytes of the buffer after all work of the device.
std::vector<std::byte> read_profile(LoadedKernel const& kernel);

/// Numbers the next launch in a host kernel's buffer.
void number_launch(LoadedHostKernel const& kernel);

/// Describes the clock of the machine's records: nominal clocks per ns, and clocks that one record costs.
struct RecordClock {
  double clocks_per_ns = 1;
  double record_clocks = 0;
};
/// Returns that of a device; the host measures it at the first call.
RecordClock record_clock(LoadedKernel const& kernel);

}  // namespace tegula::runtime
