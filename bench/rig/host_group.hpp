// Describes a group of measurements on the host: a processor that kernels are compiled for, and a number of threads.
#pragma once

#include <map>
#include <string>

namespace tegula::bench {

/// Returns OpenBLAS's core type for a group; empty: it chooses. `cpu`: "native", or LLVM's name of a processor. In a
/// process for one turn it is the type that the process for all has found, else the fastest of that processor's.
std::string core_of(std::string const& cpu, bool is_turn);
/// Returns the environment variables of a group.
std::map<std::string, std::string> environment_of(std::string const& cpu, int threads, std::string const& core);

}  // namespace tegula::bench
