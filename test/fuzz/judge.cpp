// Judges a case: runs its kernel as written and after the passes, and compares the values and reports.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

#include "compiler/compile.hpp"
#include "fuzz/pipeline_case.hpp"
#include "layout/layout.hpp"
#include "ir/core/equal.hpp"
#include "ir/core/walk.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "ir/verify/verify_block.hpp"
#include "sim/block/simulate.hpp"
#include "sim/compare.hpp"
#include "support/host_tensor.hpp"
#include "tegula/support/error.hpp"
#include "transform/pipeline.hpp"

namespace tegula::fuzz {
namespace {

using test::HostTensor;
using test::RandomParameter;

/// Well mixed bits of a place; `salt` tells draws at one place apart.
std::uint64_t mixed(std::int64_t i, std::size_t place, std::uint64_t salt) {
  std::uint64_t bits =
      static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15u + place * 0xD1B54A32D192ED03u + salt * 0x8CB92BA72F3D8DD7u;
  bits = (bits ^ (bits >> 29)) * 0xBF58476D1CE4E5B9u;
  return bits >> 20;
}

/// The kernel's arguments in memory of their own. A tensor's data depends on the parameter's place alone.
class Arguments {
 public:
  explicit Arguments(PipelineCase const& one) {
    for (std::size_t p = 0; p < one.parameters.size(); ++p) {
      RandomParameter const& parameter = one.parameters[p];
      if (!parameter.is_tensor) {
        arguments_.emplace_back(parameter.scalar);
        continue;
      }
      Extents extents;
      for (std::int64_t extent : parameter.extents) extents.push_back(extent);
      bool const aligned = one.module.kernel().parameter_attributes()[p].facts.aligned_16;
      tensors_.emplace_back(parameter.element, extents, parameter.gap, aligned ? 0 : parameter.gap, parameter.inner);
      for (int axis = 0; axis < extents.size(); ++axis)
        if ((parameter.reversed >> axis & 1) != 0) tensors_.back().reverse(axis);
      if (parameter.bound != 0) fill(tensors_.back(), parameter, p);
      arguments_.emplace_back(tensors_.back().view());
    }
  }

  Arguments(Arguments const& from) : tensors_(from.tensors_), arguments_(from.arguments_) {
    auto tensor = tensors_.begin();
    for (auto& argument : arguments_)
      if (argument.is_tensor) argument = {(tensor++)->view()};
  }
  Arguments& operator=(Arguments const&) = delete;

  [[nodiscard]] sim::Arguments const& views() const { return arguments_; }

  /// The first element of a written tensor that is not as expected. Empty: none.
  std::string difference(Arguments const& expected, PipelineCase const& one) const {
    for (std::size_t p = 0; p < one.parameters.size(); ++p) {
      if (!arguments_[p].is_tensor) continue;
      // Passes may keep a row of a softmax that is a NaN as written (lib/doc/arithmetic.md).
      bool const inexact = one.parameters[p].tolerance != 0;
      sim::Tolerance const tolerance{0, one.parameters[p].tolerance, inexact && !one.options.exact};
      auto const found = sim::compare(arguments_[p].tensor, expected.arguments_[p].tensor, tolerance);
      if (!found.none()) return fmt::format("argument {}: {}", p, found.text);
    }
    for (HostTensor const& tensor : tensors_)
      if (!tensor.gaps_untouched()) return "elements between the rows of a tensor are written";
    return {};
  }

 private:
  std::deque<HostTensor> tensors_;  // stay where they are
  sim::Arguments arguments_;
};

template <class OpStruct>
bool holds(ir::Module const& module) {
  bool found = false;
  ir::walk(module.kernel(), [&](ir::Op& op) { found = found || op.is<OpStruct>(); });
  return found;
}

bool has_layouts(ir::Module const& module) {
  return module.kernel().warps != 0 && transform::why_not(transform::Property::layouts, module).empty();
}

/// Names the way in which the simulator runs a module between two passes.
enum class Level : std::uint8_t { none, tiles, warps };
Level level_of(ir::Module const& module) {
  if (holds<ir::FetchOp>(module)) return Level::none;
  if (has_layouts(module)) return Level::warps;
  return ir::has_block_ops(module.kernel()) || holds<ir::ConvertLayoutOp>(module) ? Level::none : Level::tiles;
}

class Judge {
 public:
  Judge(PipelineCase const& one, JudgeOptions const& options)
      : one_(one), options_(options), initial_(one), expected_(initial_) {}

  Judgement run() {
    Judgement result = judged();
    result.runs = runs_;
    return result;
  }

 private:
  Judgement judged() {
    // Generators draw some texts that the IR forbids, such as one written tensor given to a function twice.
    if (auto const found = ir::verify(one_.module); found.has_errors())
      return {Judgement::Kind::refused, "the verifier", found.str()};
    if (std::string const error = as_written(); !error.empty()) return {Judgement::Kind::invalid, {}, error};
    ir::Module module = one_.module.clone(), judged = one_.module.clone();
    transform::Pipeline const passes = compiler::default_pipeline(module, one_.options);
    std::size_t stop = passes.size();  // after the last pass of that name
    while (!options_.until.empty() && stop > 1 && passes[stop - 1]->name != options_.until) --stop;
    support::Options environment;
    environment.verify_each = true;
    for (std::size_t i = 0; i < stop; ++i) {
      std::string_view const name = passes[i]->name;
      auto const pass = passes.subspan(i, 1);
      auto const wrong = [&](std::string reason) {
        return Judgement{Judgement::Kind::wrong, std::string(name), std::move(reason)};
      };
      try {
        transform::run_pipeline(module, pass, one_.options, environment);
      } catch (UserError const& error) {
        // A pass that lacks a property is not the user's mistake.
        if (!transform::why_not_in_this_order(pass, module).empty()) return wrong(error.what());
        return {Judgement::Kind::refused, std::string(name), error.what()};
      } catch (std::exception const& error) {
        return wrong(error.what());
      }
      if (options_.behind) options_.behind(name, module);
      bool const looked_at =
          options_.each_pass && computed_ <= options_.max_computed && (excused_ || !ir::equal(module, judged));
      if (i + 1 == stop || looked_at) {
        if (std::string error = error_behind(module, std::span(passes).subspan(i + 1)); !error.empty())
          return wrong(std::move(error));
        judged = module.clone();
      }
      if (!options_.each_pass) continue;
      if (std::string error = error_of_another_run(module, pass); !error.empty()) return wrong(std::move(error));
    }
    return {};
  }

  std::string as_written() {
    try {
      auto const result = sim::run(one_.module.kernel(), expected_.views());
      return result.str();
    } catch (std::exception const& error) {
      return error.what();
    }
  }

  /// A pass that has run finds nothing left to do.
  std::string error_of_another_run(ir::Module const& module, std::span<transform::PassInfo const* const> pass) {
    ir::Module again = module.clone();
    try {
      transform::run_pipeline(again, pass, one_.options, support::Options());
    } catch (std::exception const& error) {
      return std::string("run again: ") + error.what();
    }
    return ir::equal(again, module) ? "" : "run again, the pass changes what it made";
  }

  /// Before barriers and fences are inserted, threads may race. Before coordinates are clamped, copies may begin too
  /// far outside. A text that is wrong gets a second try, after the later passes that fix this.
  std::string error_behind(ir::Module const& module, std::span<transform::PassInfo const* const> to_come) {
    std::string found = error_of(module);
    excused_ = false;
    if (found.empty() || level_of(module) != Level::warps) return found;
    // The pass leaves out what later ones need: none of them fixes it.
    if (!transform::why_not_in_this_order(to_come, module).empty()) return found;
    std::vector<transform::PassInfo const*> ordering;
    for (transform::PassInfo const* pass : to_come)
      for (std::string_view const name :
           {"allocate-shared-memory", "insert-barriers", "insert-proxy-fences", "clamp-coordinates"})
        if (pass->name == name) ordering.push_back(pass);
    if (ordering.empty()) return found;
    ir::Module ordered = module.clone();
    try {
      transform::run_pipeline(ordered, ordering, one_.options, support::Options());
    } catch (UserError const&) {
      return {};  // that pass refuses the kernel when its turn comes
    } catch (std::exception const& error) {
      return error.what();
    }
    excused_ = true;
    return error_of(ordered);
  }

  /// Describes a difference between module and kernel. Empty: there is none.
  std::string error_of(ir::Module const& module) {
    Arguments found(initial_);
    try {
      switch (level_of(module)) {
        case Level::none:
          return {};
        case Level::tiles: {
          auto const result = sim::run(module.kernel(), found.views(), grid_of<sim::Options>(module));
          return result.clean() ? found.difference(expected_, one_) : result.str();
        }
        case Level::warps:
          return in_warps(module, found);
      }
    } catch (std::exception const& error) {
      return error.what();
    }
    return {};
  }

  template <class Options>
  Options grid_of(ir::Module const& module) const {
    Options options;
    if (one_.ctas != 0 && holds<ir::MultiprocessorsOp>(module))
      options.grid = sim::Grid{one_.ctas * module.kernel().cluster, 1, 1};
    return options;
  }

  std::string in_warps(ir::Module const& module, Arguments& found) {
    auto options = grid_of<sim::block::Options>(module);
    options.max_reports = 2;
    options.max_steps = 3'000'000;
    sim::block::Simulation simulation(module.kernel(), found.views(), options);
    double elements = 0;  // of one run
    auto const error_in = [&](sim::machine::Schedule const& schedule) {
      auto const result = simulation.run(schedule);
      ++runs_, ctas_ = result.values.blocks;
      elements = static_cast<double>(result.values.steps) * elements_of_step(module);
      computed_ += elements;
      std::string const error = result.clean() ? found.difference(expected_, one_) : result.str();
      return error.empty() ? "" : "schedule " + sim::machine::to_text(schedule) + ": " + error;
    };
    std::string error = error_in(sim::machine::Schedule::latest());
    if (!error.empty()) return error;
    auto const runs = static_cast<double>(8 + ctas_ * module.kernel().warps + options_.schedules);
    if (options_.each_pass && runs * elements <= options_.max_swept) {
      auto const sweep = simulation.sweep(static_cast<std::uint64_t>(options_.schedules));
      computed_ += static_cast<double>(sweep.runs) * elements;
      runs_ += sweep.runs;
      return sweep.clean() ? found.difference(expected_, one_) : sweep.str();
    }
    error = error_in(sim::machine::Schedule::earliest());
    for (int seed = 1; seed <= options_.schedules && error.empty(); ++seed)
      error = error_in(sim::machine::Schedule::seed(static_cast<std::uint64_t>(seed)));
    return error;
  }

  PipelineCase const& one_;
  JudgeOptions const& options_;
  Arguments initial_, expected_;
  std::uint64_t runs_ = 0;
  std::int64_t ctas_ = 0;  ///< of the last run
  double computed_ = 0;    ///< elements, in all runs
  bool excused_ = false;   ///< the module is wrong but for passes to come that order memory
};

}  // namespace

namespace {

/// Returns a constant of these bits, of which the element takes as many as it has.
ir::Constant constant_of(Element element, std::uint64_t raw) {
  if (element == Element::boolean) return {element, raw & 1};
  if (is_integer(element)) return ir::make_constant(element, static_cast<std::int64_t>(raw));
  int const width = tegula::bits(element);
  return {element, width == 64 ? raw : raw & ((std::uint64_t{1} << width) - 1)};
}

/// Sets an element to a NaN, an infinity, -0 or the least number of either sign, as `choice` and `negative` say.
void set_special(HostTensor& tensor, RandomParameter const& parameter, std::int64_t i, std::uint64_t choice,
                 bool negative) {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  Element const element = parameter.element;
  bool const summed = !parameter.any;  // and so exact in any order, or absorbing all else
  switch (choice % 8) {
    case 0:
    case 1:
      tensor.set_number(i, nan);
      break;
    case 2:
    case 3:  // elements of 8 bits take their greatest number for it
      if (!summed || !is_f8(element)) tensor.set_number(i, negative ? -inf : inf);
      break;
    case 4:
    case 5:
      tensor.set_number(i, -0.0);
      break;
    default:
      if (!summed) tensor.set(i, {element, std::uint64_t{negative} << (tegula::bits(element) - 1) | 1});
  }
}

}  // namespace

void fill(HostTensor& tensor, RandomParameter const& parameter, std::size_t place) {
  Element const element = parameter.element;
  auto const numbers = static_cast<std::uint64_t>(2 * parameter.bound + 1);
  double const unit = std::exp2(static_cast<double>(parameter.exponent));
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    std::uint64_t const bits = mixed(i, place, 0) >> 13;
    tensor.set_number(i, static_cast<double>(static_cast<std::int64_t>(bits % numbers) - parameter.bound) * unit);
    if (parameter.any && (bits & 1) == 0) {
      std::uint64_t const raw = mixed(i, place, 1) << 32 | (mixed(i, place, 2) & 0xFFFFFFFF);
      ir::Constant const drawn = constant_of(element, raw);
      if (!is_float(element) || std::isfinite(ir::to_double(drawn))) tensor.set(i, drawn);
    }
    std::uint64_t const special = mixed(i, place, 3);
    bool const is_special =
        is_float(element) && parameter.specials != 0 && special % static_cast<std::uint64_t>(parameter.specials) == 0;
    if (is_special) set_special(tensor, parameter, i, mixed(i, place, 4), mixed(i, place, 5) % 2 != 0);
  }
}

double elements_of_step(ir::Module const& module) {
  double elements = 0, ops = 0;
  ir::walk(module.kernel(), [&](ir::Op& op) {
    ++ops;
    for (int i = 0; i < op.result_count(); ++i)
      if (layout::Layout const* const layout =
              op.result(i)->type().in_registers() ? op.result(i)->type().layout() : nullptr)
        elements += 32.0 * layout->registers();
  });
  constexpr double of_step = 200;  // measured: 0.8 us a step of few elements
  return of_step + elements / ops;
}

Judgement judge(PipelineCase const& one, JudgeOptions const& options) {
  Judgement const whole = Judge(one, options).run();
  if (!whole.wrong() || options.each_pass) return whole;
  JudgeOptions closer = options;
  closer.each_pass = true;
  Judgement const first = Judge(one, closer).run();
  return first.wrong() ? first : whole;
}

}  // namespace tegula::fuzz
