// Joins the facts of a lowered kernel, its plan and the model of the cost into advice: what limits a launch, and which
// remedies the model expects to help.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/launch_cost.hpp"
#include "ir/core/op.hpp"
#include "tegula/abi/advice.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/abi/kernel_paths.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::analysis {

/// Describes a tensor of a launch, with what its remedies name.
struct AdvisedTensor : TensorSize {
  std::string name;
  std::int64_t address_step = 16;  ///< the address is a multiple of so many bytes, at most 16
};

/// Holds what advice is made from.
struct Advised {
  location where;                         ///< of the kernel
  ir::Function const* lowered = nullptr;  ///< as code generation for a GPU takes it; null: for a host
  KernelPaths const& paths;               ///< of it
  Estimate estimate;                      ///< of the launch, from the kernel as traced
  std::vector<AdvisedTensor> tensors;     ///< of each parameter; without extents where it is a scalar
  CompileOptions const& options;
  TargetInfo const* target = nullptr;  ///< null: a host
  int processors = 1;                  ///< or threads of a host
  std::int64_t spill_bytes = -1;       ///< of a thread, as the assembler reports; -1: unknown
};

/// A remedy is named where the model expects it to save this share of the launch's time.
inline constexpr double min_gain = 0.05;

/// Returns the advice for a launch. Each thing that is slow is counted as work of the launch's estimate. Its
/// cost is the time that the launch lasts longer with it: of several that hide each other, that with it alone.
Advice advice(Advised const& about);

}  // namespace tegula::analysis
