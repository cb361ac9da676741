// Modules made apart: a function that one only declares is defined by another.
//
//   function @gelu(%x: tile<64xf32>) -> (tile<64xf32>) noinline        // no body: a declaration
#pragma once

#include "ir/op.hpp"
#include "support/diagnostics.hpp"

namespace tegula::ir {

/// A function without a body. Passes and executors take modules without any.
bool is_declaration(Function const& function);

/// A copy of the function at the end of a module that has none of its name.
Function& add_copy(Module& module, Function const& function);

/// Equality of all but the functions' names, the names of their values and locations.
bool equal_but_name(Function const& a, Function const& b);

/// Gives every declaration of the module the body that `library` has for it, with the functions which that calls.
/// Errors: a declaration that the library does not define, one of another signature there, a function that it needs and
/// the module has otherwise. With an error the module is as it was.
support::Diagnostics link(Module& module, Module const& library);

/// `@gelu`, ... : what is declared and not defined, for messages; empty when all is.
std::string undefined_functions(Module const& module);

}  // namespace tegula::ir
