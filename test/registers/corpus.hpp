// Lists the kernels whose need of registers is measured. All are kept texts: what a generator draws may differ between
// compilers, and changes with the generator.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/op.hpp"
#include "tegula/abi/compile_options.hpp"

namespace tegula::registers {

struct CorpusKernel {
  std::string name;  ///< of the file
  ir::Module module;
  CompileOptions options;
};

/// Returns all names of the corpus; the same on every machine.
std::vector<std::string> names_of_corpus();

/// Reads one kernel. Throws UserError for a name that the corpus does not know.
CorpusKernel corpus_kernel(std::string const& name);

/// Adds `count` products and `count` cases of the pipeline's fuzzer to the corpus, drawn by the seeds from `seed` on.
void draw_kernels(std::uint64_t seed, int count);

/// Tells whether the model may be fitted to a kernel; else it is judged by it. A kernel stays in its half when others
/// come.
bool is_for_fit(std::string_view name);

}  // namespace tegula::registers
