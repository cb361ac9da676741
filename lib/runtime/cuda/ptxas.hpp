// Runs the assembler ptxas as an optional subprocess. Does not need a GPU or cuda.h.
#pragma once

#include <string>
#include <string_view>

#include "support/options.hpp"

namespace tegula::runtime::cuda {

/// Finds ptxas: TEGULA_PTXAS if set, else the first in PATH; empty if there is none. A TEGULA_PTXAS that cannot be
/// executed is a UserError.
std::string find_ptxas(support::Options const& options);

/// Finds nvdisasm: beside ptxas, else the first in PATH; empty if there is none.
std::string find_nvdisasm(support::Options const& options);

/// Identifies an assembler: a hash of the file, and of a script that only calls one, its answer to --version. Computed
/// again when the file has changed; else it only checks the file's dates.
std::string ptxas_identity(std::string const& path);

/// Returns the cache key of the cubin that `assemble` makes; empty without ptxas.
std::string cubin_key(support::Options const& options, std::string_view ptx, std::string_view architecture);

/// Tells whether PTX names source lines, which the assembler keeps if it is asked to.
bool has_lines(std::string_view ptx);

struct Assembly {
  std::string cubin;
  std::string log;  ///< registers, spills and warnings (ptxas -v)
};

/// Assembles PTX for an architecture. Throws UserError with one line that names the remedies if ptxas is
/// missing, InternalError with its log if it refuses the code.
Assembly assemble(support::Options const& options, std::string_view ptx, std::string_view architecture,
                  std::string_view kernel);

/// Returns the machine code (SASS) of a cubin as text. Throws UserError if nvdisasm is missing or refuses the file.
std::string disassemble(support::Options const& options, std::string_view cubin);

}  // namespace tegula::runtime::cuda
