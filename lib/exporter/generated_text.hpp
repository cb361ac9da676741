// Writes the C++ text that a program compiles to embed kernels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tegula/abi/compiled_kernel.hpp"
#include "tegula/abi/tuned_table.hpp"
#include "tegula/exporter/exporter.hpp"

namespace tegula::exporter {

/// Holds one compiled form of a kernel.
struct CompiledForm {
  std::string target;                ///< "x86-64-v3", "sm_90a cubin" and the like
  std::string serialised;            ///< the kernel; without its object for the host
  std::vector<std::string> entries;  ///< symbols of a host kernel's phases
  std::size_t code_bytes = 0;        ///< of the object, cubin or PTX
};

struct CompiledConfiguration {
  std::string label;  ///< of one of several kernels; empty: the limits name it
  std::vector<jit::ExportLimit> limits;
  std::vector<CompiledForm> forms;
};

/// Says how launches of a kernel object find it; see aot::LaunchedKernel.
struct LaunchedAs {
  std::string type, place, options;
};

struct CompiledExport {
  std::string name;                    ///< an identifier
  std::string title = {};              ///< in errors; empty: the name
  std::optional<LaunchedAs> launched;  ///< else the header has an object of this name
  std::vector<ParameterInfo> parameters;
  std::vector<CompiledConfiguration> configurations;
  std::vector<TunedTable const*> tables;
};

/// Returns the header: an object `embedded` for each kernel in the namespace `library`, but those that are launched as
/// kernel objects.
std::string header_text(std::string const& library, std::vector<CompiledExport> const& kernels);

/// Returns the source, which includes `header` and holds the tables.
std::string source_text(std::string const& library, std::string const& header,
                        std::vector<CompiledExport> const& kernels);

}  // namespace tegula::exporter
