// Texts of schedules, reports and results; launch programs.
#include <fmt/format.h>

#include <algorithm>

#include "abi/launch_steps.hpp"
#include "sim/agent.hpp"
#include "support/diagnostics.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim {

std::string to_string(Schedule const& schedule) {
  switch (schedule.kind) {
    case Schedule::Kind::ascending:
      return "schedule::ascending";
    case Schedule::Kind::descending:
      return "schedule::descending";
    case Schedule::Kind::seeded:
      break;
  }
  return fmt::format("schedule::seed({})", schedule.seed);
}

std::string block_text(Grid const& block) { return fmt::format("({}, {}, {})", block[0], block[1], block[2]); }

std::string to_string(Report const& report) {
  auto const place = [](location where) { return where.known() ? support::to_string(where) + ": " : std::string(); };
  std::string text = place(report.where) + report.text;
  if (report.times > 1) text += fmt::format(" ({} times)", report.times);
  if (!report.op.empty()) text += "\n  in " + place(report.where) + report.op;
  if (!report.other_op.empty()) text += "\n  and " + place(report.other) + report.other_op;
  return text;
}

std::string Result::str() const {
  if (clean()) return {};
  std::string text = "under " + to_string(schedule) + ":\n";
  for (Report const& report : reports) text += to_string(report) + "\n";
  if (reports_left_out != 0) text += fmt::format("and {} more\n", reports_left_out);
  return text;
}

namespace {

Argument const& argument(Arguments const& arguments, std::int32_t number, bool tensor) {
  if (number < 0 || static_cast<std::size_t>(number) >= arguments.size() ||
      arguments[static_cast<std::size_t>(number)].is_tensor != tensor)
    throw InternalError(fmt::format("launch program: argument {} is not a {}", number, tensor ? "tensor" : "scalar"));
  return arguments[static_cast<std::size_t>(number)];
}

/// Returns the value of a step without operands.
std::int64_t leaf(LaunchInstruction const& step, Arguments const& arguments) {
  if (step.op == LaunchOp::extent) return argument(arguments, step.a, true).tensor.extents[step.b];
  if (step.op == LaunchOp::scalar) return ir::to_int(argument(arguments, step.a, false).scalar);
  return step.op == LaunchOp::multiprocessors ? host_multiprocessors : step.value;
}

}  // namespace

std::vector<std::int64_t> evaluate(LaunchProgram const& program, Arguments const& arguments) {
  std::vector<std::int64_t> values;
  values.reserve(program.steps.size());
  auto const at = [&](std::int32_t step) {
    if (step < 0 || static_cast<std::size_t>(step) >= values.size())
      throw InternalError(fmt::format("launch program: step {} uses step {}", values.size(), step));
    return values[static_cast<std::size_t>(step)];
  };
  for (LaunchInstruction const& step : program.steps) {
    if (is_leaf(step.op)) {
      values.push_back(leaf(step, arguments));
    } else {
      std::int64_t const c = step.op == LaunchOp::select ? at(step.c) : 0;
      values.push_back(abi::apply(step.op, at(step.a), at(step.b), c));
    }
  }
  return values;
}

}  // namespace tegula::sim
