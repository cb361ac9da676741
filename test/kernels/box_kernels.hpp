// Defines kernels of block ops that move one box of a tensor through shared memory by TMA, for any number of warps.
// Data and expected results come with them. The tests of the simulator, of PTX and of the device share them.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "kernels/targets.hpp"

namespace tegula::test {

inline constexpr Extents box_shape = {12, 32};
inline constexpr Extents box_tensor = {41, 76};  ///< no multiple of the box along either axis

/// Computes Y = 2 * X inside the box that begins at element (row, column); nothing else of Y is touched. One lane
/// issues both copies; `warps` warps, a divisor of 12, share the rows of the box.
inline std::string box_kernel(int warps) {
  std::string_view const row = "tile<32xf32, [lane (1) (2) (4) (8) (16)]>";
  return fmt::format(R"(tegula-ir 1

kernel @box(%X: in tensor<?x?xf32> {{unit_inner, aligned_16}}, %Y: out tensor<?x?xf32> {{unit_inner, aligned_16}}, %row: i64, %column: i64) warps = {warps} {{
  %k0 = constant {{value = 0 : i64}} : i64
  %rows = constant {{value = 12 : i64}} : i64
  %warps = constant {{value = {warps} : i64}} : i64
  %map_x = tensor_map %X {{box = [12, 32]}} : tensor_map<12x32xf32>
  %map_y = tensor_map %Y {{box = [12, 32]}} : tensor_map<12x32xf32>
  %box = buffer_alloc {{align = 128, offset = 0}} : shared<12x32xf32, dense>
  %full = buffer_alloc {{align = 8, offset = 1536}} : mbarrier
  elect {{
    mbarrier_init %full
    fence_mbarrier_init
    mbarrier_expect %full {{bytes = 1536}}
    tma_load %map_x, %box, %full, %row, %column
    yield
  }}
  barrier
  warp_specialize {{warps = [1], replicas = [{warps}], registers = [0]}} (%w: i64) {{
    mbarrier_wait %full, %k0
    for %r = %w to %rows step %warps {{
      %v = view %box, %r, %k0 : shared<32xf32, dense>
      %x = buffer_load %v : {row}
      %y = add %x, %x : {row}
      buffer_store %v, %y
      yield
    }}
    yield
  }}
  fence_proxy_async
  barrier
  elect {{
    tma_store %map_y, %box, %row, %column
    bulk_commit
    bulk_wait
    yield
  }}
  return
}}
)",
                     fmt::arg("warps", warps), fmt::arg("row", row));
}

/// Copies Y = X inside the box, all by one lane, as a launch of one thread does. A block is a whole warp at least, of
/// which the other 31 lanes do nothing.
inline std::string box_kernel_of_one_lane() {
  return R"(tegula-ir 1

kernel @box(%X: in tensor<?x?xf32> {unit_inner, aligned_16}, %Y: out tensor<?x?xf32> {unit_inner, aligned_16}, %row: i64, %column: i64) warps = 1 {
  %k0 = constant {value = 0 : i64} : i64
  %map_x = tensor_map %X {box = [12, 32]} : tensor_map<12x32xf32>
  %map_y = tensor_map %Y {box = [12, 32]} : tensor_map<12x32xf32>
  %box = buffer_alloc {align = 128, offset = 0} : shared<12x32xf32, dense>
  %full = buffer_alloc {align = 8, offset = 1536} : mbarrier
  elect {
    mbarrier_init %full
    fence_mbarrier_init
    mbarrier_expect %full {bytes = 1536}
    tma_load %map_x, %box, %full, %row, %column
    mbarrier_wait %full, %k0
    tma_store %map_y, %box, %row, %column
    bulk_commit
    bulk_wait
    yield
  }
  return
}
)";
}

/// Describes a kernel of this file, the threads that take part and the factor between X and Y.
struct BoxKernel {
  int threads = 0;
  std::string text;
  double factor = 0;
};
inline std::vector<BoxKernel> box_kernels() {
  return {{1, box_kernel_of_one_lane(), 1}, {32, box_kernel(1), 2}, {128, box_kernel(4), 2}, {384, box_kernel(12), 2}};
}

/// Lists places where boxes begin: inside, at the borders, over them, and past the end.
inline std::vector<std::array<std::int64_t, 2>> box_starts() {
  return {{0, 0}, {12, 32}, {29, 44}, {36, 64}, {40, 72}, {0, 76}, {41, 0}};
}

/// Holds X with a number of its own everywhere, Y poisoned, then the element where the box begins.
inline TargetArguments box_arguments(std::array<std::int64_t, 2> const& start) {
  TargetArguments arguments = {target_detail::tensor("X", Element::f32, box_tensor),
                               target_detail::tensor("Y", Element::f32, box_tensor, true),
                               {"row", false, Element::i64, {}, {}, static_cast<double>(start[0])},
                               {"column", false, Element::i64, {}, {}, static_cast<double>(start[1])}};
  for (std::int64_t i = 0; i < box_tensor.product(); ++i) arguments[0].set_number(i, static_cast<double>(i + 1));
  return arguments;
}

/// Names the errors in Y; empty: the box holds factor * X, and the poison lies everywhere else.
inline std::string box_error(TargetArguments const& arguments, std::array<std::int64_t, 2> const& start,
                             double factor) {
  for (std::int64_t i = 0; i < box_tensor.product(); ++i) {
    std::int64_t const row = i / box_tensor[1] - start[0];
    std::int64_t const column = i % box_tensor[1] - start[1];
    bool const inside = row >= 0 && row < box_shape[0] && column >= 0 && column < box_shape[1];
    double const found = arguments[1].number(i);
    if (inside ? found == factor * arguments[0].number(i) : arguments[1].unwritten(i)) continue;
    return fmt::format("element {}{} is {}", i, inside ? " of the box" : " outside the box", found);
  }
  return {};
}

}  // namespace tegula::test
