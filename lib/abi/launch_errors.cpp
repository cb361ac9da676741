#include "abi/launch_errors.hpp"

#include <fmt/format.h>

#include "tegula/support/error.hpp"

namespace tegula::abi {

void check_grid_extent(std::string_view kernel, std::int64_t extent, std::size_t axis, location where) {
  if (extent < 0)
    throw UserError(fmt::format("{}: grid: extent {} of axis {} is negative; give 0 or more", kernel, extent, axis),
                    where);
}

std::string text_of_extent(std::int64_t extent, int axis) {
  if (extent < 0) return fmt::format("extent {} of axis {} is negative; give 0 where there is nothing", extent, axis);
  return fmt::format("axis {} has {} elements, more than the {} that a kernel can index; pass slices of it", axis,
                     extent, max_tensor_extent);
}

std::string text_of_requirement(std::string_view kernel, std::string_view message) {
  return message.starts_with(kernel) ? std::string(message) : fmt::format("{}: {}", kernel, message);
}

}  // namespace tegula::abi
