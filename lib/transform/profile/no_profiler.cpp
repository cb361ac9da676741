// Stands for lower-profiling in a build without the profiler.
#include "transform/profile/lower_profiling.hpp"

namespace tegula::transform {

PassResult lower_profiling(ir::Function& function, PassContext& context) {
  if (context.options.profile.any())
    context.diagnostics.error(
        "profile: records are asked for, but this build has no profiler; configure it with -DTEGULA_PROFILER=ON",
        function.where);
  return PassResult::unchanged;
}

}  // namespace tegula::transform
