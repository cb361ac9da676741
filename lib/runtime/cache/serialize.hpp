// Compiled kernels as bytes, for the disk cache and for kernels embedded at build time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tegula/abi/compiled_kernel.hpp"

namespace tegula::runtime {

/// Changes whenever the bytes below or the meaning of CompiledKernel change.
inline constexpr int serial_format = 3;

/// Little-endian; equal kernels give equal bytes.
std::string serialize(CompiledKernel const& kernel);

/// The kernel, or nothing if the bytes are not exactly one: no input makes it read out of bounds or allocate more than
/// its own size warrants.
std::optional<CompiledKernel> deserialize(std::string_view bytes);

}  // namespace tegula::runtime
