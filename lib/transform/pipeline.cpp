#include "transform/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "analysis/call_graph.hpp"
#include "ir/verify/verifier.hpp"
#include "support/dump.hpp"
#include "target/gpu_target.hpp"
#include "support/string_buffer.hpp"
#include "tegula/support/error.hpp"
#include "transform/check_options.hpp"

namespace tegula::transform {
namespace {

using support::DumpItem;

std::string_view kernel_name(ir::Module const& module) {
  for (auto const& function : module.functions())
    if (function->is_kernel()) return function->name();
  return module.functions().empty() ? std::string_view("module") : std::string_view(module.functions().front()->name());
}

/// Runs a pipeline once.
class Run {
 public:
  Run(ir::Module& module, Pipeline pipeline, CompileOptions const& options, support::Options const& environment,
      PassObserver const& observer)
      : module_(module),
        pipeline_(pipeline),
        options_(options),
        target_(target::gpu_target(options)),
        environment_(environment),
        observer_(observer),
        dump_(environment, kernel_name(module)),
        analyses_(module),
        level_(environment.verify_each ? levels_of(module).from : Level::tile) {}

  void all() {
    if (dump_.wants(DumpItem::Kind::ir)) dump_.write("tir", ir::print(module_, {true}));
    for (std::size_t i = 0; i < pipeline_.size(); ++i) one(i);
    if (environment_.time_passes) report_times();
  }

 private:
  void one(std::size_t at) {
    PassInfo const& pass = *pipeline_[at];
    int const number = static_cast<int>(at) + 1;
    if (dump_.wants(DumpItem::Kind::ir_before, pass.name))
      dump_.write_pass(number, pass.name, ir::print(module_, {true}), true, true);
    if (auto const lack = first_lack(pass.all_needs(), module_))
      throw UserError(
          fmt::format("pipeline: {} needs {}, but there is {}", pass.name, name(lack->property), lack->why));
    if (!before_) before_ = module_.clone();
    auto const start = std::chrono::steady_clock::now();
    bool changed = false;
    try {
      changed = apply(pass);
      if (environment_.verify_each) check(pass);
    } catch (UserError const&) {
      throw;
    } catch (std::exception const& error) {
      auto const rest = to_string(pipeline_.subspan(at));
      std::string const file =
          support::write_replay_file(environment_, kernel_name(*before_), replay_text(*before_, rest, options_));
      throw InternalError(fmt::format("pass {}: {}{}", pass.name, error.what(),
                                      file.empty() ? "" : "\n  note: tegula_opt --replay " + file));
    }
    if (changed) before_.reset();
    times_.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    if (dump_.wants(DumpItem::Kind::ir_after, pass.name))
      dump_.write_pass(number, pass.name, ir::print(module_, {true}), changed);
    if (auto const text = dump_.replacement(number, pass.name))
      replace(*text, support::dump_file_name(kernel_name(module_), number, pass.name));
    if (observer_) observer_(pass, module_, !before_);
  }

  bool apply(PassInfo const& pass) {
    support::Diagnostics diagnostics;
    PassContext context{options_, target_, diagnostics, analyses_};
    PassResult result = PassResult::unchanged;
    if (pass.module != nullptr) {
      result = pass.module(module_, context);
      if (result == PassResult::changed) analyses_.clear();
    } else {
      for (ir::Function* function : analysis::callees_first(module_)) {
        PassResult const here = pass.function(*function, context);
        if (here == PassResult::changed) analyses_.clear();
        result |= here;
      }
    }
    support::throw_user_error(diagnostics);
    return result == PassResult::changed;
  }

  /// Verifies the module, what the pass leaves, and the level after it.
  void check(PassInfo const& pass) {
    support::throw_internal_error(ir::verify(module_), "verifier");
    if (auto const lack = first_lack(pass.all_leaves(), module_))
      throw InternalError(fmt::format("it leaves {}, but there is {}", name(lack->property), lack->why));
    level_ = std::max(level_, pass.leads_to.value_or(pass.works_on.from));
    if (std::string const why = why_not(level_, module_); !why.empty())
      throw InternalError(fmt::format("it leaves a module on level {}, but there is {}", name(level_), why));
  }

  void replace(std::string const& text, std::string const& file) {
    ir::ParseResult parsed = ir::parse(text);
    support::throw_user_error(parsed.diagnostics, "TEGULA_OVERRIDE_DIR: " + file);
    support::throw_user_error(ir::verify(parsed.module, &parsed.positions), "TEGULA_OVERRIDE_DIR: " + file);
    module_ = std::move(parsed.module);
    before_.reset();
    level_ = levels_of(module_).from;
    analyses_.clear();
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
  Pipeline pipeline_;
  CompileOptions const& options_;
  TargetInfo const& target_;
  support::Options const& environment_;
  PassObserver const& observer_;
  support::Dump dump_;
  analysis::AnalysisCache analyses_;
  std::vector<double> times_;
  /// The module as the last pass that changed it left it. A pass that fails leaves it half-done; the replay starts
  /// here.
  std::optional<ir::Module> before_;
  Level level_;  ///< of the module; followed if each pass is verified
};

/// Finds a pass before one that it comes after. Empty: there is none.
std::string comes_too_early(Pipeline pipeline) {
  for (auto at = pipeline.begin(); at != pipeline.end(); ++at) {
    if ((*at)->works_everywhere()) continue;
    for (After const& after : (*at)->after) {
      auto const first = std::find_if(pipeline.begin(), pipeline.end(),
                                      [&](PassInfo const* pass) { return pass->name == after.pass; });
      if (first != pipeline.end() && first > at && !(*first)->works_everywhere())
        return fmt::format("pipeline: {} comes before {}, but must come after it: {}", (*at)->name, after.pass,
                           after.why);
    }
  }
  return {};
}

/// Finds a pass on a level that the module, or the passes before it, have left behind. Empty: there is none.
std::string level_is_past(Pipeline pipeline, ir::Module const& module) {
  Level const found = levels_of(module).from;
  Level reached = Level::tile;
  PassInfo const* by = nullptr;
  for (PassInfo const* pass : pipeline) {
    if (reached > pass->works_on.to)
      return fmt::format(
          "pipeline: {} works on level {}, but {}, which comes before it, {} level {}; move it ahead of "
          "that pass",
          pass->name, to_string(pass->works_on), by->name, by->leads_to ? "leads to" : "works on", name(reached));
    // A pass may run again on the level to which it leads.
    if (Level const highest = std::max(pass->works_on.to, pass->leads_to.value_or(Level::tile)); found > highest)
      return fmt::format(
          "pipeline: {} works on level {}, but the kernel is on level {}: {}; run it on the text before "
          "the passes that lead there",
          pass->name, to_string(pass->works_on), name(found), why_not(highest, module));
    if (Level const after = pass->leads_to.value_or(pass->works_on.from); after > reached) {
      reached = after;
      by = pass;
    }
  }
  return {};
}

std::string passes_that_leave(Property property) {
  std::vector<std::string_view> names;
  for (PassInfo const& pass : passes())
    if (pass.all_leaves().has(property)) names.push_back(pass.name);
  return names.empty() ? "" : "; " + support::joined(names, " or ") + " must come before it";
}

/// Returns the highest level whose properties all hold.
Level level_without(PropertySet lacks) {
  Level level = Level::placed;
  while (properties_of(level).meets(lacks)) level = static_cast<Level>(static_cast<int>(level) - 1);
  return level;
}

/// Finds a pass without a property that it, or its level, needs. Empty: there is none.
std::string missing_property(Pipeline pipeline, ir::Module const& module) {
  PropertySet asked, lacks;
  for (PassInfo const* pass : pipeline) asked = asked | pass->all_needs();
  std::array<std::string, property_count> why;
  auto const each = [](PropertySet properties, auto const& visit) {
    for (int i = 0; i < property_count; ++i)
      if (properties.has(static_cast<Property>(i))) visit(static_cast<Property>(i), static_cast<std::size_t>(i));
  };
  each(asked, [&](Property property, std::size_t at) {
    why[at] = why_not(property, module);
    if (!why[at].empty()) lacks = lacks | PropertySet{property};
  });
  for (PassInfo const* pass : pipeline) {
    for (int i = 0; i < property_count; ++i) {
      auto const property = static_cast<Property>(i);
      if (!pass->all_needs().has(property) || !lacks.has(property)) continue;
      std::string const& found = why[static_cast<std::size_t>(i)];
      if (properties_of(pass->works_on.from).has(property))
        return fmt::format("pipeline: {} works on level {}, but the kernel is on level {}: {}{}", pass->name,
                           to_string(pass->works_on), name(level_without(lacks)), found, passes_that_leave(property));
      return fmt::format("pipeline: {} needs {}, but {}{}", pass->name, name(property), found,
                         passes_that_leave(property));
    }
    each(pass->breaks, [&](Property property, std::size_t at) {
      why[at] = fmt::format("{} comes before it", pass->name);
      lacks = lacks | PropertySet{property};
    });
    lacks = lacks - pass->all_leaves();
  }
  return {};
}

}  // namespace

std::string to_string(Pipeline pipeline) {
  std::vector<std::string_view> names;
  for (PassInfo const* pass : pipeline) names.push_back(pass->name);
  return support::joined(names, ",");
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
      for (PassInfo const& known : passes()) names.push_back(known.name);
      diagnostics.error(
          fmt::format("pipeline: unknown pass {}; there are {}", support::quoted(word), support::joined(names, ", ")));
      return {};
    }
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return result;
}

std::string why_not_in_this_order(Pipeline pipeline, ir::Module const& module) {
  for (std::size_t i = 0; i + 1 < pipeline.size(); ++i)
    if (!pipeline[i]->last.empty())
      return fmt::format("pipeline: {} comes before {}, but it runs last: {}; move it to the end", pipeline[i]->name,
                         pipeline[i + 1]->name, pipeline[i]->last);
  if (std::string refusal = comes_too_early(pipeline); !refusal.empty()) return refusal;
  if (std::string refusal = level_is_past(pipeline, module); !refusal.empty()) return refusal;
  return missing_property(pipeline, module);
}

void run_pipeline(ir::Module& module, std::string_view pipeline, CompileOptions const& options,
                  support::Options const& environment, PassObserver const& observer) {
  support::Diagnostics diagnostics;
  auto const list = parse_pipeline(pipeline, diagnostics);
  support::throw_user_error(diagnostics);
  run_pipeline(module, list, options, environment, observer);
}

void run_pipeline(ir::Module& module, Pipeline pipeline, CompileOptions const& options,
                  support::Options const& environment, PassObserver const& observer) {
  check_options(options);
  if (std::string const refusal = why_not_in_this_order(pipeline, module); !refusal.empty()) throw UserError(refusal);
  Run(module, pipeline, options, environment, observer).all();
}

}  // namespace tegula::transform
