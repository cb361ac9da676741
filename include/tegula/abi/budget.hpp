// Says how much of a GPU a kernel uses and which of its rules it breaks, before any machine code exists.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tegula/support/location.hpp"

namespace tegula {

/// Names a limit or rule that a kernel breaks.
struct BrokenRule {
  /// "shared", "threads", "registers"; "tma: stride" and the like; "compile": the compiler refused before it could
  /// count all.
  std::string name;
  std::string sentence;  ///< the sentence, with the values
  std::string fix;
  location where;      ///< in the user's source
  bool fatal = false;  ///< the kernel cannot run; else it takes a slower path
};

/// Names the tile that takes most registers where a kernel needs most, for reports of spills.
struct LargestTile {
  std::string tile;      ///< "128x256xf32"; empty: none is known
  std::int32_t op = -1;  ///< number of the op that gives it, among all ops as traced; -1: unknown
  std::string file;      ///< its source line
  std::uint32_t line = 0;
  friend bool operator==(LargestTile const&, LargestTile const&) = default;
};

/// Counts the resources of a kernel. Numbers are 0 where the compiler refuses a kernel before they are known; the rule
/// "compile" says why.
struct Budget {
  std::int64_t shared = 0;  ///< bytes of dynamic shared memory per CTA
  std::int64_t shared_allowed = 0;
  int barriers = 0;  ///< mbarriers per CTA
  int threads = 0;   ///< per CTA
  int threads_allowed = 0;
  int registers = 0;  ///< per thread, foretold: of the role that lacks most, or of the kernel
  int registers_allowed = 0;
  LargestTile largest;
  std::vector<BrokenRule> broken;

  [[nodiscard]] bool fits() const {
    for (BrokenRule const& rule : broken)
      if (rule.fatal) return false;
    return true;
  }
  /// Returns a line of numbers and one for each broken rule.
  [[nodiscard]] std::string str() const;
};

}  // namespace tegula
