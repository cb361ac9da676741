// Checks compile options in one place, before anything computes with them.
#pragma once

#include "support/diagnostics.hpp"
#include "tegula/abi/compile_options.hpp"

namespace tegula::transform {

/// Lists the options that no kernel can be compiled with: value, allowed ones and remedy. Limits that depend on the
/// kernel are the passes' to check.
support::Diagnostics mistakes_of(CompileOptions const& options);

/// Throws UserError for options that are not sound. Every way to passes, estimates and keys goes through here.
void check_options(CompileOptions const& options);

}  // namespace tegula::transform
