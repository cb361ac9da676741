// Reads the machine code of warp-specialized kernels, as nvdisasm prints it.
#pragma once

#include <string>
#include <vector>

namespace tegula::registers {

/// Counts what the instructions behind one USETMAXREG use, until they meet another one or end.
struct RoleCode {
  int set = 0;      ///< registers that it sets
  int highest = 0;  ///< registers up to the highest named
  int spills = 0;   ///< loads and stores of local memory
};

/// Returns the roles of a text of nvdisasm, in its order.
std::vector<RoleCode> roles_of(std::string const& text);

}  // namespace tegula::registers
