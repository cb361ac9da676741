// Words mistakes of a launch, for the launcher and the simulators alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tegula/abi/limits.hpp"
#include "tegula/support/location.hpp"

namespace tegula::abi {

/// Throws UserError for a negative extent of a kernel's grid.
void check_grid_extent(std::string_view kernel, std::int64_t extent, std::size_t axis, location where = {});

/// Returns whether a tensor may have this extent along an axis.
constexpr bool is_extent(std::int64_t extent) { return extent >= 0 && extent <= max_tensor_extent; }

/// Says why no tensor may have an extent.
std::string text_of_extent(std::int64_t extent, int axis);

/// Words a requirement that does not hold: its message, after the kernel's name if it does not begin with that.
std::string text_of_requirement(std::string_view kernel, std::string_view message);

}  // namespace tegula::abi
