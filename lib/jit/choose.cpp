#include "jit/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "abi/pass_options.hpp"
#include "jit/estimate.hpp"
#include "jit/kernel_memo.hpp"
#include "jit/launch_options.hpp"
#include "jit/remembered.hpp"
#include "runtime/tuned_table.hpp"
#include "support/diagnostics.hpp"
#include "support/locks.hpp"
#include "tegula/support/error.hpp"
#include "transform/check_options.hpp"

namespace tegula::jit {
namespace {

using Problem = std::vector<std::int64_t>;

/// Puts the options that a call states, those that differ from the compiler's own, on top of a kernel's.
CompileOptions on_top(CompileOptions base, CompileOptions const& stated) {
  CompileOptions const own_choices;
  abi::for_each_pass_option_of(
      [](std::string_view, std::string_view, auto& field, auto const& value, auto const& own) {
        if (value != own) field = value;
      },
      base, stated, own_choices);
  base.asserts = base.asserts && stated.asserts;
  if (!stated.pipeline.empty()) base.pipeline = stated.pipeline;
  return base;
}

/// Limits the factor between the numbers of a problem that no table has and those of a choice that serves it. It does
/// not serve if the model of the cost expects it to take longer than another by more than the model errs.
constexpr double near_factor = 1.5, model_error = 1.1;

std::string text_of(Problem const& problem) { return fmt::format("{}", fmt::join(problem, ", ")); }

std::optional<VariantChoice> by_table(KernelRef const& kernels, Problem const& problem, device where) {
  for (TunedTable const* const table : runtime::serving(kernels.tables, runtime::tuned_place(where))) {
    if (std::string_view(table->kernel) != kernels.name) continue;
    runtime::TunedRow const row = runtime::find_row(*table, problem, near_factor);
    if (row.choice == nullptr) continue;
    std::vector<std::string> const labels = labels_of(kernels);
    auto const member = std::ranges::find(labels, row.choice->label);
    if (member == labels.end()) continue;  // a kernel that is gone
    VariantChoice result;
    result.number = static_cast<int>(member - labels.begin());
    result.label = *member;
    result.by = row.distance == 0 ? VariantChoice::By::table : VariantChoice::By::nearest;
    Problem const measured(row.choice->problem, row.choice->problem + table->numbers);
    result.why = fmt::format("{} of {} measured on {} with compiler {}",
                             row.distance == 0 ? "the problem" : "the problem near it, (" + text_of(measured) + "),",
                             kernels.name, table->device, table->compiler);
    return result;
  }
  return std::nullopt;
}

/// Remembers choices. Where objects of one name and number of kernels follow each other at an address, the choice may
/// be another's: it decides speed alone.
using Choices = Remembered<std::tuple<void const*, char const*, int, int, Problem>>;
Choices& choices() {
  static constinit support::PerProcess<Choices> all;
  return all.get();
}

int number_for(KernelRef const& kernels, std::span<Argument const> arguments, GridOverride const& grid, device where) {
  Problem problem = runtime::problem_of(arguments);
  if (grid.given) problem.insert(problem.end(), grid.extents, grid.extents + grid.rank);
  std::tuple key(kernels.kernel, kernels.name, kernels.members, where.is_host() ? -1 : where.number(),
                 std::move(problem));
  if (std::optional<int> const known = choices().find(key)) return *known;
  int const number = choose(kernels, arguments, grid, where).number;
  choices().add(std::move(key), number);
  return number;
}

}  // namespace

std::vector<std::string> labels_of(KernelRef const& kernels) {
  std::vector<std::string> labels;
  for (int i = 0; i < kernels.members; ++i) {
    std::string const label = kernels.member(kernels.kernel, i).label;
    std::string unique = label;
    for (int n = 2; std::ranges::find(labels, unique) != labels.end(); ++n) unique = fmt::format("{} #{}", label, n);
    labels.push_back(unique);
  }
  return labels;
}

KernelRef member_of(KernelRef const& kernels, int number, std::optional<CompileOptions>& joined) {
  KernelRef result = kernels.member(kernels.kernel, number);
  if (kernels.options == nullptr) return result;
  if (result.options != nullptr) joined = on_top(*result.options, *kernels.options);
  result.options = joined ? &*joined : kernels.options;
  return result;
}

Chosen::Chosen(KernelRef const& given, std::span<Argument const> arguments, GridOverride const& grid, device where)
    : kernel_(given) {
  if (given.members == 0) return;
  kernel_ = member_of(given, number_for(given, arguments, grid, where), joined_);
}

VariantChoice choose_by_estimate(KernelRef const& kernels, std::span<Argument const> arguments,
                                 GridOverride const& grid, Executor const& executor, VariantChoice const* near) {
  std::vector<std::string> const labels = labels_of(kernels);
  VariantChoice result;
  result.by = VariantChoice::By::model;
  double best = std::numeric_limits<double>::infinity(), of_near = best;
  for (int i = 0; i < kernels.members; ++i) {
    std::optional<CompileOptions> joined;
    KernelRef const member = member_of(kernels, i, joined);
    result.why += i == 0 ? "estimates: " : "; ";
    // One whose options are not sound is not taken; where it is the only one, its launch says why.
    if (support::Diagnostics const mistakes = transform::mistakes_of(chosen_options(member)); mistakes.has_errors()) {
      result.why += fmt::format("{}: {}", labels[static_cast<std::size_t>(i)], support::summary(mistakes));
      continue;
    }
    Estimate const found = estimate(traced(member)->kernel, arguments, grid, chosen_options(member), executor);
    result.why += fmt::format("{}: {}", labels[static_cast<std::size_t>(i)], found.str());
    if (near != nullptr && i == near->number) of_near = found.seconds;
    if (!(found.seconds < best)) continue;
    best = found.seconds;
    result.number = i;
  }
  result.label = labels[static_cast<std::size_t>(result.number)];
  if (near == nullptr) return result;
  if (of_near <= model_error * best) return *near;
  result.why = fmt::format("{} would take longer by the model than {}; {}", near->label, result.label, result.why);
  return result;
}

VariantChoice choose(KernelRef const& kernels, std::span<Argument const> arguments, GridOverride const& grid,
                     device where) {
  if (kernels.members == 0) {
    VariantChoice single;
    single.label = kernels.name;
    single.why = "there is one kernel";
    return single;
  }
  std::optional<VariantChoice> const found = by_table(kernels, runtime::problem_of(arguments), where);
  if (found && found->by == VariantChoice::By::table) return *found;
  return choose_by_estimate(kernels, arguments, grid, executor_of(where), found ? &*found : nullptr);
}

void refuse_table(char const* name, int max_tables) {
  throw UserError(fmt::format("{}: tuned: more than {} tables; give those of the devices that the program runs on",
                              name, max_tables));
}

}  // namespace tegula::jit
