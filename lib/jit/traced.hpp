// Makes a kernel's IR from its lambda, with the data that every launch of it needs. Keeps nothing (see
// kernel_memo.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tegula/abi/compiled_kernel.hpp"
#include "tegula/jit/launcher.hpp"
#include "trace/traced_kernel.hpp"

namespace tegula::jit {

/// Says where a kernel's grid comes from: its own text, or the launch (see stated_grid.hpp).
enum class GridFrom : std::uint8_t { kernel, launch };

/// Holds a traced kernel with the data that every launch of it needs.
struct Traced {
  explicit Traced(trace::TracedKernel kernel);

  /// Returns this kernel's source lines for the requirements of code that was compiled for an equal kernel.
  [[nodiscard]] std::shared_ptr<std::vector<location> const> require_sites(LaunchProgram const& compiled) const;

  trace::TracedKernel kernel;
  std::string text;  ///< canonical IR without locations
  std::string hash;  ///< of the text
  /// Holds message and source line of each requirement, in program order.
  struct RequireSite {
    std::string message;
    location where;
  };
  LaunchProgram launch;     ///< of the kernel's text
  bool multiplies = false;  ///< it has products in loops
  std::vector<RequireSite> sites;
};

/// Calls the kernel's lambda, and what it launches; the only way to do so. Throws UserError for a lambda that launches
/// its own kernel. The caller holds no lock.
trace::TracedKernel call_lambda(KernelRef const& kernel);

/// Traces a kernel, also where its launch stands in a lambda that the debug device runs.
trace::TracedKernel record(KernelRef const& kernel);
/// Does the same for the first trace of a kernel, which is counted.
std::shared_ptr<Traced const> trace_of(KernelRef const& kernel);
/// Returns the same kernel with the grid that a launch states.
std::shared_ptr<Traced const> variant_of(Traced const& traced);

/// Counts the calls of trace_of since the process began.
std::int64_t traces();

}  // namespace tegula::jit
