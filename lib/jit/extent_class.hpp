// Tells classes of extents apart: a launch whose blocks do not fill a GPU takes another plan of the same kernel.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "analysis/launch_cost.hpp"
#include "jit/traced.hpp"

namespace tegula::jit {

/// Returns the CTAs that share each tile of a launch, by the model of the cost: 1, 2, 4 or 8. So a kernel has at most
/// four plans. Not shared are tiles that fill the multiprocessors, and kernels whose products cannot be
/// (split-products).
int chosen_split(Traced const& traced, std::span<Argument const> arguments, CompileOptions const& options,
                 analysis::Executor const& executor);

/// Holds the kernel that a launch of these arguments takes: as it was given, or with the split of its class of extents.
/// Options that state how products are shared, or in which order sums are added, keep a kernel as it is: `split`,
/// `share`, `exact`, `plan`, `pipeline`. So is one of several kernels: those are measured and chosen with the splits
/// that they state. Choices are remembered. Safe from any thread.
class ExtentClass {
 public:
  /// `arguments`: with the grid, where the launch states one.
  ExtentClass(KernelRef const& kernel, Traced const& traced, device where, std::span<Argument const> arguments);
  ExtentClass(ExtentClass const&) = delete;
  ExtentClass& operator=(ExtentClass const&) = delete;

  [[nodiscard]] KernelRef const& kernel() const { return kernel_; }
  [[nodiscard]] int split() const { return split_; }

 private:
  KernelRef kernel_;
  int split_ = 1;
  std::optional<CompileOptions> options_;
};

/// Forgets the choices; for tests.
void forget_extent_classes();

}  // namespace tegula::jit
