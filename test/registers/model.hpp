// Gives what the model foretells of a lowered kernel, for the table and its test.
#pragma once

#include <vector>

#include "ir/core/op.hpp"

namespace tegula::registers {

struct RoleEstimate {
  int limit = 0;
  int registers = 0;
};

struct Estimate {
  int kernel = 0;
  bool spills = false;
  bool warns = false;               ///< the budget does
  std::vector<RoleEstimate> roles;  ///< of partitions with a setmaxnreg
};

Estimate estimate_of(ir::Function const& kernel);

}  // namespace tegula::registers
