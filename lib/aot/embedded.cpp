// Chooses the form of an embedded kernel for a launch, loads it once per device, and runs it.
#include <fmt/format.h>

#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "abi/host_plan.hpp"
#include "abi/tensor_facts.hpp"
#include "aot/cpu.hpp"
#include "runtime/argument_check.hpp"
#include "runtime/cache/serialize.hpp"
#include "runtime/explain.hpp"
#include "runtime/prepared_launch.hpp"
#include "runtime/prepared_state.hpp"
#include "runtime/tuned_table.hpp"
#include "support/locks.hpp"
#include "tegula/aot/launch.hpp"
#include "tegula/support/error.hpp"
#include "tegula/support/symbol.hpp"

namespace tegula::aot {
namespace {

/// Holds a form whose code is loaded, with the source lines of its requirements.
struct Loaded {
  std::shared_ptr<runtime::LoadedKernel const> kernel;
  std::vector<location> require_sites;
};

CompiledKernel decoded(KernelTable const& table, Image const& image) {
  std::optional<CompiledKernel> kernel = runtime::deserialize({image.bytes, image.size});
  if (!kernel)
    throw UserError(
        fmt::format("{}: an embedded form of {} bytes is not of this version of Tegula; build the program "
                    "anew with the exporter of the library that it links",
                    table.name, image.size));
  return *std::move(kernel);
}

/// Keeps decoded forms and loaded code of this process.
class Store {
 public:
  CompiledKernel const& compiled(KernelTable const& table, Image const& image) {
    std::lock_guard const lock(mutex_);
    auto const found = compiled_.find(&image);
    return found != compiled_.end() ? found->second : compiled_.emplace(&image, decoded(table, image)).first->second;
  }
  Loaded loaded(KernelTable const& table, Image const& image, device where) {
    CompiledKernel const& code = compiled(table, image);
    std::lock_guard const lock(mutex_);
    Loaded& entry = loaded_[{&image, where.is_host() ? -1 : where.number()}];
    if (entry.kernel) return entry;
    if (where.is_host()) {
      LoadedHostKernel host;
      host.entries.assign(image.entries, image.entries + image.entry_count);
      entry.kernel = runtime::make_loaded(code, std::move(host));
    } else {
      entry.kernel = runtime::load_on(code, where);
    }
    for (Requirement const& requirement : code.launch.requirements)
      entry.require_sites.emplace_back(Symbol(requirement.file).c_str(), requirement.line);
    return entry;
  }

 private:
  support::Mutex mutex_;
  std::map<Image const*, CompiledKernel> compiled_;
  std::map<std::pair<Image const*, int>, Loaded> loaded_;
};

Store& store() {
  static constinit support::PerProcess<Store> all;
  return all.get();
}

bool serves(Configuration const& configuration, std::span<Argument const> arguments) {
  for (Limit const& limit : std::span(configuration.limits, static_cast<std::size_t>(configuration.limit_count)))
    if (arguments[static_cast<std::size_t>(limit.parameter)].extents[limit.axis] > limit.max) return false;
  return true;
}

/// Finds the configuration that the tuned tables name; null where none is for the device.
Configuration const* tuned_configuration(KernelTable const& table, std::span<Argument const> arguments, device where) {
  if (table.tuned_count == 0) return nullptr;
  std::vector<std::int64_t> const problem = runtime::problem_of(arguments);
  for (TunedTable const* const tuned : runtime::serving(
           std::span(table.tuned, static_cast<std::size_t>(table.tuned_count)), runtime::tuned_place(where))) {
    runtime::TunedRow const row = runtime::find_row(*tuned, problem, std::numeric_limits<double>::infinity());
    if (row.choice == nullptr) continue;
    for (Configuration const& configuration : std::span(table.configurations, static_cast<std::size_t>(table.count)))
      if (std::string_view(configuration.name) == row.choice->label) return &configuration;
  }
  return nullptr;
}

/// Says why a form does not run on the device; empty if it does.
std::string why_not(CompiledKernel const& kernel, device where) {
  if (where.is_host() != (kernel.image_kind == ImageKind::host_object)) return "of another kind";
  if (where.is_host()) {
    std::string const missing = missing_here(kernel.architecture);
    return missing.empty() ? "" : "this CPU lacks " + missing;
  }
  return kernel.architecture == where.architecture() ? "" : "of another architecture";
}

/// Tells whether a configuration has code for the device: those of recorded launches have what was launched there.
bool has_code_for(KernelTable const& table, Configuration const& configuration, device where) {
  for (Image const& image : std::span(configuration.images, static_cast<std::size_t>(configuration.image_count)))
    if (why_not(store().compiled(table, image), where).empty()) return true;
  return false;
}

Configuration const& configuration_for(KernelTable const& table, std::span<Argument const> arguments, device where) {
  if (Configuration const* const tuned = tuned_configuration(table, arguments, where)) return *tuned;
  Configuration const* elsewhere = nullptr;
  for (Configuration const& configuration : std::span(table.configurations, static_cast<std::size_t>(table.count))) {
    if (!serves(configuration, arguments)) continue;
    if (table.count == 1 || has_code_for(table, configuration, where)) return configuration;
    if (elsewhere == nullptr) elsewhere = &configuration;
  }
  if (elsewhere != nullptr) return *elsewhere;
  Configuration const& last = table.configurations[table.count - 1];
  for (Limit const& limit : std::span(last.limits, static_cast<std::size_t>(last.limit_count))) {
    std::int64_t const extent = arguments[static_cast<std::size_t>(limit.parameter)].extents[limit.axis];
    if (extent > limit.max)
      throw UserError(
          fmt::format("{}: axis {} of argument {} has {} elements, but the last of {} configurations takes "
                      "up to {}; export one without this limit",
                      table.name, limit.axis, limit.parameter + 1, extent, table.count, limit.max));
  }
  throw InternalError(fmt::format("{}: no configuration serves the launch", table.name));
}

std::string embedded_targets(KernelTable const& table, Configuration const& configuration) {
  std::string text;
  for (Image const& image : std::span(configuration.images, static_cast<std::size_t>(configuration.image_count))) {
    std::string const& architecture = store().compiled(table, image).architecture;
    if (text.find(architecture) == std::string::npos) text += (text.empty() ? "" : ", ") + architecture;
  }
  return text;
}

/// Names the first argument that lacks a fact which the code relies on; empty if there is none.
std::string lacking_fact(CompiledKernel const& kernel, std::span<Argument const> arguments) {
  if (kernel.parameters.size() != arguments.size())
    return fmt::format("{} arguments, not {}", kernel.parameters.size(), arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    TensorFacts const present = runtime::facts_of(arguments[i]), needed = kernel.parameters[i].facts;
    if (!runtime::satisfies(present, needed))
      return fmt::format("an argument {} with {{{}}}, found {{{}}}", i + 1, to_string(needed), to_string(present));
  }
  return "";
}

Image const& image_for(KernelTable const& table, Configuration const& configuration,
                       std::span<Argument const> arguments, device where) {
  std::string lacking, reason;
  for (Image const& image : std::span(configuration.images, static_cast<std::size_t>(configuration.image_count))) {
    CompiledKernel const& kernel = store().compiled(table, image);
    if (std::string why = why_not(kernel, where); !why.empty()) {
      if (where.is_host() && kernel.image_kind == ImageKind::host_object) reason = ", and " + why;
      continue;
    }
    lacking = lacking_fact(kernel, arguments);
    if (lacking.empty()) return image;
  }
  if (!lacking.empty())
    throw UserError(
        fmt::format("{}: no embedded form takes these tensors: the one that needs the least is for {}; copy the tensor "
                    "to a dense buffer, or embed a launch with such a tensor",
                    table.name, lacking));
  throw UserError(
      fmt::format("{}: the program embeds it for {}, not for {} ({}){}; add the architecture to ARCH in "
                  "tegula_kernels()",
                  table.name, embedded_targets(table, configuration), where.str(), where.architecture(), reason));
}

/// Holds all that a launch needs.
struct Found {
  Configuration const* configuration;
  Loaded loaded;
};

Found find(KernelTable const& table, std::span<Argument const> arguments, GridOverride const& grid, device where) {
  Configuration const& configuration = configuration_for(table, arguments, where);
  Image const& image = image_for(table, configuration, arguments, where);
  if (grid.given && store().compiled(table, image).launch.grid[0] >= 0)
    throw UserError(
        fmt::format("{}: a grid was given, but an embedded kernel runs on the grid that its text states; "
                    "leave the grid out",
                    table.name));
  return {&configuration, store().loaded(table, image, where)};
}

std::span<Argument const> span_of(call::ArgumentList arguments) {
  return {arguments.first, static_cast<std::size_t>(arguments.count)};
}

}  // namespace

void launch(stream const& order, KernelTable const& kernel, call::ArgumentList arguments, GridOverride const& grid) {
  Found const found = find(kernel, span_of(arguments), grid, order.where());
  runtime::PreparedLaunch(found.loaded.kernel, span_of(arguments), grid, found.loaded.require_sites).run(order);
}

detail::PreparedState* prepare(device const* where, KernelTable const& kernel, call::ArgumentList arguments,
                               GridOverride const& grid) {
  device const target = where != nullptr ? *where : runtime::place_of(span_of(arguments));
  Found const found = find(kernel, span_of(arguments), grid, target);
  return new runtime::PreparedCode(found.loaded.kernel, span_of(arguments), grid, found.loaded.require_sites);
}

std::string explain(device const* where, KernelTable const& kernel, call::ArgumentList arguments,
                    GridOverride const& grid) {
  device const target = where != nullptr ? *where : runtime::place_of(span_of(arguments));
  Found const found = find(kernel, span_of(arguments), grid, target);
  runtime::PreparedLaunch const launch(found.loaded.kernel, span_of(arguments), grid, found.loaded.require_sites);
  CompiledKernel const& compiled = found.loaded.kernel->compiled;
  std::string const text = fmt::format(
      "kernel {} on {} ({}): embedded, configuration {} of {}: {}\n", kernel.name, target.str(), compiled.architecture,
      found.configuration - kernel.configurations + 1, kernel.count, found.configuration->name);
  HostPlan plan = abi::host_plan(compiled);
  runtime::add_arguments(plan, compiled, span_of(arguments));
  return text + plan.str(2) + runtime::grid_text(launch, grid.given);
}

}  // namespace tegula::aot
