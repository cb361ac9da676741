// Parses the assembler's report on a kernel (ptxas -v, or the driver's own assembler under its verbose log), and reacts
// to it. Does not need ptxas or a driver.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/options.hpp"
#include "tegula/abi/compiled_kernel.hpp"

namespace tegula::runtime::cuda {

/// Holds a remark, warning or error other than the figures below: "(C7510) Potential Performance Loss: ..." has code
/// "C7510".
struct AssemblyNote {
  std::string code;  ///< empty if it has none
  std::string text;  ///< without severity and code
  friend bool operator==(AssemblyNote const&, AssemblyNote const&) = default;
};

/// Holds figures in bytes; of several functions the maximum registers, barriers and shared bytes and the sum of the
/// rest.
struct AssemblyReport {
  int registers = 0;  ///< per thread
  int barriers = 0;
  std::int64_t stack_bytes = 0;  ///< frames, spills among them
  std::int64_t spill_store_bytes = 0;
  std::int64_t spill_load_bytes = 0;
  std::int64_t shared_bytes = 0;  ///< static
  std::vector<AssemblyNote> notes;

  [[nodiscard]] std::int64_t spill_bytes() const { return spill_store_bytes + spill_load_bytes; }
  [[nodiscard]] bool spills() const { return stack_bytes != 0 || spill_bytes() != 0; }
};

/// Parses a log. Lines that it does not know become notes, so that nothing is lost.
AssemblyReport parse_assembly_log(std::string_view log);

/// True for the codes C75xx and C76xx: waits and arrivals of wgmma injected, wgmma serialised, setmaxnreg ignored. The
/// code is right but not the requested code.
bool is_grave(AssemblyNote const& note);
/// True for the note that products wait for each other because of a call, as asserts and prints make it.
bool is_of_a_call(AssemblyNote const& note);

/// Throws InternalError or warns, as TEGULA_PTXAS_NOTES says of grave notes and TEGULA_PTXAS_SPILLS of spills and stack
/// frames; of frames alone it does not warn. Of calls, which the kernel's author asked for, it only warns. `largest`:
/// the tile that a text about spills names.
void enforce(support::Options const& options, std::string_view kernel, std::string_view log,
             LargestTile const& largest = {});

}  // namespace tegula::runtime::cuda
