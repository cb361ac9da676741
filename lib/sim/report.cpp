// Texts of schedules, reports and results; launch programs.
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
  return "schedule::seed(" + std::to_string(schedule.seed) + ")";
}

std::string block_text(Grid const& block) {
  return "(" + std::to_string(block[0]) + ", " + std::to_string(block[1]) + ", " + std::to_string(block[2]) + ")";
}

std::string to_string(Report const& report) {
  auto const place = [](location where) { return where.known() ? support::to_string(where) + ": " : std::string(); };
  std::string text = place(report.where) + report.text;
  if (report.times > 1) text += " (" + std::to_string(report.times) + " times)";
  if (!report.op.empty()) text += "\n  in " + place(report.where) + report.op;
  if (!report.other_op.empty()) text += "\n  and " + place(report.other) + report.other_op;
  return text;
}

std::string Result::str() const {
  if (clean()) return {};
  std::string text = "under " + to_string(schedule) + ":\n";
  for (Report const& report : reports) text += to_string(report) + "\n";
  if (reports_left_out != 0) text += "and " + std::to_string(reports_left_out) + " more\n";
  return text;
}

namespace {

Argument const& argument(Arguments const& arguments, std::int32_t number, bool tensor) {
  if (number < 0 || static_cast<std::size_t>(number) >= arguments.size() ||
      arguments[static_cast<std::size_t>(number)].is_tensor != tensor)
    throw InternalError("launch program: argument " + std::to_string(number) + " is not a " +
                        (tensor ? "tensor" : "scalar"));
  return arguments[static_cast<std::size_t>(number)];
}

/// Gives the value of a step without operands.
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
      throw InternalError("launch program: step " + std::to_string(values.size()) + " uses step " +
                          std::to_string(step));
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
