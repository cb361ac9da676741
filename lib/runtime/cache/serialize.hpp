// Converts compiled kernels to bytes, for the disk cache and for kernels embedded at build time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tegula/abi/compiled_kernel.hpp"

namespace tegula::runtime {

/// Changes whenever the bytes below or the meaning of CompiledKernel change.
inline constexpr int serial_format = 4;

/// Writes little-endian bytes; equal kernels give equal bytes.
std::string serialize(CompiledKernel const& kernel);

/// Returns the kernel, or nothing if the bytes are not exactly one. It never reads out of bounds or allocates more than
/// the size of the bytes warrants.
std::optional<CompiledKernel> deserialize(std::string_view bytes);

}  // namespace tegula::runtime
