// Simulates a kernel on small tensors of its own: the records make the timeline of its page.
#pragma once

#include <span>
#include <string>

#include "jit/traced.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/runtime/argument.hpp"

namespace tegula::jit {

/// Holds the records of a simulated launch.
struct SimulatedRecords {
  Profile records;   ///< in virtual time; empty: there are none
  std::string note;  ///< extents and contents of the tensors, or the reason why there are no records
};

/// Runs a kernel for a GPU in the simulator, warp by warp in virtual time, with the compiler's records and those of its
/// author. Takes tensors of zeros with the strides' order of `arguments`, and their extents, or less: what takes long
/// is cut. Does not throw: kernels that cannot run say why.
SimulatedRecords simulate_records(Traced const& source, CompileOptions options, std::span<Argument const> arguments);

/// Cuts the extents above `most`, a power of two, or above less, so that tensors have few elements; and the leading
/// axes of three and more, if that does not suffice. Tensors stay as dense and as aligned as they are.
std::vector<Argument> cut(std::span<Argument const> arguments, std::int64_t most);

}  // namespace tegula::jit
