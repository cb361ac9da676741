#include "jit/build.hpp"

#include <atomic>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "codegen/host/host.hpp"
#include "compiler/cache_key.hpp"
#include "compiler/compile.hpp"
#include "ir/core/walk.hpp"
#include "ir/text/text.hpp"
#include "runtime/cache/disk_cache.hpp"
#include "runtime/cache/serialize.hpp"
#include "runtime/counters.hpp"
#include "support/diagnostics.hpp"
#include "support/key_text.hpp"
#include "support/locks.hpp"
#include "support/options.hpp"
#include "tegula/support/error.hpp"

namespace tegula::jit {
namespace {

std::atomic<std::int64_t> compile_count = 0;

/// Gives the tile the source line of this kernel: an equal one elsewhere may have had the code compiled.
void name_line(LargestTile& largest, ir::Module const& module) {
  largest.file.clear();
  largest.line = 0;
  int number = 0;
  for (auto const& function : module.functions())
    ir::walk_pre_order(function->body(), [&](ir::Op& op) {
      if (number++ == largest.op && op.where().known()) {
        largest.file = op.where().file();
        largest.line = op.where().line();
      }
      return ir::Walk::advance;
    });
}

/// Reads compiled code from disk, if it is there and nothing is to be dumped.
std::optional<CompiledKernel> from_disk(runtime::DiskCache const& cache, Traced const& traced, std::string const& key,
                                        CompileOptions const& options) {
  if (support::options().must_compile()) return std::nullopt;
  std::optional<std::string> const bytes = cache.find(traced.kernel.name(), "kernel", key);
  if (!bytes) return std::nullopt;
  std::optional<CompiledKernel> kernel = runtime::deserialize(*bytes);
  bool const host = options.target == Target::host;
  if (kernel) name_line(kernel->largest, trace::module(traced.kernel));
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

}  // namespace

std::string key_of(Traced const& traced, CompileOptions const& options) {
  std::string const format = support::KeyText().add("serial_format", runtime::serial_format).str();
  if (compiler::shows_places(options))
    return format + compiler::cache_key(ir::print(trace::module(traced.kernel), {.locations = true}), options);
  return format + compiler::cache_key(traced.text, options, traced.hash);
}

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

CompiledKernel compile(Traced const& traced, CompileOptions const& options) {
  ++compile_count;
  runtime::count(&runtime::CounterCells::kernels_compiled);
  return compiler::compile(trace::module(traced.kernel), options);
}

std::int64_t compilations() { return compile_count; }

}  // namespace tegula::jit
