// Proof by deletion on random kernels: what the cuda pipeline makes of one, without any one of its synchronising ops.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fuzz/pipeline_case.hpp"

namespace tegula::fuzz {

struct Deletions {
  std::string refused;              ///< why the passes do not take the kernel; then nothing was taken out
  std::size_t reported = 0;         ///< ops without which the simulator reports something
  std::size_t too_few = 0;          ///< those without which it does not, executed too rarely to tell
  std::vector<std::string> silent;  ///< those without which it does not, though a ring went round twice
  std::string module;               ///< the text that they stand in
};

/// Takes each op out that says it orders something, and runs the kernel at launches of several kinds: with values that
/// grow along each tensor, so that rescaling branches are taken late; with inputs of one element and of none, so that
/// loops over them have one iteration or none; with small values as the case has them. A persistent kernel has one CTA
/// for several tiles, and two of them at one launch.
Deletions without_each_op(PipelineCase const& given);

}  // namespace tegula::fuzz
