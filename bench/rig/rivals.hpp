// Opens rivals that nvcc compiled (bench/rivals) at run time: nothing here needs CUDA's headers or libraries to build.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tegula/runtime/stream.hpp"

namespace tegula::bench {

/// Makes the rival of that name for tensors at these addresses; `sizes` are what its source says. Empty if
/// TEGULA_RIVALS names no library; throws std::runtime_error if it cannot be opened or lacks the rival.
std::function<void(stream const&)> make_rival(std::string const& name, std::vector<void*> const& tensors,
                                              std::vector<std::int64_t> const& sizes);
/// Tells whether TEGULA_RIVALS names a library.
bool rivals_are_named();

}  // namespace tegula::bench
