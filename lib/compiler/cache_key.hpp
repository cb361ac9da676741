// Makes the key under which a compiled kernel is kept: text that names every input of the compiler.
#pragma once

#include <string>
#include <string_view>

#include "tegula/abi/compile_options.hpp"

namespace tegula::compiler {

/// Gives lines "field=value" (see support/key_text.hpp):
/// - versions of Tegula (a hash of its sources) and LLVM,
/// - every compile option, the architecture with the CPU's features,
/// - facts per parameter,
/// - the canonical IR without locations.
///
/// Equal keys mean equal binaries up to source locations.
std::string cache_key(std::string_view ir_text, CompileOptions const& options);

}  // namespace tegula::compiler
