// Checks each op on its own, run by warps: values against its definition, under a few schedules of every kind.
#pragma once

#include <algorithm>

#include "block_support.hpp"

namespace tegula::test {

/// Declares the checks of block_values_test.cpp, block_exchange_test.cpp and block_descriptors_test.cpp: together they
/// run every op.
void check_values();
void check_exchange();
void check_descriptors();

/// Four warps, 256 elements, two adjacent ones per thread.
inline constexpr auto line = "[register (1), lane (2) (4) (8) (16) (32), warp (64) (128)]";
/// 64 x 32 over four warps, 16 rows each; a row lies in four lanes with 8 elements each.
inline std::string const matrix =
    "[register (0,1) (0,2) (0,4) (8,0), lane (0,8) (0,16) (1,0) (2,0) (4,0), warp (16,0) (32,0)]";

/// Makes a kernel of x and y with `body` between the load %a of 256 elements and the store of %r.
inline std::string map_line(std::string const& body, std::string const& element = "f32",
                            std::string const& out = "f32") {
  return "kernel @k(%x: in tensor<?x" + element + ">, %y: out tensor<?x" + out +
         ">) warps = 4 {\n  %0 = constant {value = 0 : i64} : i64\n  %a = load %x, %0 : tile<256x" + element + ", " +
         line + ">\n" + body + "  store %y, %r, %0\n  return\n}\n";
}
inline std::string tile(std::string const& element, std::string const& layout = line) {
  return "tile<256x" + element + ", " + layout + ">";
}

}  // namespace tegula::test
