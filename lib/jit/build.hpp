// Builds the loaded code of a traced kernel: from the cache on disk, else with the compiler. Keeps nothing in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "jit/known_code.hpp"
#include "jit/traced.hpp"
#include "runtime/loaded_kernel.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/runtime/device.hpp"

namespace tegula::jit {

/// Returns the key of a kernel, as the disk cache has it.
std::string key_of(Traced const& traced, CompileOptions const& options);

/// Builds from disk or the compiler, into memory. Says in `origin` from which.
std::shared_ptr<runtime::LoadedKernel const> build(Traced const& traced, device where, CompileOptions const& options,
                                                   std::string const& key, Origin& origin);

/// Compiles without looking into any cache.
CompiledKernel compile(Traced const& traced, CompileOptions const& options);

/// Counts the calls of the compiler since the process began.
std::int64_t compilations();

}  // namespace tegula::jit
