#include "target/gpu_target.hpp"

#include <string>

#include "support/options.hpp"
#include "tegula/support/error.hpp"

namespace tegula::target {

std::string known_targets() {
  std::string known;
  for (TargetInfo const* target : gpu_targets) known += (known.empty() ? "" : ", ") + std::string(target->architecture);
  return known;
}

TargetInfo const& default_target() {
  std::string const& asked = support::options().arch;
  if (TargetInfo const* const found = find_target(asked)) return *found;
  throw UserError("TEGULA_ARCH: no code generation for " + asked + "; the GPU targets are: " + known_targets());
}

TargetInfo const& gpu_target(CompileOptions const& options) {
  if (options.target == Target::host || options.architecture.empty()) return default_target();
  if (TargetInfo const* const found = find_target(options.architecture)) return *found;
  throw UserError("compile: no code generation for " + options.architecture +
                  "; the GPU targets are: " + known_targets());
}

}  // namespace tegula::target
