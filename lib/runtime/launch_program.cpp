#include "runtime/launch_program.hpp"

#include <fmt/format.h>

#include "abi/launch_errors.hpp"
#include "abi/launch_steps.hpp"
#include "support/diagnostics.hpp"
#include "support/enum_names.hpp"
#include "tegula/support/error.hpp"
#include "tegula/support/symbol.hpp"

namespace tegula::runtime {
namespace {

Argument const& argument(std::span<Argument const> arguments, std::int32_t number, ParameterKind kind) {
  if (number < 0 || static_cast<std::size_t>(number) >= arguments.size() ||
      arguments[static_cast<std::size_t>(number)].kind != kind)
    throw InternalError(fmt::format("launch program: parameter {} is not a {}", number,
                                    kind == ParameterKind::tensor ? "tensor" : "scalar"));
  return arguments[static_cast<std::size_t>(number)];
}

constexpr support::EnumNames<LaunchOp::multiprocessors> spellings({
    {LaunchOp::constant, "constant"},
    {LaunchOp::extent, "extent"},
    {LaunchOp::scalar, "scalar"},
    {LaunchOp::add, "+"},
    {LaunchOp::sub, "-"},
    {LaunchOp::mul, "*"},
    {LaunchOp::div, "/"},
    {LaunchOp::rem, "%"},
    {LaunchOp::min, "min"},
    {LaunchOp::max, "max"},
    {LaunchOp::ceil_div, "ceil_div"},
    {LaunchOp::bit_and, "&"},
    {LaunchOp::bit_or, "|"},
    {LaunchOp::bit_xor, "^"},
    {LaunchOp::eq, "=="},
    {LaunchOp::ne, "!="},
    {LaunchOp::lt, "<"},
    {LaunchOp::le, "<="},
    {LaunchOp::gt, ">"},
    {LaunchOp::ge, ">="},
    {LaunchOp::select, "select"},
    {LaunchOp::multiprocessors, "multiprocessors"},
});

/// Prints a step; at depth 0 only its value.
std::string words(LaunchProgram const& program, std::span<std::int64_t const> values, int step, int depth) {
  LaunchInstruction const& instruction = program.steps[static_cast<std::size_t>(step)];
  std::int64_t const value = values[static_cast<std::size_t>(step)];
  switch (instruction.op) {
    case LaunchOp::constant:
      return fmt::format("{}", value);
    case LaunchOp::extent:
      return fmt::format("{} (axis {} of argument {})", value, instruction.b, instruction.a + 1);
    case LaunchOp::scalar:
      return fmt::format("{} (argument {})", value, instruction.a + 1);
    case LaunchOp::multiprocessors:
      return fmt::format("{} (multiprocessors)", value);
    default:
      break;
  }
  if (depth == 0) return fmt::format("{}", value);
  std::string const a = words(program, values, instruction.a, depth - 1);
  std::string const b = words(program, values, instruction.b, depth - 1);
  switch (instruction.op) {
    case LaunchOp::min:
    case LaunchOp::max:
    case LaunchOp::ceil_div:
      return fmt::format("{}({}, {})", spellings[instruction.op], a, b);
    case LaunchOp::select:
      return fmt::format("select({}, {}, {})", a, b, words(program, values, instruction.c, depth - 1));
    default:
      return fmt::format("{} {} {}", a, spellings[instruction.op], b);
  }
}

}  // namespace

std::vector<std::int64_t> evaluate(LaunchProgram const& program, std::span<Argument const> arguments,
                                   std::int64_t multiprocessors) {
  std::vector<std::int64_t> values;
  values.reserve(program.steps.size());
  auto const earlier = [&](std::int32_t step) {
    if (step < 0 || static_cast<std::size_t>(step) >= values.size())
      throw InternalError(fmt::format("launch program: step {} names step {}", values.size(), step));
    return values[static_cast<std::size_t>(step)];
  };
  for (LaunchInstruction const& step : program.steps) {
    switch (step.op) {
      case LaunchOp::constant:
        values.push_back(step.value);
        break;
      case LaunchOp::extent: {
        Argument const& tensor = argument(arguments, step.a, ParameterKind::tensor);
        if (step.b < 0 || step.b >= tensor.rank)
          throw InternalError(
              fmt::format("launch program: axis {} of parameter {} of rank {}", step.b, step.a, tensor.rank));
        values.push_back(tensor.extents[step.b]);
        break;
      }
      case LaunchOp::scalar:
        values.push_back(argument(arguments, step.a, ParameterKind::scalar).scalar);
        break;
      case LaunchOp::multiprocessors:
        values.push_back(multiprocessors);
        break;
      case LaunchOp::select:
        values.push_back(abi::apply(step.op, earlier(step.a), earlier(step.b), earlier(step.c)));
        break;
      default:
        values.push_back(abi::apply(step.op, earlier(step.a), earlier(step.b), 0));
    }
  }
  return values;
}

std::string describe(LaunchProgram const& program, std::span<std::int64_t const> values, int step) {
  return words(program, values, step, 3);
}

void check_requirements(std::string_view kernel, LaunchProgram const& program, std::span<std::int64_t const> values,
                        std::span<location const> sites) {
  for (std::size_t i = 0; i < program.requirements.size(); ++i) {
    Requirement const& requirement = program.requirements[i];
    if (requirement.condition < 0 || static_cast<std::size_t>(requirement.condition) >= values.size())
      throw InternalError(fmt::format("launch program: requirement names step {}", requirement.condition));
    if (values[static_cast<std::size_t>(requirement.condition)] != 0) continue;
    // The text of an exception's place must outlive it; interned text lives as long as the process.
    location const own(Symbol(requirement.file).c_str(), requirement.line);
    location const where = i < sites.size() ? sites[i] : own;
    std::string text = fmt::format("{}; found {}", abi::text_of_requirement(kernel, requirement.message),
                                   describe(program, values, requirement.condition));
    if (where.known()) text += fmt::format("\n  note: required at {}", support::to_string(where));
    throw UserError(text, where);
  }
}

}  // namespace tegula::runtime
