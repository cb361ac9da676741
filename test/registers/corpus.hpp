// Lists the kernels whose need of registers is measured: kept texts, and cases that generators draw by seeds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/op.hpp"
#include "tegula/abi/compile_options.hpp"

namespace tegula::registers {

struct CorpusKernel {
  std::string name;  ///< of the file, or "<generator> <seed>"
  ir::Module module;
  CompileOptions options;
};

/// Gives all names of the corpus; the same on every machine.
std::vector<std::string> names_of_corpus();

/// Reads or draws one kernel. Throws UserError for a name that the corpus does not know.
CorpusKernel corpus_kernel(std::string const& name);

/// Tells whether the model may be fitted to a kernel; else it is judged by it. A kernel stays in its half when others
/// come.
bool is_for_fit(std::string_view name);

}  // namespace tegula::registers
