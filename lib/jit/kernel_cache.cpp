#include "jit/kernel_cache.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "analysis/launch_program.hpp"
#include "codegen/host/host.hpp"
#include "compiler/cache_key.hpp"
#include "compiler/compile.hpp"
#include "ir/text.hpp"
#include "jit/fact_sets.hpp"
#include "jit/profile.hpp"
#include "jit/recent_launches.hpp"
#include "jit/stated_grid.hpp"
#include "runtime/argument_check.hpp"
#include "runtime/cache/disk_cache.hpp"
#include "runtime/cache/serialize.hpp"
#include "runtime/counters.hpp"
#include "support/diagnostics.hpp"
#include "support/key_text.hpp"
#include "support/locks.hpp"
#include "support/options.hpp"
#include "tegula/support/error.hpp"
#include "tegula/support/symbol.hpp"
#include "trace/eager.hpp"
#include "trace/traced_kernel.hpp"
#include "transform/check_options.hpp"

namespace tegula::jit {
namespace {

std::atomic<std::int64_t> trace_count = 0;
std::atomic<std::int64_t> compile_count = 0;

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

/// Takes the first line, without its indentation.
std::string_view take_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line;
}

/// Throws the UserError that shows the first line in which two traces of one captureless kernel differ.
void refuse_difference(trace::TracedKernel const& kernel, std::string_view first, std::string_view second) {
  if (first == second) return;
  std::string_view before, now;
  while (before == now) {
    before = take_line(first);
    now = take_line(second);
  }
  throw UserError(fmt::format("kernel '{}': a later trace gave `{}` where the first gave `{}`; a kernel without "
                              "captures is traced once, so every other value that its lambda reads must be constant: "
                              "capture the value in the lambda or make it an arg",
                              kernel.name(), now, before),
                  kernel.where());
}

/// Notes that a kernel's lambda runs on this thread. Lambdas that launch form a chain.
class RunningLambda {
 public:
  explicit RunningLambda(KernelRef const& kernel) : kernel_(kernel), outer_(innermost) {
    int depth = 0;
    for (RunningLambda const* running = outer_; running != nullptr; running = running->outer_, ++depth)
      if (running->is(kernel)) refuse("launches itself while it is traced");
    if (depth >= max_depth) refuse(fmt::format("is launched by {} lambdas, each while another is traced", depth));
    innermost = this;
  }
  ~RunningLambda() { innermost = outer_; }
  RunningLambda(RunningLambda const&) = delete;
  RunningLambda& operator=(RunningLambda const&) = delete;

 private:
  static constexpr int max_depth = 32;

  [[nodiscard]] bool is(KernelRef const& other) const {
    return kernel_.identity != nullptr ? kernel_.identity == other.identity
                                       : kernel_.kernel == other.kernel && kernel_.trace == other.trace;
  }
  [[noreturn]] void refuse(std::string const& mistake) const {
    throw UserError(
        fmt::format("kernel '{}' {}: its lambda only describes a kernel, and is called again for that; "
                    "launch from the program, outside of the lambda",
                    kernel_.name, mistake));
  }

  static thread_local constinit RunningLambda const* innermost;
  KernelRef const& kernel_;
  RunningLambda const* outer_;
};
thread_local constinit RunningLambda const* RunningLambda::innermost = nullptr;

/// Traces a kernel, also where its launch stands in a lambda that the debug device runs.
trace::TracedKernel recorded(KernelRef const& kernel) {
  trace::EagerScope const only_records(nullptr);
  return call_lambda(kernel);
}

std::shared_ptr<Traced const> trace_of(KernelRef const& kernel) {
  ++trace_count;
  return std::make_shared<Traced const>(recorded(kernel));
}

std::shared_ptr<Traced const> variant_of(Traced const& traced) {
  return std::make_shared<Traced const>(with_stated_grid(traced.kernel));
}

/// Remembers the trace of the captureless kernels of one type and name.
class Memo {
 public:
  /// Gives the trace, made by the first caller. The lambda runs without a lock, since it may launch, or wait for a
  /// thread that does: threads that come at once each trace, and all traces must be equal.
  std::shared_ptr<Traced const> traced(KernelRef const& kernel, GridFrom grid, bool* is_first = nullptr) {
    std::shared_ptr<Traced const> own = kept(traced_);
    if (is_first != nullptr) *is_first = !own;
    if (!own) {
      std::shared_ptr<Traced const> const fresh = trace_of(kernel);
      own = keep(traced_, fresh);
      if (own != fresh) refuse_difference(own->kernel, own->text, fresh->text);
    }
    if (grid == GridFrom::kernel) return own;
    std::shared_ptr<Traced const> const variant = kept(with_stated_grid_);
    return variant ? variant : keep(with_stated_grid_, variant_of(*own));
  }

  /// Gives the trace, compared with another one where it is not the first.
  std::shared_ptr<Traced const> traced_again(KernelRef const& kernel, GridFrom grid) {
    bool is_first = false;
    std::shared_ptr<Traced const> result = traced(kernel, grid, &is_first);
    if (!is_first) compare(kernel);
    return result;
  }

  /// Traces once more at the calls 2, 4, 8, 16 and so on, and until the traces are equal again. Under
  /// TEGULA_VERIFY=each it does so at every call. UserError if the result is another kernel, since code of the first
  /// one would run. The number of traces grows with the logarithm of that of calls, so this is always on.
  void compare(KernelRef const& kernel) {
    std::uint64_t const call = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
    bool const due = std::has_single_bit(call) || differs_.load(std::memory_order_relaxed);
    if (!due && !support::options().verify_each) return;
    std::shared_ptr<Traced const> const first = traced(kernel, GridFrom::kernel);
    differs_.store(true, std::memory_order_relaxed);
    refuse_difference(first->kernel, first->text, recorded(kernel).text());
    differs_.store(false, std::memory_order_relaxed);
  }

  RecentLaunches& recent() { return recent_; }

  bool find(KernelRef const& kernel, device where, std::span<TensorFacts const> facts, GridFrom grid,
            FoundKernel& found) const {
    std::shared_lock lock(mutex_);
    for (Variant const& variant : variants_) {
      if (variant.grid != grid || variant.loaded->where != where || !std::ranges::equal(variant.facts, facts)) continue;
      if (!(variant.options == chosen_options(kernel))) continue;
      found.loaded = variant.loaded;
      found.require_sites = variant.require_sites;
      return true;
    }
    return false;
  }

  void add(KernelRef const& kernel, std::span<TensorFacts const> facts, GridFrom grid, FoundKernel const& found) {
    CompileOptions const& options = chosen_options(kernel);
    std::unique_lock lock(mutex_);
    for (Variant const& variant : variants_)
      if (variant.loaded == found.loaded && variant.options == options && std::ranges::equal(variant.facts, facts))
        return;
    variants_.push_back(
        {grid, std::vector<TensorFacts>(facts.begin(), facts.end()), options, found.loaded, found.require_sites});
  }

 private:
  struct Variant {
    GridFrom grid;
    std::vector<TensorFacts> facts;
    CompileOptions options;  ///< as the call stated them
    std::shared_ptr<runtime::LoadedKernel const> loaded;
    std::shared_ptr<std::vector<location> const> require_sites;
  };

  std::shared_ptr<Traced const> kept(std::shared_ptr<Traced const> const& place) {
    std::lock_guard lock(trace_mutex_);
    return place;
  }
  /// Keeps a trace unless there is one; gives the one that is kept.
  std::shared_ptr<Traced const> keep(std::shared_ptr<Traced const>& place, std::shared_ptr<Traced const> fresh) {
    std::lock_guard lock(trace_mutex_);
    if (!place) place = std::move(fresh);
    return place;
  }

  support::Mutex trace_mutex_;
  std::shared_ptr<Traced const> traced_, with_stated_grid_;
  std::atomic<std::uint64_t> calls_ = 1;  ///< the first one makes the trace
  std::atomic<bool> differs_ = false;     ///< at the last comparison
  mutable support::SharedMutex mutex_;
  std::vector<Variant> variants_;
  RecentLaunches recent_;
};

/// Gives the number in the kernel type's own memory, set by the first caller. Numbers are never used again, unlike
/// addresses: a library may be mapped where another one was.
std::uint64_t number_of(std::uint64_t& identity) {
  std::atomic_ref<std::uint64_t> number(identity);
  std::uint64_t known = number.load(std::memory_order_relaxed);
  if (known != 0) return known;
  static constinit std::atomic<std::uint64_t> last = 0;
  std::uint64_t const fresh = ++last;
  return number.compare_exchange_strong(known, fresh, std::memory_order_relaxed) ? fresh : known;
}

/// Holds the memos by the number of the kernel's type and by its name: one lambda may be several kernels.
class Memos {
 public:
  /// Finds the memo; null for a kernel that is traced at each launch.
  std::shared_ptr<Memo> of(KernelRef const& kernel) {
    if (kernel.identity == nullptr) return nullptr;
    std::uint64_t const number = number_of(*kernel.identity);
    {
      std::shared_lock lock(mutex_);
      if (auto const found = memos_.find(number); found != memos_.end())
        for (Named const& memo : found->second)
          if (memo.name == kernel.name) return memo.memo;
    }
    std::unique_lock lock(mutex_);
    std::vector<Named>& of_type = memos_[number];
    for (Named const& memo : of_type)
      if (memo.name == kernel.name) return memo.memo;
    return of_type.emplace_back(Named{kernel.name, std::make_shared<Memo>()}).memo;
  }
  void clear() {
    std::unique_lock lock(mutex_);
    memos_.clear();
  }

 private:
  struct Named {
    std::string name;
    std::shared_ptr<Memo> memo;
  };
  support::SharedMutex mutex_;
  std::unordered_map<std::uint64_t, std::vector<Named>> memos_;
};

/// Holds the caches. A child of fork() begins with empty ones; launches prepared before keep their code.
struct Caches {
  Entries entries;
  FactSets fact_sets;
  Memos memos;
};
constinit support::PerProcess<Caches> all_caches;

Caches& caches() { return all_caches.get(); }

Entries& entries() { return caches().entries; }
FactSets& fact_sets() { return caches().fact_sets; }
Memos& memos() { return caches().memos; }

/// Reads compiled code from disk, if it is there and nothing is to be dumped.
std::optional<CompiledKernel> from_disk(runtime::DiskCache const& cache, Traced const& traced, std::string const& key,
                                        CompileOptions const& options) {
  if (support::options().must_compile()) return std::nullopt;
  std::optional<std::string> const bytes = cache.find(traced.kernel.name(), "kernel", key);
  if (!bytes) return std::nullopt;
  std::optional<CompiledKernel> kernel = runtime::deserialize(*bytes);
  bool const host = options.target == Target::host;
  if (kernel && host == (kernel->image_kind == ImageKind::host_object) &&
      kernel->parameters.size() == traced.kernel.parameters().size())
    return kernel;
  support::report_warning("cache: " + cache.path_of(traced.kernel.name(), "kernel", key) +
                          " holds the kernel of another key; it is replaced");
  return std::nullopt;
}

std::shared_ptr<runtime::LoadedKernel const> load(CompiledKernel compiled, device where) {
  if (where.is_cuda()) return runtime::load_on(std::move(compiled), where);
  LoadedHostKernel code = codegen::load_host(compiled);
  return runtime::make_loaded(std::move(compiled), std::move(code));
}

constinit std::atomic<bool> process_ends = false;

/// Marks that LLVM compiles or loads. Its static objects are made then. The exit of the process destroys them before
/// older ones of the program, so a later use is refused.
class UseOfLlvm {
 public:
  explicit UseOfLlvm(char const* kernel) {
    if (process_ends)
      throw UserError(
          fmt::format("{}: the process is ending, and a kernel that is not in memory cannot be compiled any "
                      "more; launch or prepare it before main returns",
                      kernel));
  }
  ~UseOfLlvm() {
    support::at_exit([] { process_ends = true; });
  }
  UseOfLlvm(UseOfLlvm const&) = delete;
  UseOfLlvm& operator=(UseOfLlvm const&) = delete;
};

/// Builds from disk or the compiler, into memory.
std::shared_ptr<runtime::LoadedKernel const> build(Traced const& traced, device where, CompileOptions const& options,
                                                   std::string const& key, Origin& origin) {
  UseOfLlvm const use(traced.kernel.name());
  runtime::DiskCache const cache(support::options());
  if (std::optional<CompiledKernel> kernel = from_disk(cache, traced, key, options)) {
    try {
      auto loaded = load(*std::move(kernel), where);
      origin = Origin::disk;
      return loaded;
    } catch (Error const& error) {
      support::report_warning(std::string("cache: a kernel cannot be loaded and is compiled again: ") + error.what());
    }
  }
  CompiledKernel compiled = compile(traced, options);
  if (!support::options().must_compile())
    cache.store(traced.kernel.name(), "kernel", key, runtime::serialize(compiled));
  origin = Origin::compiled;
  return load(std::move(compiled), where);
}

std::vector<Traced::Site> sites_of(trace::TracedKernel const& kernel) {
  std::vector<Traced::Site> sites;
  for (Requirement& requirement : analysis::launch_program(trace::module(kernel).kernel()).requirements)
    sites.push_back({std::move(requirement.message), location(Symbol(requirement.file).c_str(), requirement.line)});
  return sites;
}

/// Matches requirements: the compiler may have dropped some that always hold, but keeps their order.
std::shared_ptr<std::vector<location> const> match(std::vector<Traced::Site> const& sites,
                                                   LaunchProgram const& program) {
  auto result = std::make_shared<std::vector<location>>();
  std::size_t at = 0;
  for (Requirement const& requirement : program.requirements) {
    while (at < sites.size() && sites[at].message != requirement.message) ++at;
    result->push_back(at < sites.size() ? sites[at++].where : location());
  }
  return result;
}

}  // namespace

Traced::Traced(trace::TracedKernel from)
    : kernel(std::move(from)), text(kernel.text()), hash(support::hash_hex(text)), sites(sites_of(kernel)) {}

trace::TracedKernel call_lambda(KernelRef const& kernel) {
  RunningLambda const runs(kernel);
  return kernel.trace(kernel.kernel);
}

CompileOptions const& chosen_options(KernelRef const& kernel) {
  static constinit support::Lasting<CompileOptions const> none;
  return kernel.options != nullptr ? *kernel.options : none.get();
}

namespace {

/// Joins the options of the call with those of the environment that serve every target.
CompileOptions options_of_call(KernelRef const& kernel, Target target, std::vector<TensorFacts> facts) {
  support::Options const& environment = support::options();
  CompileOptions options = chosen_options(kernel);
  transform::check_options(options);
  if (options.target != Target::host || !options.architecture.empty() || !options.facts.empty())
    throw UserError(fmt::format(
        "{}: with(options): target, architecture and facts follow from the call; leave them out", kernel.name));
  options.target = target;
  options.exact = options.exact || environment.exact;
  if (environment.uncontracted) options.contraction = Choice::off;
  options.asserts = options.asserts && environment.asserts;
  options.ranges = options.ranges || environment.ranges;
  options.lines = options.lines || environment.lines;
  if (!options.profile.any()) options.profile = profile_of_environment();
  if (!options.checks.any())
    options.checks = {environment.check_bounds, environment.check_overflow, environment.check_nan};
  options.facts = std::move(facts);
  return options;
}

}  // namespace

CompileOptions gpu_launch_options(KernelRef const& kernel, std::string architecture, std::vector<TensorFacts> facts) {
  CompileOptions options = options_of_call(kernel, Target::cuda, std::move(facts));
  options.architecture = std::move(architecture);
  return options;
}

CompileOptions launch_options(KernelRef const& kernel, device where, std::vector<TensorFacts> facts) {
  if (where.is_cuda()) return gpu_launch_options(kernel, where.architecture(), std::move(facts));
  CompileOptions options = options_of_call(kernel, Target::host, std::move(facts));
  options.architecture = support::options().host_cpu;
  return options;
}

std::shared_ptr<Traced const> traced(KernelRef const& kernel, GridFrom grid) {
  if (std::shared_ptr<Memo> const memo = memos().of(kernel)) return memo->traced_again(kernel, grid);
  std::shared_ptr<Traced const> const own = trace_of(kernel);
  return grid == GridFrom::kernel ? own : variant_of(*own);
}

CompiledKernel compile(Traced const& traced, CompileOptions const& options) {
  ++compile_count;
  runtime::count(&runtime::CounterCells::kernels_compiled);
  return compiler::compile(trace::module(traced.kernel), options);
}

std::string key_of(Traced const& traced, CompileOptions const& options) {
  std::string const format = support::KeyText().add("serial_format", runtime::serial_format).str();
  if (options.lines)
    return format + compiler::cache_key(ir::print(trace::module(traced.kernel), {.locations = true}), options);
  return format + compiler::cache_key(traced.text, options, traced.hash);
}

namespace {

/// Names a kernel, by the hash of its text, with all that makes a build besides the facts of its tensors.
std::string name_of_builds(Traced const& traced, CompileOptions const& options, device where) {
  return traced.hash + " " + where.str() + "\n" + compiler::cache_key("", options);
}

}  // namespace

int builds_for(KernelRef const& kernel, device where, GridFrom grid) {
  return fact_sets().count(name_of_builds(*traced(kernel, grid), launch_options(kernel, where, {}), where));
}

Builds builds(KernelRef const& kernel) {
  std::shared_ptr<Traced const> const own = traced(kernel, GridFrom::kernel);
  return {fact_sets().count_of(own->hash) + fact_sets().count_of(traced(kernel, GridFrom::launch)->hash), max_builds};
}

namespace {

/// Finds the code of a kernel. `memo`: the kernel's; null for one that is traced at each launch.
FoundKernel find_kernel(Memo* memo, KernelRef const& kernel, device where, std::span<TensorFacts const> facts,
                        GridFrom grid) {
  FoundKernel found;
  if (memo && memo->find(kernel, where, facts, grid, found)) {
    memo->compare(kernel);
    return found;
  }
  std::shared_ptr<Traced const> const trace = memo ? memo->traced(kernel, grid) : traced(kernel, grid);
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
  found.require_sites = match(trace->sites, found.loaded->compiled.launch);
  if (memo) memo->add(kernel, facts, grid, found);
  return found;
}

}  // namespace

FoundKernel find_kernel(KernelRef const& kernel, device where, std::span<TensorFacts const> facts, GridFrom grid) {
  return find_kernel(memos().of(kernel).get(), kernel, where, facts, grid);
}

std::shared_ptr<runtime::PreparedLaunch const> find_launch(KernelRef const& kernel, device where,
                                                           std::span<Argument const> arguments, GridFrom grid) {
  std::shared_ptr<Memo> const memo = memos().of(kernel);
  RecentLaunches::Key const key{where, grid == GridFrom::launch, kernel.options, arguments};
  if (memo) {
    if (auto found = memo->recent().find(key)) {
      memo->compare(kernel);
      return found;
    }
  }
  FoundKernel const found = find_kernel(memo.get(), kernel, where, runtime::facts_of(arguments), grid);
  auto fresh =
      std::make_shared<runtime::PreparedLaunch const>(found.loaded, arguments, GridOverride{}, *found.require_sites);
  if (memo) memo->recent().add(key, fresh);
  return fresh;
}

void clear_memory_cache() {
  memos().clear();
  fact_sets().clear();
  entries().clear();
}

Counters counters() { return {trace_count, compile_count}; }

}  // namespace tegula::jit
