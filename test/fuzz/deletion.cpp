#include "fuzz/deletion.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include "compiler/compile.hpp"
#include "fuzz/pipeline_case.hpp"
#include "ir/builder.hpp"
#include "ir/text.hpp"
#include "ir/verify_block.hpp"
#include "sim/block/simulate.hpp"
#include "support/host_tensor.hpp"
#include "support/mutate.hpp"
#include "tegula/support/error.hpp"

namespace tegula::fuzz {
namespace {

using test::HostTensor;

constexpr std::int64_t tiles_of_a_cta = 5;

enum class Values : std::uint8_t { small, growing, one, none };

/// How one launch differs from the case.
struct Launch {
  Values values = Values::small;
  std::int64_t ctas = 0;
  bool dependent = false;  ///< the grid before may still run
};

bool has(ir::Module const& module, ir::OpKind kind) {
  auto const ops = test::detail::all_ops(module);
  return std::any_of(ops.begin(), ops.end(), [&](ir::Op const* op) { return op->kind() == kind; });
}

/// The kernel's arguments in memory of their own.
class Arguments {
 public:
  Arguments(PipelineCase const& one, Values values) {
    for (std::size_t p = 0; p < one.parameters.size(); ++p) {
      test::RandomParameter const& parameter = one.parameters[p];
      if (!parameter.is_tensor) {
        bool const counts = values >= Values::one && parameter.element == Element::i64;
        arguments_.emplace_back(counts ? ir::make_constant(Element::i64, extent_of(values)) : parameter.scalar);
        continue;
      }
      Extents extents;
      for (std::int64_t extent : parameter.extents)
        extents.push_back(values >= Values::one && !parameter.written ? std::min(extent, extent_of(values)) : extent);
      bool const aligned = one.module.kernel().parameter_attributes()[p].facts.aligned_16;
      HostTensor& tensor = tensors_.emplace_back(parameter.element, extents, parameter.gap, aligned ? 0 : parameter.gap,
                                                 parameter.inner);
      fill(tensor, p, values == Values::growing);
      arguments_.emplace_back(tensor.view());
    }
  }

  [[nodiscard]] sim::Arguments const& views() const { return arguments_; }

 private:
  static constexpr std::int64_t extent_of(Values values) { return values == Values::one ? 1 : 0; }
  /// Small numbers; growing ones are up to 100 times as large at the end, so that maxima of rows rise from block to
  /// block.
  static void fill(HostTensor& tensor, std::size_t place, bool growing) {
    for (std::int64_t i = 0, count = tensor.count(); i < count; ++i) {
      std::uint64_t mixed = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15u + place * 0xD1B54A32D192ED03u;
      mixed = (mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9u;
      auto const small = static_cast<double>(static_cast<std::int64_t>((mixed >> 33) % 5) - 2);
      auto const scale = growing ? 1 + std::floor(99 * static_cast<double>(i) / static_cast<double>(count)) : 1;
      double const limit = tensor.element() == Element::i8 ? 127 : 240;
      tensor.set_number(i, std::clamp(small * scale, -limit, limit));
    }
  }

  std::deque<HostTensor> tensors_;  // stay where they are
  sim::Arguments arguments_;
};

sim::block::Options options_of(ir::Module const& module, Launch const& launch) {
  sim::block::Options options;
  if (launch.ctas != 0) options.grid = sim::Grid{launch.ctas * module.kernel().cluster, 1, 1};
  options.dependent = launch.dependent;
  options.max_reports = 1;
  options.max_steps = 3'000'000;
  return options;
}

enum class Schedules : std::uint8_t { few, sweep };

/// What is reported first; empty: nothing.
std::string trouble(PipelineCase const& one, ir::Module const& module, Launch const& launch, Schedules schedules) {
  Arguments arguments(one, launch.values);
  try {
    sim::block::Simulation simulation(module.kernel(), arguments.views(), options_of(module, launch));
    if (schedules == Schedules::sweep) {
      auto const sweep = simulation.sweep(3);
      return sweep.clean() ? "" : sweep.str();
    }
    using sim::machine::Schedule;
    for (Schedule const& schedule : {Schedule::latest(), Schedule::earliest()})
      if (auto const result = simulation.run(schedule); !result.clean()) return result.str();
    return {};
  } catch (std::exception const& error) {
    return error.what();
  }
}

/// The case with a grid of several tiles for each CTA, if blocks beyond its tensors do no harm; else as it is.
PipelineCase with_more_tiles(PipelineCase const& one) {
  PipelineCase more = one.clone();
  for (ir::Op* op : test::detail::all_ops(more.module))
    if (op->is<ir::GridOp>()) op->set_operand(0, ir::Builder::before(*op).index(tiles_of_a_cta));
  Arguments arguments(more, Values::small);
  return sim::run(more.module.kernel(), arguments.views()).clean() ? std::move(more) : one.clone();
}

/// By op, at the launch and by the warp that has most of it.
std::map<ir::Op const*, std::int64_t> executions_of_a_warp(PipelineCase const& one, ir::Module const& module,
                                                           std::vector<Launch> const& launches) {
  std::map<ir::Op const*, std::int64_t> most;
  for (Launch const& launch : launches) {
    Arguments arguments(one, launch.values);
    sim::block::Executions executions;
    sim::block::Options options = options_of(module, launch);
    options.executions = &executions;
    (void)sim::block::Simulation(module.kernel(), arguments.views(), options).run(sim::machine::Schedule::seed(1));
    for (auto const& [of, count] : executions) most[of.first] = std::max<std::int64_t>(most[of.first], count);
  }
  return most;
}

/// Uses of a ring until each of its slots has been taken three times.
std::int64_t uses_of_rings(ir::Module const& module) {
  std::int64_t most = 1;
  for (ir::Op const* op : test::detail::all_ops(module))
    if (op->is<ir::SharedAllocOp>() && op->result()->type().is_mbarrier())
      most = std::max(most, op->result()->type().elements());
  return 2 * most + 1;
}

}  // namespace

Deletions without_each_op(PipelineCase const& given) {
  PipelineCase one = given.clone();
  Deletions result;
  ir::Module module;
  try {
    module = compiler::lower(one.module, one.options);
    if (has(module, ir::OpKind::MultiprocessorsOp)) {
      one = with_more_tiles(one);
      module = compiler::lower(one.module, one.options);
    }
  } catch (UserError const& error) {
    result.refused = error.what();
    return result;
  }
  if (!ir::has_block_ops(module.kernel())) {
    result.refused = "it has no block ops";
    return result;
  }
  bool const persistent = has(module, ir::OpKind::MultiprocessorsOp),
             dependent = has(module, ir::OpKind::WaitDependenciesOp);
  std::vector<Launch> const launches = {{Values::growing, persistent ? 1 : 0, dependent},
                                        {Values::one, persistent ? 1 : 0, dependent},
                                        {Values::none, persistent ? 1 : 0, dependent},
                                        {Values::small, persistent ? 2 : 0, dependent}};
  for (Launch const& launch : launches)
    if (std::string const found = trouble(one, module, launch, Schedules::few); !found.empty())
      throw InternalError("deletion: the kernel is not clean as the passes left it: " + found);
  auto most = executions_of_a_warp(one, module, launches);
  std::int64_t const enough = uses_of_rings(module);
  result.module = ir::print(module);
  auto const ops = test::detail::all_ops(module);
  for (test::Mutation const& mutation : test::mutations(module)) {
    auto const reported = [&](Schedules schedules) {
      return std::any_of(launches.begin(), launches.end(), [&](Launch const& launch) {
        return !trouble(one, mutation.module, launch, schedules).empty();
      });
    };
    if (reported(Schedules::few))
      ++result.reported;
    else if (most[ops[mutation.number]] < enough)
      ++result.too_few;
    else if (reported(Schedules::sweep))
      ++result.reported;
    else
      result.silent.push_back(mutation.without + ", executed " + std::to_string(most[ops[mutation.number]]) + " times");
  }
  return result;
}

}  // namespace tegula::fuzz
