// Texts of schedules, reports and results; launch programs.
#include <algorithm>

#include "sim/agent.hpp"
#include "support/diagnostics.hpp"
#include "tegula/math/functions.hpp"
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

std::vector<std::int64_t> evaluate(LaunchProgram const& program, Arguments const& arguments) {
  std::vector<std::int64_t> values;
  values.reserve(program.steps.size());
  auto const at = [&](std::int32_t step) {
    if (step < 0 || static_cast<std::size_t>(step) >= values.size())
      throw InternalError("launch program: step " + std::to_string(values.size()) + " uses step " +
                          std::to_string(step));
    return values[static_cast<std::size_t>(step)];
  };
  auto const argument = [&](std::int32_t number, bool tensor) -> Argument const& {
    if (number < 0 || static_cast<std::size_t>(number) >= arguments.size() ||
        arguments[static_cast<std::size_t>(number)].is_tensor != tensor)
      throw InternalError("launch program: argument " + std::to_string(number) + " is not a " +
                          (tensor ? "tensor" : "scalar"));
    return arguments[static_cast<std::size_t>(number)];
  };
  for (LaunchInstruction const& step : program.steps) {
    auto const value = [&]() -> std::int64_t {
      switch (step.op) {
        case LaunchOp::constant:
          return step.value;
        case LaunchOp::extent:
          return argument(step.a, true).tensor.extents[step.b];
        case LaunchOp::scalar:
          return ir::to_int(argument(step.a, false).scalar);
        case LaunchOp::add:
          return math::wrapping_add(at(step.a), at(step.b));
        case LaunchOp::sub:
          return math::wrapping_sub(at(step.a), at(step.b));
        case LaunchOp::mul:
          return math::wrapping_mul(at(step.a), at(step.b));
        case LaunchOp::div:
          return math::div(at(step.a), at(step.b));
        case LaunchOp::rem:
          return math::rem(at(step.a), at(step.b));
        case LaunchOp::min:
          return std::min(at(step.a), at(step.b));
        case LaunchOp::max:
          return std::max(at(step.a), at(step.b));
        case LaunchOp::ceil_div:
          return math::ceil_div(at(step.a), at(step.b));
        case LaunchOp::bit_and:
          return at(step.a) & at(step.b);
        case LaunchOp::bit_or:
          return at(step.a) | at(step.b);
        case LaunchOp::bit_xor:
          return at(step.a) ^ at(step.b);
        case LaunchOp::eq:
          return at(step.a) == at(step.b) ? 1 : 0;
        case LaunchOp::ne:
          return at(step.a) != at(step.b) ? 1 : 0;
        case LaunchOp::lt:
          return at(step.a) < at(step.b) ? 1 : 0;
        case LaunchOp::le:
          return at(step.a) <= at(step.b) ? 1 : 0;
        case LaunchOp::gt:
          return at(step.a) > at(step.b) ? 1 : 0;
        case LaunchOp::ge:
          return at(step.a) >= at(step.b) ? 1 : 0;
        case LaunchOp::multiprocessors:
          return host_multiprocessors;
        case LaunchOp::select:
          return at(step.a) != 0 ? at(step.b) : at(step.c);
      }
      return 0;
    };
    values.push_back(value());
  }
  return values;
}

}  // namespace tegula::sim
