// Foretells the registers that the assembler needs for a kernel. The budget, facts, the plan and limit-registers ask
// this one model.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/core/op.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::analysis {

/// Says what a kernel is foretold to need, and what its threads can have.
struct RegisterNeed {
  /// Names a kernel, or one of the roles that set different registers.
  struct Part {
    int registers = 0;  ///< with fewer ones values go to local memory
    int allowed = 0;
    ir::Value const* largest = nullptr;  ///< value where most is alive; none: only places of copies
  };
  std::vector<Part> parts;  ///< the roles in their order; else the kernel alone

  /// Returns the part that lacks most registers; if none does, the one that needs most.
  [[nodiscard]] Part tightest() const;
  /// Tells whether a part is foretold to need more than it has. Roles take values from each other's past: where one
  /// lacks registers, they go to local memory for all.
  [[nodiscard]] bool spills() const { return tightest().registers > tightest().allowed; }
  /// Tells whether it needs more by more than the model may err.
  [[nodiscard]] bool surely_spills() const;
};

/// Foretells the need of a kernel with layouts: the least limit of registers of a thread with which the assembler keeps
/// no values in local memory. It is fitted to what one assembler was seen to need (test/registers); it does not ask
/// whether one is installed.
RegisterNeed register_need(ir::Function const& kernel, TargetInfo const& target);

/// Foretells the registers of a kernel, of which roles are parts.
int registers_needed(ir::Function const& kernel);
/// Foretells the registers that a partition takes after its setmaxnreg, if that many do not limit it.
int registers_of_role(ir::Block& role);

/// Says what a kernel ahead of layouts does: what the assembler keeps besides tiles differs.
enum class Kernels : std::uint8_t { of_rows, of_wgmma };

/// Asks the same model ahead of layouts, where `cost` returns the registers of a value. It does not
/// know yet which elements layouts keep apart, and which operands of mma.sync are on their way.
int registers_needed(ir::Function const& kernel, Kernels kind, std::function<int(ir::Value const&)> const& cost);

}  // namespace tegula::analysis
