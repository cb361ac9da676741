#include "jit/extent_class.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "jit/estimate.hpp"
#include "jit/launch_options.hpp"
#include "jit/remembered.hpp"
#include "runtime/launch_program.hpp"
#include "runtime/tuned_table.hpp"
#include "support/locks.hpp"
#include "support/options.hpp"

namespace tegula::jit {
namespace {

constexpr std::array splits = {1, 2, 4, 8};

/// An estimate must be less than the one of fewer CTAs by this factor: a split adds the terms of sums in another order,
/// and another build is compiled.
constexpr double worth_a_split = 0.85;

/// By the hash of a kernel's text, its device and the numbers of a launch.
using Choices = Remembered<std::tuple<std::string, int, std::vector<std::int64_t>>>;
Choices& choices() {
  static constinit support::PerProcess<Choices> all;
  return all.get();
}

/// Tells whether options leave it to the compiler how CTAs share a tile.
bool leaves_it_open(CompileOptions const& options) {
  return options.split == 0 && options.share == 0 && !options.exact && options.plan.empty() &&
         options.pipeline.empty() && !support::options().exact;
}

/// Counts the blocks of a launch that may be split; 0: it may not, or they fill more than half of the processors.
std::int64_t few_blocks(Traced const& traced, std::span<Argument const> arguments, CompileOptions const& options,
                        int processors) {
  if (!traced.multiplies || !leaves_it_open(options)) return 0;
  std::vector<std::int64_t> const values = runtime::evaluate(traced.launch, arguments, processors);
  std::int64_t blocks = 1;
  for (std::int32_t const step : traced.launch.grid) {
    if (step < 0) continue;
    std::int64_t const extent = values[static_cast<std::size_t>(step)];
    if (extent <= 0 || extent > processors / 2) return 0;
    blocks *= extent;
    if (blocks > processors / 2) return 0;
  }
  return blocks;
}

}  // namespace

int chosen_split(Traced const& traced, std::span<Argument const> arguments, CompileOptions const& options,
                 analysis::Executor const& executor) {
  if (executor.target == nullptr || !executor.target->has(Ability::clusters)) return 1;
  std::int64_t const blocks = few_blocks(traced, arguments, options, executor.processors);
  if (blocks == 0) return 1;
  std::vector<int> possible;
  for (int const split : splits)
    if (split * blocks <= analysis::ctas_in_clusters(executor, split)) possible.push_back(split);
  std::vector<Estimate> const found = estimates_of_splits(traced.kernel, arguments, options, possible, executor);
  std::size_t best = 0;
  for (std::size_t i = 1; i < found.size(); ++i)
    if (found[i].split == possible[i] && found[i].seconds < worth_a_split * found[best].seconds) best = i;
  return possible[best];
}

ExtentClass::ExtentClass(KernelRef const& kernel, Traced const& traced, device where,
                         std::span<Argument const> arguments)
    : kernel_(kernel) {
  CompileOptions const& stated = chosen_options(kernel);
  bool const is_variant = *kernel.label != '\0';
  if (!where.is_cuda() || is_variant || few_blocks(traced, arguments, stated, where.limits().processors) == 0) return;
  std::tuple key(traced.hash, where.number(), runtime::problem_of(arguments));
  std::optional<int> const known = choices().find(key);
  split_ = known ? *known : chosen_split(traced, arguments, stated, executor_of(where));
  if (!known) choices().add(std::move(key), split_);
  if (split_ == 1) return;
  options_ = stated;
  options_->split = split_;
  kernel_.options = &*options_;
}

void forget_extent_classes() { choices().clear(); }

}  // namespace tegula::jit
