// Reads the path of every load, store and product off lowered IR.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/core/op.hpp"
#include "target/finding.hpp"
#include "tegula/abi/kernel_paths.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::analysis {

/// Says what brings a product by warps to wgmma.
inline constexpr std::string_view remedy_for_wgmma =
    "give wgmma 64 rows for each warpgroup and a right operand that is loaded; of elements of 8 and 32 bits both "
    "operands stored with K last (trans of a loaded N x K tile)";

/// Says what helps against the finding that keeps a product from wgmma, in a few words; empty: nothing particular.
std::string remedy_of_product(target::Finding const& why);

/// Says why a thread moves fewer than 16 bytes at once by a load or a store.
enum class Narrow : std::uint8_t {
  no,         ///< it moves 16
  stride,     ///< the last axis is not known to have stride 1
  alignment,  ///< address and strides are not known to be multiples of 16 bytes
  layout,     ///< it holds fewer adjacent elements
  start,      ///< start and width along the last axis are not known to be multiples of 16 bytes
};
Narrow why_narrow(ir::Op const& access, ir::Type const& tile, int moved_bytes);

/// Returns the name of the tensor or shared buffer behind a value; views lead back to it.
std::string name_of_memory(ir::Value const& value);

/// Returns the paths of a module that the passes have made for a GPU. `source` is the module as traced: extents and
/// products that the passes changed are compared with those at the same source line.
KernelPaths kernel_paths(ir::Module const& lowered, TargetInfo const& target, ir::Module const& source);

}  // namespace tegula::analysis
