// Runs kernels of one block on executors: the host, simulated warps, and PTX on the tests' machine.
#pragma once

#include <vector>

#include "fuzz/random_ir.hpp"

namespace tegula::fuzz {

/// Returns the memory of all parameters after a run. Throws for what an executor reports besides wrapped indices.
/// `scalars`: the arguments of parameters without memory.
std::vector<Memory> run_on_host(ir::Module const& module, std::vector<Memory> memories,
                                std::vector<ir::Constant> const& scalars);
std::vector<Memory> run_in_warps(ir::Module const& module, std::vector<Memory> memories,
                                 std::vector<ir::Constant> const& scalars);
std::vector<Memory> run_ptx(ir::Module const& module, std::vector<Memory> memories,
                            std::vector<ir::Constant> const& scalars);

}  // namespace tegula::fuzz
