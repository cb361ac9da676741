// Holds the options that may differ between two compilations of one traced kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/abi/compiled_kernel.hpp"

namespace tegula {

/// Names the processor that code is made for: the CPU of the host, or a GPU through PTX.
enum class Target : std::uint8_t { host, cuda };

/// Switches a decision on or off, or leaves it to the compiler.
enum class Choice : std::uint8_t { automatic, off, on };

/// Selects checks that are compiled into a kernel as asserts with the source line (see lib/doc/debugging.md).
struct Checks {
  /// An index of gather, scatter, an atomic or a load of one element lies outside of the tensor. So does the whole box
  /// of a load or store. -1 as an index of gather, scatter or an atomic leaves the element out, as masks do. A load
  /// that states its pad, and a store with `may_be_outside`, are not checked: they may lie anywhere.
  bool bounds = false;
  bool overflow = false;  ///< an i32 or i64 number from which indices or bounds of loops follow wraps
  bool nan = false;       ///< finite floats give NaN or infinity, in an element that something takes
  [[nodiscard]] constexpr bool any() const { return bounds || overflow || nan; }
  friend bool operator==(Checks const&, Checks const&) = default;
};

/// Holds the options of one compilation. Every field is part of the cache key.
struct CompileOptions {
  Target target = Target::host;
  /// host: an LLVM CPU name ("znver4", "x86-64-v3"), empty: this machine; cuda: see target_info.hpp
  std::string architecture = {};
  int warps = 0;   ///< cuda: warps per CTA, or the nearest number that fits; 0: chosen by the compiler
  int stages = 0;  ///< overrides stages<n> of every loop; 0: as written
  /// cuda: the plan to follow, as explain() prints it: "warps=8,wgmma=4x2,mma=2x4"; empty: the compiler's choice. One
  /// that the kernel cannot follow is refused.
  std::string plan = {};
  /// Takes `warps` and `stages` as they are: where they do not fit, the kernel is refused.
  bool exactly = false;
  bool exact = false;  ///< every rounding as written: no licence of lib/doc/arithmetic.md
  /// A product that only meets sums is not rounded (fma), as in C; automatic: on. Not with `exact`.
  Choice contraction = Choice::automatic;
  int distance = 0;  ///< overrides d of stages<n, d> of every loop, below the depth; 0: as written
  int unroll = 0;    ///< overrides unroll<n> of every loop; 0: as written
  int split = 0;     ///< cuda: CTAs of a cluster that share a product's loop: 2-8, 16; 1: not split; 0: launches choose
  /// cuda: CTAs of a cluster, with tiles one above the other, that share what they fetch: 2 or 4; 0 or 1: not shared
  int share = 0;
  /// Says where the last iterations of a loop run whose reading warps prefetch. They run in a separate loop (automatic,
  /// on), or in the main loop with predicated copies (off).
  Choice epilogue = Choice::automatic;
  Choice persistence = Choice::automatic;     ///< persistent CTAs: each takes tile after tile
  Choice specialization = Choice::automatic;  ///< separate warps for copies
  /// cuda: a persistent CTA runs the loop of a product backwards in every second tile and finds operands in the L2
  /// cache; automatic: off. The order of the terms of a sum then follows from tile and grid. Not with `exact`.
  Choice serpentine = Choice::automatic;
  bool asserts = true;                  ///< false: device_asserts are removed
  bool ranges = false;                  ///< true: a GPU checks stated ranges of loaded scalars; the host does
  bool lines = false;                   ///< true: code names the user's functions and lines, for debuggers
  ProfileOptions profile = {};          ///< what the kernel records of its course, and how
  Checks checks = {};                   ///< added to the kernel, whatever `asserts` says
  std::vector<TensorFacts> facts = {};  ///< one per parameter (scalars: default); checked by the launcher
  std::string pipeline = {};            ///< text pipeline in place of the target's own; empty: the target's own
  friend bool operator==(CompileOptions const&, CompileOptions const&) = default;
};

}  // namespace tegula
