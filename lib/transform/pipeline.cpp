#include "transform/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "analysis/call_graph.hpp"
#include "ir/verifier.hpp"
#include "support/dump.hpp"
#include "support/gpu_target.hpp"
#include "support/string_buffer.hpp"
#include "tegula/support/error.hpp"
#include "transform/allocate_shared_memory.hpp"
#include "transform/assign_layouts.hpp"
#include "transform/canonicalize.hpp"
#include "transform/carry_remainders.hpp"
#include "transform/choose_memory_paths.hpp"
#include "transform/circular_buffer.hpp"
#include "transform/clamp_coordinates.hpp"
#include "transform/dependent_launch.hpp"
#include "transform/eliminate_common_subexpressions.hpp"
#include "transform/eliminate_dead_code.hpp"
#include "transform/expand_math.hpp"
#include "transform/hoist_loop_invariants.hpp"
#include "transform/inline_functions.hpp"
#include "transform/insert_barriers.hpp"
#include "transform/insert_proxy_fences.hpp"
#include "transform/lag_references.hpp"
#include "transform/lower_online_softmax.hpp"
#include "transform/narrow_masks.hpp"
#include "transform/persistent_grid.hpp"
#include "transform/run_ahead.hpp"
#include "transform/schedule_dots.hpp"
#include "transform/share_reciprocals.hpp"
#include "transform/sink_reductions.hpp"
#include "transform/skew_dots.hpp"
#include "transform/specialize.hpp"
#include "transform/specialize_warps.hpp"
#include "transform/split_loops.hpp"
#include "transform/split_products.hpp"
#include "transform/split_stores.hpp"
#include "transform/swap_operands.hpp"
#include "transform/take_turns.hpp"
#include "transform/test_masks.hpp"

namespace tegula::transform {
namespace {

using support::DumpItem;

constexpr PassInfo table[] = {
    {.name = "specialize",
     .summary = "facts of the compile options become parameter attributes, stages become attributes of loops",
     .module = specialize},
    {.name = "inline-functions",
     .summary = "calls become the callee's body, except of functions that stay; uncalled functions go",
     .module = inline_functions},
    {.name = "inline-all-functions",
     .summary = "as inline-functions, those that would stay too",
     .module = inline_all_functions,
     .leaves = {Fact::no_calls}},
    {.name = "canonicalize",
     .summary = "folds constants, applies exact identities, resolves known branches and loops",
     .function = canonicalize},
    {.name = "eliminate-common-subexpressions",
     .summary = "equal pure ops and equal loads of one memory epoch become one",
     .function = eliminate_common_subexpressions},
    {.name = "hoist-loop-invariants",
     .summary = "what no iteration changes moves before the loop",
     .function = hoist_loop_invariants},
    {.name = "eliminate-dead-code",
     .summary = "ops, carried values and branches' results that nothing uses go",
     .function = eliminate_dead_code},
    {.name = "expand-math",
     .summary = "elementary functions become arithmetic",
     .function = expand_math,
     .leaves = {Fact::expanded_math}},
    {.name = "expand-device-math",
     .summary = "elementary functions for which the device has no exact enough instruction become arithmetic",
     .function = expand_device_math},
    {.name = "persistent-grid",
     .summary = "CTAs with products in loops, or that all read the same, stay and take tile after tile",
     .function = persistent_grid,
     .needs = {Fact::no_calls}},
    {.name = "swap-operands",
     .summary = "products with fewer rows than wgmma takes become transposed ones",
     .function = swap_operands,
     .needs = {Fact::no_calls}},
    {.name = "choose-memory-paths",
     .summary = "loads that feed products, or that loops with stages make, become copies where TMA's rules allow",
     .function = choose_memory_paths,
     .needs = {Fact::no_calls}},
    {.name = "lag-references",
     .summary = "running maxima that only serve as the reference of a softmax may lag",
     .function = lag_references,
     .needs = {Fact::no_calls}},
    {.name = "skew-dots",
     .summary = "a product that takes another's result runs beside the next iteration's first product",
     .function = skew_dots,
     .needs = {Fact::no_calls}},
    {.name = "split-loops",
     .summary = "loops with products part where their masks begin to matter",
     .function = split_loops,
     .needs = {Fact::no_calls}},
    {.name = "narrow-masks",
     .summary = "comparisons of coordinates become 32-bit ones with one scalar",
     .function = narrow_masks,
     .needs = {Fact::no_calls}},
    {.name = "schedule-dots",
     .summary = "dots become products of the tensor cores, issued, committed and waited for",
     .function = schedule_dots,
     .needs = {Fact::no_calls},
     .leaves = {Fact::no_dots}},
    {.name = "assign-layouts",
     .summary = "every tile gets a layout, conversions stand where two meet",
     .module = assign_layouts,
     .needs = {Fact::no_dots},
     .leaves = {Fact::layouts},
     .breaks = {Fact::shared_offsets, Fact::barriers}},
    {.name = "lower-online-softmax",
     .summary = "running maxima are looked for, and what follows them multiplied, only where they grow",
     .function = lower_online_softmax,
     .needs = {Fact::layouts}},
    {.name = "sink-reductions",
     .summary = "sums that loops carry stay apart per lane until the loops end",
     .function = sink_reductions,
     .needs = {Fact::layouts}},
    {.name = "test-masks",
     .summary = "masks of single blocks are worked out only where they hide something",
     .function = test_masks,
     .needs = {Fact::layouts}},
    {.name = "share-reciprocals",
     .summary = "quotients by what a row shares, rounded to 16 bits, become products with its reciprocal",
     .function = share_reciprocals,
     .needs = {Fact::layouts}},
    {.name = "split-products",
     .summary = "CTAs of a cluster share the loop of a product and add up what each has summed",
     .function = split_products,
     .needs = {Fact::no_calls, Fact::layouts},
     .breaks = {Fact::shared_offsets, Fact::barriers}},
    {.name = "split-stores",
     .summary = "results of products leave in column chunks, through staging buffers and the TMA engine",
     .function = split_stores,
     .needs = {Fact::layouts},
     .breaks = {Fact::shared_offsets, Fact::barriers}},
    {.name = "circular-buffer",
     .summary = "copied tiles get stages of rings in shared memory, with barriers for filling and giving back",
     .function = circular_buffer,
     .needs = {Fact::layouts},
     .leaves = {Fact::no_fetches},
     .breaks = {Fact::shared_offsets, Fact::barriers}},
    {.name = "specialize-warps",
     .summary = "warps that fill rings and warps that read them run clones of the kernel of their own",
     .function = specialize_warps,
     .needs = {Fact::layouts, Fact::no_fetches}},
    {.name = "run-ahead",
     .summary = "where warps are not specialised, fills of rings stand iterations before their readers",
     .function = run_ahead,
     .needs = {Fact::no_fetches}},
    {.name = "dependent-launch",
     .summary = "the kernel may start while the one before it drains, and waits before it touches global memory",
     .function = dependent_launch,
     .needs = {Fact::no_fetches}},
    {.name = "allocate-shared-memory",
     .summary = "buffers, exchanges and called functions get their places in shared memory",
     .function = allocate_shared_memory,
     .needs = {Fact::layouts},
     .leaves = {Fact::shared_offsets}},
    {.name = "insert-barriers",
     .summary = "barriers close hazards between threads of a block",
     .function = insert_barriers,
     .needs = {Fact::layouts, Fact::shared_offsets},
     .leaves = {Fact::barriers}},
    {.name = "insert-proxy-fences",
     .summary = "fences hand what threads touched to copies and tensor cores",
     .function = insert_proxy_fences,
     .needs = {Fact::layouts, Fact::shared_offsets, Fact::barriers}},
    {.name = "take-turns",
     .summary = "warpgroups issue products in turn where exponentials take as long",
     .function = take_turns,
     .needs = {Fact::layouts, Fact::barriers}},
    {.name = "carry-remainders",
     .summary = "counters that loops divide by a constant are carried as remainder and quotient",
     .function = carry_remainders},
    {.name = "clamp-coordinates",
     .summary = "coordinates of TMA copies that may not fit 32 bits stay outside the tensor",
     .function = clamp_coordinates,
     .needs = {Fact::no_fetches}},
};

std::string_view kernel_name(ir::Module const& module) {
  for (auto const& function : module.functions())
    if (function->is_kernel()) return function->name();
  return module.functions().empty() ? std::string_view("module") : std::string_view(module.functions().front()->name());
}

std::string names_of(FactSet facts) {
  std::vector<std::string_view> names;
  for (int i = 0; i < fact_count; ++i)
    if (facts.has(static_cast<Fact>(i))) names.push_back(name(static_cast<Fact>(i)));
  return names.empty() ? "-" : support::joined(names, ", ");
}

std::string pipeline_text(std::span<PassInfo const* const> pipeline) {
  std::vector<std::string_view> names;
  for (PassInfo const* pass : pipeline) names.push_back(pass->name);
  return support::joined(names, ",");
}

/// One run of a pipeline.
class Run {
 public:
  Run(ir::Module& module, std::span<PassInfo const* const> pipeline, CompileOptions const& options,
      support::Options const& environment)
      : module_(module),
        pipeline_(pipeline),
        options_(options),
        target_(support::gpu_target(options)),
        environment_(environment),
        dump_(environment, kernel_name(module)),
        cache_(module) {}

  void all() {
    if (dump_.wants(DumpItem::What::ir)) dump_.write("tir", ir::print(module_, {true}));
    for (std::size_t i = 0; i < pipeline_.size(); ++i) one(i);
    if (environment_.time_passes) report_times();
  }

 private:
  void one(std::size_t at) {
    PassInfo const& pass = *pipeline_[at];
    int const number = static_cast<int>(at) + 1;
    if (dump_.wants(DumpItem::What::ir_before, pass.name))
      dump_.write_pass(number, pass.name, ir::print(module_, {true}), true, true);
    std::string const missing = missing_need(pass);
    if (!missing.empty()) throw UserError(fmt::format("pipeline: {} needs {}", pass.name, missing));
    ir::Module const before = module_.clone();  // a pass that fails leaves a module half-done; the replay starts here
    auto const start = std::chrono::steady_clock::now();
    bool changed = false;
    try {
      changed = apply(pass);
      if (environment_.verify_each) check(pass);
    } catch (UserError const&) {
      throw;
    } catch (std::exception const& error) {
      auto const rest = pipeline_text(pipeline_.subspan(at));
      std::string const file =
          support::write_replay_file(environment_, kernel_name(before), replay_text(before, rest, options_));
      throw InternalError(fmt::format("pass {}: {}{}", pass.name, error.what(),
                                      file.empty() ? "" : "\n  note: tegula_opt --replay " + file));
    }
    times_.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    if (dump_.wants(DumpItem::What::ir_after, pass.name))
      dump_.write_pass(number, pass.name, ir::print(module_, {true}), changed);
    if (auto const text = dump_.replacement(number, pass.name))
      replace(*text, support::dump_file_name(kernel_name(module_), number, pass.name));
  }

  bool apply(PassInfo const& pass) {
    support::Diagnostics diagnostics;
    PassContext context{options_, target_, diagnostics};
    PassResult result = PassResult::unchanged;
    if (pass.module != nullptr) {
      result = pass.module(module_, cache_, context);
      if (result == PassResult::changed) cache_.clear();
    } else {
      for (ir::Function* function : analysis::callees_first(module_)) {
        PassResult const here = pass.function(*function, cache_, context);
        if (here == PassResult::changed) cache_.clear();
        result |= here;
      }
    }
    support::throw_user_error(diagnostics);
    return result == PassResult::changed;
  }

  std::string missing_need(PassInfo const& pass) const {
    for (int i = 0; i < fact_count; ++i) {
      auto const fact = static_cast<Fact>(i);
      if (!pass.needs.has(fact)) continue;
      if (std::string const why = why_not(fact, module_); !why.empty())
        return fmt::format("{}, but there is {}", name(fact), why);
    }
    return {};
  }

  void check(PassInfo const& pass) const {
    support::throw_internal_error(ir::verify(module_), "verifier");
    for (int i = 0; i < fact_count; ++i) {
      auto const fact = static_cast<Fact>(i);
      if (!pass.leaves.has(fact)) continue;
      if (std::string const why = why_not(fact, module_); !why.empty())
        throw InternalError(fmt::format("it leaves {}, but there is {}", name(fact), why));
    }
  }

  void replace(std::string const& text, std::string const& file) {
    ir::ParseResult parsed = ir::parse(text);
    support::throw_user_error(parsed.diagnostics, "TEGULA_OVERRIDE_DIR: " + file);
    support::throw_user_error(ir::verify(parsed.module, &parsed.positions), "TEGULA_OVERRIDE_DIR: " + file);
    module_ = std::move(parsed.module);
    cache_.clear();
  }

  void report_times() const {
    std::string text;
    double total = 0;
    for (std::size_t i = 0; i < times_.size(); ++i) {
      text += fmt::format("{:10.3f} ms  {}\n", times_[i], pipeline_[i]->name);
      total += times_[i];
    }
    text += fmt::format("{:10.3f} ms  passes of {}\n", total, kernel_name(module_));
    std::fwrite(text.data(), 1, text.size(), stderr);
  }

  ir::Module& module_;
  std::span<PassInfo const* const> pipeline_;
  CompileOptions const& options_;
  TargetInfo const& target_;
  support::Options const& environment_;
  support::Dump dump_;
  AnalysisCache cache_;
  std::vector<double> times_;
};

}  // namespace

std::span<PassInfo const> passes() { return table; }

PassInfo const* find_pass(std::string_view name) {
  for (PassInfo const& pass : table)
    if (pass.name == name) return &pass;
  return nullptr;
}

std::string describe_passes() {
  std::string text;
  for (PassInfo const& pass : table)
    text += fmt::format("{}\n    {}\n    needs: {}; leaves: {}\n", pass.name, pass.summary, names_of(pass.needs),
                        names_of(pass.leaves));
  return text;
}

std::vector<PassInfo const*> parse_pipeline(std::string_view text, support::Diagnostics& diagnostics) {
  std::vector<PassInfo const*> result;
  while (!text.empty()) {
    std::size_t const comma = text.find(',');
    std::string_view word = text.substr(0, comma);
    while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
    while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
    if (PassInfo const* pass = find_pass(word)) {
      result.push_back(pass);
    } else {
      std::vector<std::string_view> names;
      for (PassInfo const& known : table) names.push_back(known.name);
      diagnostics.error(
          fmt::format("pipeline: unknown pass {}; there are {}", support::quoted(word), support::joined(names, ", ")));
      return {};
    }
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return result;
}

std::string why_not_in_this_order(std::span<PassInfo const* const> pipeline, ir::Module const& module) {
  for (int i = 0; i < fact_count; ++i) {
    auto const fact = static_cast<Fact>(i);
    bool const asked =
        std::any_of(pipeline.begin(), pipeline.end(), [&](PassInfo const* pass) { return pass->needs.has(fact); });
    std::string why = asked ? why_not(fact, module) : std::string();
    for (PassInfo const* pass : pipeline) {
      if (pass->needs.has(fact) && !why.empty()) {
        std::vector<std::string_view> leavers;
        for (PassInfo const& other : table)
          if (other.leaves.has(fact)) leavers.push_back(other.name);
        return fmt::format("pipeline: {} needs {}, but {}{}", pass->name, name(fact), why,
                           leavers.empty() ? "" : "; " + support::joined(leavers, " or ") + " must come before it");
      }
      if (pass->breaks.has(fact)) why = fmt::format("{} comes before it", pass->name);
      if (pass->leaves.has(fact)) why.clear();
    }
  }
  return {};
}

void run_pipeline(ir::Module& module, std::string_view pipeline, CompileOptions const& options,
                  support::Options const& environment) {
  support::Diagnostics diagnostics;
  auto const list = parse_pipeline(pipeline, diagnostics);
  support::throw_user_error(diagnostics);
  run_pipeline(module, list, options, environment);
}

void run_pipeline(ir::Module& module, std::span<PassInfo const* const> pipeline, CompileOptions const& options,
                  support::Options const& environment) {
  if (std::string const refusal = why_not_in_this_order(pipeline, module); !refusal.empty()) throw UserError(refusal);
  Run(module, pipeline, options, environment).all();
}

}  // namespace tegula::transform
