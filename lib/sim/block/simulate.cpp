#include "sim/block/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ir/text/text.hpp"
#include "sim/block/engine.hpp"
#include "sim/compare.hpp"
#include "sim/elements.hpp"
#include "target/gpu_target.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim::block {

using namespace ir;

namespace {

bool any_of_kind(std::vector<machine::Report> const& reports, machine::ReportKind kind) {
  return std::any_of(reports.begin(), reports.end(),
                     [&](machine::Report const& report) { return report.kind == kind; });
}

bool waits_for_a_grid(Block const& block) {
  for (Op const& op : block) {
    if (op.is<WaitDependenciesOp>()) return true;
    for (int i = 0; i < op.block_count(); ++i)
      if (waits_for_a_grid(op.block(i))) return true;
  }
  return false;
}

EngineOptions engine_options(Function const& kernel, Options const& options) {
  EngineOptions result;
  result.target = options.target != nullptr ? options.target : &target::default_target();
  result.values.precision = options.precision;
  result.values.grid = options.grid;
  result.values.print = options.print;
  result.values.profile = options.profile;
  result.values.check_races = false;  // the machine knows the order of all accesses
  result.cluster = options.cluster > 0 ? options.cluster : kernel.cluster;
  result.executions = options.executions;
  result.dependent = options.dependent.value_or(waits_for_a_grid(kernel.body()));
  return result;
}

constexpr std::size_t kept = 4;

}  // namespace

bool Result::has(machine::ReportKind kind) const { return any_of_kind(reports, kind); }

std::string Result::str() const {
  if (clean()) return "clean";
  std::string text;
  for (machine::Report const& report : reports) text += (text.empty() ? "" : "\n\n") + report.text();
  for (sim::Report const& report : values.reports) text += (text.empty() ? "" : "\n\n") + to_string(report);
  return text;
}

bool Sweep::has(machine::ReportKind kind) const {
  return std::any_of(bad.begin(), bad.end(), [&](Result const& result) { return result.has(kind); });
}

std::string Sweep::str() const {
  if (!bad.empty()) return bad.front().str();
  return differing.empty() ? "clean" : differing;
}

struct Simulation::Inside {
  Inside(Function const& function, Arguments const& given, Options const& chosen)
      : kernel(function),
        arguments(given),
        options(chosen),
        engine(function, arguments, engine_options(function, chosen)),
        batch(batch_of(chosen)),
        simulation(machine_options(), [this](machine::Machine& m) { build(m); }) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!arguments[i].is_tensor || kernel.parameter_attributes()[i].direction == Direction::in) continue;
      written.push_back(i);
      before.push_back(contents(arguments[i].tensor));
    }
  }

  [[nodiscard]] int batch_of(Options const& chosen) const {
    int const all = engine.ctas() == 0 ? engine.cluster() : engine.ctas();  // the machine has at least one cluster
    int const result = chosen.batch > 0 ? std::min(chosen.batch, all) : all;
    constexpr int max_warps = 60000;  // the machine numbers warps in 16 bits
    int const warps = engine.plan().warps();
    if (result > max_warps / warps)
      throw UserError(
          fmt::format("simulate: @{}: {} CTAs of {} warps are more than the {} warps that one run holds; give a "
                      "smaller problem or grid, or run in batches",
                      kernel.name(), result, warps, max_warps));
    if (result % engine.cluster() != 0)
      throw UserError(fmt::format("simulate: @{}: batches of {} CTAs are not a multiple of the cluster of {}",
                                  kernel.name(), result, engine.cluster()));
    return result;
  }

  [[nodiscard]] machine::Options machine_options() const {
    machine::Options result;
    result.ctas = batch;
    result.cluster = engine.cluster();
    result.resident = options.resident;
    result.shared_bytes = std::max(engine.plan().shared_bytes(), 1024u);
    result.registers = engine.entry_registers();
    result.max_steps = options.max_steps;
    result.max_reports = options.max_reports;
    result.trace = options.trace;
    if (options.timed) result.costs = &engine.target().costs;
    return result;
  }

  void build(machine::Machine& m) {
    end_run();
    m.begin_at(begin_time);
    for (std::size_t i = 0; first == 0 && i < written.size(); ++i)
      set_contents(arguments[written[i]].tensor, before[i]);
    engine.build(m, first, batch);
    open = true;
  }

  /// Collects the results of the ended run that the machine does not see: reports about values, and the values.
  void end_run() {
    if (!open) return;
    open = false;
    values = engine.launch().take_result();
    own = engine.take_reports();
    if (sweep == nullptr) return;
    if (!own.empty() || !values.clean()) {
      ++sweep->bad_runs;
      if (sweep->bad.size() < kept) sweep->bad.push_back({own, values, {}, 0, {}});
    } else if (options.same_values) {
      compare_values();
    }
  }

  void compare_values() {
    std::vector<std::vector<std::byte>> now;
    for (std::size_t const i : written) now.push_back(contents(arguments[i].tensor));
    if (expected.empty()) {
      expected = std::move(now);
      return;
    }
    for (std::size_t t = 0; t < written.size() && sweep->differing.empty(); ++t) {
      auto const at = std::mismatch(now[t].begin(), now[t].end(), expected[t].begin()).first;
      if (at == now[t].end()) continue;
      Tensor const& tensor = arguments[written[t]].tensor;
      std::int64_t linear = (at - now[t].begin()) / bytes(tensor.element);
      std::int64_t coordinates[max_rank] = {};
      for (int axis = tensor.extents.size() - 1; axis >= 0; --axis) {
        coordinates[axis] = linear % tensor.extents[axis];
        linear /= tensor.extents[axis];
      }
      sweep->differing = "element " + coordinates_text(coordinates, tensor.extents.size()) + " of " +
                         ir::to_string(*kernel.parameter(static_cast<int>(written[t]))) + " depends on the schedule";
    }
  }

  void check_whole() const {
    if (batch < engine.ctas())
      throw UserError("simulate: @" + kernel.name() +
                      ": many schedules are tried with all CTAs at once, not in batches");
  }

  Sweep many(machine::Sweep (machine::Simulation::*explore)(std::uint64_t, bool), std::uint64_t count,
             bool stop_at_first) {
    check_whole();
    Sweep result;
    sweep = &result;
    expected.clear();
    machine::Sweep found = (simulation.*explore)(count, stop_at_first);
    bool const last_is_bad = found.bad_runs != 0 && stop_at_first;
    if (last_is_bad) {
      open = false;
      values = engine.launch().take_result();
      own = engine.take_reports();
    }
    end_run();
    sweep = nullptr;
    result.runs = found.runs;
    result.steps = found.steps;
    result.complete = found.complete;
    result.bad_runs += found.bad_runs;
    for (machine::Outcome& outcome : found.bad)
      result.bad.insert(result.bad.begin(), {std::move(outcome.reports), {}, outcome.schedule, outcome.steps, {}});
    return result;
  }

  Function const& kernel;
  Arguments arguments;
  Options options;
  Engine engine;
  int batch;      ///< CTAs that the machine holds
  int first = 0;  ///< of the batch under way
  machine::Time begin_time = 0;
  machine::Simulation simulation;
  std::vector<std::size_t> written;
  std::vector<std::vector<std::byte>> before, expected;
  bool open = false;
  Sweep* sweep = nullptr;
  sim::Result values;
  std::vector<machine::Report> own;
};

Simulation::Simulation(Function const& kernel, Arguments const& arguments, Options const& options)
    : inside_(std::make_unique<Inside>(kernel, arguments, options)) {}
Simulation::~Simulation() = default;

Result Simulation::run(machine::Schedule const& schedule) {
  Inside& in = *inside_;
  Result result;
  result.values.grid = in.engine.grid();
  in.begin_time = 0;
  for (in.first = 0; in.first < in.engine.ctas() && result.clean(); in.first += in.batch) {
    machine::Outcome outcome = in.simulation.run(schedule);
    in.end_run();
    result.schedule = outcome.schedule;
    for (machine::Report& report : outcome.reports) result.reports.push_back(std::move(report));
    for (machine::Report& report : in.own) {
      report.schedule = outcome.schedule;
      result.reports.push_back(std::move(report));
    }
    in.values.steps += result.values.steps;
    result.values = std::move(in.values);
    result.values.blocks = std::min(in.first + in.batch, in.engine.ctas());
    result.steps += outcome.steps;
    result.clocks = in.begin_time = outcome.end_time;
    for (std::string& line : outcome.trace) result.trace.push_back(std::move(line));
  }
  in.first = 0;
  in.begin_time = 0;
  return result;
}

Sweep Simulation::sweep(std::uint64_t seeds, bool stop_at_first) {
  if (inside_->engine.ctas() == 0) return {};
  return inside_->many(&machine::Simulation::sweep, seeds, stop_at_first);
}

Sweep Simulation::exhaust(std::uint64_t max_runs, bool stop_at_first) {
  if (inside_->engine.ctas() == 0) return {};
  return inside_->many(&machine::Simulation::exhaust, max_runs, stop_at_first);
}

Result run(Function const& kernel, Arguments const& arguments, machine::Schedule const& schedule,
           Options const& options) {
  return Simulation(kernel, arguments, options).run(schedule);
}

}  // namespace tegula::sim::block
