// Links modules made apart: one defines a function that another only declares.
//
//   function @gelu(%x: tile<64xf32>) -> (tile<64xf32>) noinline        // no body: a declaration
#pragma once

#include "ir/core/op.hpp"
#include "support/diagnostics.hpp"

namespace tegula::ir {

/// Returns every declaration of the module the body that `library` has for it, with the functions that it calls. With
/// an error the module is unchanged. Errors:
/// - a declaration that the library does not define,
/// - a declaration with another signature there,
/// - a needed function that differs from the module's.
support::Diagnostics link(Module& module, Module const& library);

/// Lists `@gelu`, ... : the functions declared and not defined, for messages; empty when all are defined.
std::string undefined_functions(Module const& module);

}  // namespace tegula::ir
