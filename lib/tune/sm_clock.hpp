// Reads the clock of a GPU's multiprocessors through the driver's management library.
#pragma once

#include <optional>

namespace tegula::tuning {

/// Returns the clock in MHz right now; nothing where libnvidia-ml cannot be opened or does not answer.
std::optional<double> sm_clock(int device_number);

}  // namespace tegula::tuning
