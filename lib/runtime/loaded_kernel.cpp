#include "runtime/loaded_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/counters.hpp"
#include "tegula/support/error.hpp"

namespace tegula::runtime {

std::shared_ptr<LoadedKernel const> make_loaded(CompiledKernel compiled, LoadedHostKernel host) {
  if (compiled.image_kind != ImageKind::host_object || compiled.phases.size() != host.entries.size())
    throw InternalError(fmt::format("kernel {}: {} phases but {} entries loaded", compiled.name, compiled.phases.size(),
                                    host.entries.size()));
  auto loaded = std::make_shared<LoadedKernel>();
  loaded->paces = std::make_unique<host::Pace[]>(compiled.phases.size());
  loaded->compiled = std::move(compiled);
  loaded->host = std::move(host);
  return loaded;
}

std::shared_ptr<LoadedKernel const> load_on(CompiledKernel compiled, device where) {
  auto loaded = std::make_shared<LoadedKernel>();
  loaded->function = cuda::load(compiled, where.number());
  count(&CounterCells::kernels_loaded);
  loaded->compiled = std::move(compiled);
  loaded->where = where;
  loaded->multiprocessors = where.limits().processors;
  // Groups of multiprocessors whose number is not a multiple of a cluster's CTAs leave some idle.
  if (loaded->compiled.cluster > 1)
    loaded->multiprocessors =
        std::min<std::int64_t>(loaded->multiprocessors, loaded->function.active_clusters * loaded->compiled.cluster);
  return loaded;
}

}  // namespace tegula::runtime
