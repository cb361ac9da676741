// What may vary between two compilations of one traced kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/support/compiled_kernel.hpp"

namespace tegula {

enum class Target : std::uint8_t { host, cuda };

/// The GPU architectures that kernels can be compiled for.
inline constexpr std::string_view gpu_architectures[] = {"sm_90a"};

/// Every field is part of the cache key.
struct CompileOptions {
  Target target = Target::host;
  std::string architecture;  ///< host: an LLVM CPU name ("znver4", "x86-64-v3"), empty: this machine; cuda: "sm_90a"
  int warps = 0;             ///< cuda: warps per CTA; 0: chosen by the compiler
  int stages = 0;            ///< overrides stages<n> of every loop; 0: as written
  bool exact = false;        ///< cuda: every rounding as written, see tegula/ir/ops/arith.hpp
  std::vector<TensorFacts> facts;  ///< one per parameter (scalars: default); checked by the launcher
  std::string pipeline;            ///< text pipeline in place of the target's own; empty: the target's own
  friend bool operator==(CompileOptions const&, CompileOptions const&) = default;
};

}  // namespace tegula
