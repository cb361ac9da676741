#include "exporter/recorded_launches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "abi/pass_options.hpp"
#include "jit/choose.hpp"
#include "jit/extent_class.hpp"
#include "jit/kernel_memo.hpp"
#include "jit/launch_options.hpp"
#include "runtime/argument_check.hpp"
#include "runtime/tuned_table.hpp"
#include "support/identifier.hpp"
#include "tegula/support/error.hpp"

namespace tegula::exporter {
namespace {

constexpr std::string_view not_split = "not split";

std::string place_of(location const& where) {
  if (!where.known()) return "";
  std::string_view const file = where.file();
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), where.line());
}

/// Refuses kernels that the program with the embedded code cannot name or would confuse.
void check_key(jit::KernelRef const& kernel) {
  std::string_view const type = kernel.type;
  if (kernel.captures)
    throw UserError(
        fmt::format("{}: the lambda captures values, which the build cannot know; make them arg<T> or "
                    "template parameters",
                    kernel.name));
  if (type.empty())
    throw UserError(
        fmt::format("{}: the program is compiled without the names of types; leave out -fno-rtti", kernel.name));
  if (type.find("$_") != std::string_view::npos)
    throw UserError(
        fmt::format("{}: the lambda's type has no name outside of its file; define the kernel in a header "
                    "as `inline constexpr auto`",
                    kernel.name));
}

int count_facts(std::vector<TensorFacts> const& facts) {
  int count = 0;
  for (TensorFacts const& of_one : facts) count += of_one.unit_inner_stride + of_one.aligned_16 + of_one.whole_16;
  return count;
}

std::string about(std::vector<TensorFacts> const& facts) {
  int const count = count_facts(facts);
  return count == 0 ? "any tensors" : fmt::format("tensors with {} facts", count);
}

}  // namespace

void RecordedLaunches::begin(std::string architecture) {
  architecture_ = std::move(architecture);
  launches_ = 0;
  jit::forget_extent_classes();  // they know a device by its number
}

RecordedLaunches::Kernel& RecordedLaunches::kernel_of(jit::KernelRef const& kernel) {
  Kernel key{kernel.name, kernel.type, place_of(kernel.where), abi::changed_options(chosen_options(kernel))};
  for (Kernel& known : kernels_)
    if (known.type == key.type && known.place == key.place && known.options == key.options) return known;
  return kernels_.emplace_back(std::move(key));
}

RecordedLaunches::Configuration& RecordedLaunches::configuration_of(Kernel& kernel, std::string const& label,
                                                                    jit::KernelRef const& member) {
  check_key(member);
  std::shared_ptr<jit::Traced const> const source = jit::traced(member);
  CompileOptions const& options = chosen_options(member);
  for (Configuration& known : kernel.configurations) {
    if (known.label != label) continue;
    if (known.source->hash == source->hash && known.options == options) return known;
    throw UserError(
        fmt::format("{}: two kernels that are launched have the type {} and the label '{}', but other text or options; "
                    "embedded kernels are found by these: define them in one header, under different names",
                    member.name, kernel.type, label));
  }
  return kernel.configurations.emplace_back(label, source, options, std::vector<Form>());
}

void RecordedLaunches::add_form(Configuration& configuration, std::span<Argument const> arguments) const {
  Form form{architecture_, runtime::facts_of(arguments)};
  if (std::ranges::find(configuration.forms, form) == configuration.forms.end())
    configuration.forms.push_back(std::move(form));
}

void RecordedLaunches::add(jit::KernelRef const& kernels, std::span<Argument const> arguments, GridOverride const& grid,
                           device where) {
  ++launches_;
  Kernel& kernel = kernel_of(kernels);
  auto const check_grid = [&](jit::Traced const& source) {
    if (grid.given && source.launch.grid[0] >= 0)
      throw UserError(
          fmt::format("{}: a grid was given, but an embedded kernel runs on the grid that its text states; "
                      "leave the grid out",
                      kernel.name));
  };
  if (kernels.members == 0) {
    std::shared_ptr<jit::Traced const> const source = jit::traced(kernels);
    check_grid(*source);
    jit::ExtentClass const extents(kernels, *source, where, arguments);
    std::string const label =
        extents.split() == 1 ? std::string(not_split) : fmt::format("split = {}", extents.split());
    add_form(configuration_of(kernel, label, extents.kernel()), arguments);
    kernel.problems[architecture_].emplace(runtime::problem_of(arguments), label);
    return;
  }
  std::vector<std::string> const labels = jit::labels_of(kernels);
  for (int i = 0; i < kernels.members; ++i) {
    std::optional<CompileOptions> joined;
    jit::KernelRef const member = jit::member_of(kernels, i, joined);
    Configuration& configuration = configuration_of(kernel, labels[static_cast<std::size_t>(i)], member);
    check_grid(*configuration.source);
    add_form(configuration, arguments);
  }
  kernel.tables.clear();
  for (TunedTable const* table : kernels.tables)
    if (table != nullptr) kernel.tables.push_back(table);
}

std::vector<TunedTable const*> RecordedLaunches::tables_of(Kernel const& kernel) {
  std::vector<TunedTable const*> result = kernel.tables;
  if (!result.empty() || kernel.configurations.size() == 1) return result;
  for (auto const& [architecture, problems] : kernel.problems) {
    std::size_t const numbers = problems.begin()->first.size();
    if (architecture == "host" || numbers > TunedChoice::max_numbers) continue;
    Table& table = tables_.emplace_back();
    table.architecture = architecture;
    for (auto const& [problem, label] : problems) {
      TunedChoice choice{};
      std::ranges::copy(problem, choice.problem);
      auto const found = std::ranges::find(kernel.configurations, label, &Configuration::label);
      choice.label = found->label.c_str();
      table.choices.push_back(choice);
    }
    table.table = {kernel.name.c_str(),
                   table.architecture.c_str(),
                   "any",
                   "any",
                   static_cast<int>(numbers),
                   table.choices.data(),
                   static_cast<int>(table.choices.size())};
    result.push_back(&table.table);
  }
  return result;
}

std::vector<CompiledExport> RecordedLaunches::compiled(std::string const& library, std::string const& cpu,
                                                       FormCompiler& compiler) {
  std::vector<CompiledExport> result;
  for (Kernel& kernel : kernels_) {
    // The form that needs the most stands first; where no table names a configuration, the one that splits nothing.
    std::ranges::stable_sort(kernel.configurations, {}, [](auto const& one) { return one.label != not_split; });
    CompiledExport entry;
    entry.name = fmt::format("launched_{}{}", result.size(),
                             support::is_identifier(kernel.name) ? "_" + kernel.name : std::string());
    entry.title = kernel.name;
    entry.launched = LaunchedAs{kernel.type, kernel.place, kernel.options};
    entry.parameters = kernel.configurations.front().source->kernel.parameters();
    entry.tables = tables_of(kernel);
    for (Configuration& configuration : kernel.configurations) {
      std::ranges::stable_sort(configuration.forms, std::greater(),
                               [](Form const& form) { return count_facts(form.facts); });
      CompiledConfiguration compiled;
      compiled.label = configuration.label;
      for (Form const& form : configuration.forms) {
        CompileOptions options = configuration.options;
        options.facts = form.facts;
        compiled.forms.push_back(compiler.compile({library, entry.name, form.architecture, cpu}, *configuration.source,
                                                  options, about(form.facts)));
      }
      entry.configurations.push_back(std::move(compiled));
    }
    result.push_back(std::move(entry));
  }
  return result;
}

}  // namespace tegula::exporter
