#include "target/gpu_target.hpp"

#include <string>

#include "tegula/support/error.hpp"

namespace tegula::target {

TargetInfo const& gpu_target(CompileOptions const& options) {
  if (options.target == Target::host) return *gpu_targets.front();
  if (TargetInfo const* const found = find_target(options.architecture)) return *found;
  std::string known;
  for (TargetInfo const* target : gpu_targets) known += (known.empty() ? "" : ", ") + std::string(target->architecture);
  throw UserError("compile: no code generation for " + options.architecture + "; the GPU targets are: " + known);
}

}  // namespace tegula::target
