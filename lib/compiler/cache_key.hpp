// Makes the key under which a compiled kernel is kept: text that names every input of the compiler.
#pragma once

#include <string>
#include <string_view>

#include "tegula/abi/compile_options.hpp"

namespace tegula::compiler {

/// Returns lines "field=value" (see support/key_text.hpp):
/// - versions of Tegula (a hash of its sources) and LLVM;
/// - the architecture with the CPU's features;
/// - every compile option, and the passes of the target;
/// - facts per parameter;
/// - the constants of the kernel, captured values among them;
/// - hash and text of the canonical IR, with locations where shows_places says so.
///
/// Equal keys mean equal binaries. tegula-cache compares keys field by field. `ir_hash`: of the text, where the caller
/// has it already.
std::string cache_key(std::string_view ir_text, CompileOptions const& options, std::string_view ir_hash = {});

/// Tells whether code shows source lines that the IR's text without locations lacks: line tables, messages of checks,
/// phases of a profile. Asserts and records of the kernel's author have theirs as attributes. Other code is the same
/// wherever its kernel stands, and is not compiled again when lines move.
bool shows_places(CompileOptions const& options);

/// Names the compiler: the version of Tegula, a hash of its sources, the version of LLVM.
std::string compiler_version();

}  // namespace tegula::compiler
