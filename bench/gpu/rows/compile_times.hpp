// Times the first compilation of a product and of attention, part by part.
#pragma once

#include <functional>

#include "rig/result_file.hpp"
#include "tegula/runtime/device.hpp"

namespace tegula::bench {

/// Compiles without any cache, prints the seconds of each part, and gives each figure to `keep`. Without ptxas the
/// driver of the device assembles; on the host nothing does. Called before other kernels are compiled, the first figure
/// has LLVM's start in it.
void time_compilers(device where, std::function<void(Result const&)> const& keep);

}  // namespace tegula::bench
