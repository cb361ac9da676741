// Chooses one of several kernels for a launch.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/estimate.hpp"
#include "tegula/jit/launcher.hpp"

namespace tegula::jit {

/// Holds the kernel that a launch takes: the one that was given, or one of several, with the options of the call on top
/// of its own. Tables are asked first; they need no trace. Estimates are remembered. Safe from any thread.
class Chosen {
 public:
  Chosen(KernelRef const& given, std::span<Argument const> arguments, GridOverride const& grid, device where);
  Chosen(Chosen const&) = delete;
  Chosen& operator=(Chosen const&) = delete;

  [[nodiscard]] KernelRef const& kernel() const { return kernel_; }

 private:
  KernelRef kernel_;
  std::optional<CompileOptions> joined_;
};

/// Returns the label of each of several kernels: its own, and "#2" and so on behind one that an earlier kernel has too.
std::vector<std::string> labels_of(KernelRef const& kernels);

/// Refers to one of several kernels, with the options of the call on top of its own, which `joined` then holds.
KernelRef member_of(KernelRef const& kernels, int number, std::optional<CompileOptions>& joined);

/// Says which of several kernels a launch takes, and why.
VariantChoice choose(KernelRef const& kernels, std::span<Argument const> arguments, GridOverride const& grid,
                     device where);

/// Takes the kernel of the least estimate. `near`: the choice of a table for a problem near this one, which is taken
/// unless its estimate is larger than the least by more than estimates err.
VariantChoice choose_by_estimate(KernelRef const& kernels, std::span<Argument const> arguments,
                                 GridOverride const& grid, Executor const& executor,
                                 VariantChoice const* near = nullptr);

}  // namespace tegula::jit
