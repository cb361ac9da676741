#include "jit/kernel_cache.hpp"

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/cache_key.hpp"
#include "jit/advice.hpp"
#include "jit/build.hpp"
#include "jit/extent_class.hpp"
#include "jit/fact_sets.hpp"
#include "jit/kernel_memo.hpp"
#include "jit/launch_options.hpp"
#include "jit/profile.hpp"
#include "runtime/argument_check.hpp"
#include "support/locks.hpp"
#include "support/options.hpp"

namespace tegula::jit {
namespace {

/// Holds code that is being made: one thread fills it while others that want the same wait for the mutex.
struct Entry {
  support::Mutex mutex;
  std::shared_ptr<runtime::LoadedKernel const> loaded;
};

/// Holds all code of this process by key and device.
class Entries {
 public:
  std::shared_ptr<Entry> at(std::string const& key) {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Entry>& entry = entries_[key];
    if (!entry) entry = std::make_shared<Entry>();
    return entry;
  }
  void clear() {
    std::lock_guard lock(mutex_);
    entries_.clear();
  }

 private:
  support::Mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries_;
};

/// Holds the code of all kernels. A child of fork() begins with none; launches prepared before keep theirs.
struct Caches {
  Entries entries;
  FactSets fact_sets;
};
constinit support::PerProcess<Caches> all_caches;

Entries& entries() { return all_caches.get().entries; }
FactSets& fact_sets() { return all_caches.get().fact_sets; }

/// Names a kernel, by the hash of its text, with all that makes a build besides the facts of its tensors.
std::string name_of_builds(Traced const& traced, CompileOptions const& options, device where) {
  return traced.hash + " " + where.str() + "\n" + compiler::cache_key("", options);
}

/// Finds the code of a launch. `memo`: the kernel's; null for one that is traced at each launch.
FoundKernel find_kernel(KernelMemo* memo, KernelRef const& given, device where, std::span<Argument const> arguments,
                        GridFrom grid) {
  std::shared_ptr<Traced const> const trace = memo ? memo->trace.get(given, grid) : traced(given, grid);
  ExtentClass const extents(given, *trace, where, arguments);
  KernelRef const& kernel = extents.kernel();
  std::vector<TensorFacts> const facts = runtime::facts_of(arguments);
  KnownCode::Key const known{where, grid, facts, chosen_options(kernel)};
  FoundKernel found;
  if (memo) found = memo->code.find(known);
  if (found.loaded) {
    memo->trace.compare(kernel);
    return found;
  }
  CompileOptions options = launch_options(kernel, where, {});
  options.facts = fact_sets().chosen(name_of_builds(*trace, options, where), facts);
  std::string const key = key_of(*trace, options);
  std::shared_ptr<Entry> const entry = entries().at(key + "device=" + where.str() + "\n");
  {
    std::lock_guard lock(entry->mutex);
    if (!entry->loaded) {
      entry->loaded = build(*trace, where, options, key, found.origin);
      if (support::options().profile.on) save_at_exit(entry->loaded);
    }
    found.loaded = entry->loaded;
  }
  found.require_sites = trace->require_sites(found.loaded->compiled.launch);
  if (memo) memo->code.add(known, found);
  return found;
}

}  // namespace

FoundKernel find_kernel(KernelRef const& kernel, device where, std::span<Argument const> arguments, GridFrom grid) {
  return find_kernel(memo_of(kernel).get(), kernel, where, arguments, grid);
}

std::shared_ptr<runtime::PreparedLaunch const> find_launch(KernelRef const& kernel, device where,
                                                           std::span<Argument const> arguments, GridFrom grid) {
  std::shared_ptr<KernelMemo> const memo = memo_of(kernel);
  RecentLaunches::Key const key{where, grid == GridFrom::launch, kernel.options, arguments};
  if (memo) {
    if (auto found = memo->recent.find(key)) {
      memo->trace.compare(kernel);
      return found;
    }
  }
  FoundKernel const found = find_kernel(memo.get(), kernel, where, arguments, grid);
  auto fresh =
      std::make_shared<runtime::PreparedLaunch const>(found.loaded, arguments, GridOverride{}, *found.require_sites);
  if (memo) memo->recent.add(key, fresh);
  return fresh;
}

int builds_for(KernelRef const& kernel, device where, GridFrom grid) {
  return fact_sets().count(name_of_builds(*traced(kernel, grid), launch_options(kernel, where, {}), where));
}

Builds builds(KernelRef const& kernel) {
  std::shared_ptr<Traced const> const own = traced(kernel, GridFrom::kernel);
  return {fact_sets().count_of(own->hash) + fact_sets().count_of(traced(kernel, GridFrom::launch)->hash), max_builds};
}

void clear_memory_cache() {
  forget_timed_launches();
  forget_memos();
  fact_sets().clear();
  entries().clear();
  forget_extent_classes();
}

Counters counters() { return {traces(), compilations()}; }

}  // namespace tegula::jit
