// The assembler ptxas as an optional subprocess. Needs no GPU and no cuda.h.
#pragma once

#include <string>
#include <string_view>

#include "support/options.hpp"

namespace tegula::runtime::cuda {

/// Path of ptxas: TEGULA_PTXAS if set, else the first in PATH; empty if there is none. A TEGULA_PTXAS that cannot be
/// executed is a UserError.
std::string find_ptxas(support::Options const& options);

struct Assembly {
  std::string cubin;
  std::string log;  ///< registers, spills and warnings (ptxas -v)
};

/// Assembles PTX for an architecture ("sm_90a"). Throws UserError with one line that names the remedies if ptxas is
/// missing, InternalError with its log if it refuses the code.
Assembly assemble(support::Options const& options, std::string_view ptx, std::string_view architecture,
                  std::string_view kernel);

}  // namespace tegula::runtime::cuda
