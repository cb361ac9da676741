#include "analysis/launch_program.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <type_traits>

#include "ir/core/builder.hpp"
#include "ir/core/visit_op.hpp"
#include "ir/infer/infer.hpp"
#include "tegula/support/error.hpp"

namespace tegula::analysis {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

class Slice {
 public:
  LaunchProgram program;

  /// Emits operands first, left to right; by an explicit stack, for a kernel's text may chain any number of ops.
  std::int32_t step_of(Value const& value) {
    std::vector<std::pair<Value const*, int>> open = {{&value, 0}};
    while (!open.empty()) {
      auto& [at, next] = open.back();
      Op const* const op = at->defining_op();
      bool const leaf = op == nullptr || op->is<ir::ExtentOp>() || steps_.contains(at);
      if (!leaf && next < op->operand_count()) {
        open.emplace_back(op->operand(next++), 0);
        continue;
      }
      if (!steps_.contains(at)) steps_.emplace(at, compute(*at));
      open.pop_back();
    }
    return steps_.at(&value);
  }

  /// Checks the multiples that a parameter's type promises like written requirements.
  void require_multiples(ir::Function const& kernel) {
    for (int i = 0; i < kernel.parameter_count(); ++i) {
      std::int64_t const multiple = kernel.parameter_attributes()[static_cast<std::size_t>(i)].multiple_of;
      if (multiple == 1 || !kernel.parameter(i)->type().is_tensor()) continue;
      for (int axis = 0; axis < kernel.parameter(i)->type().rank(); ++axis) {
        std::int32_t const extent = emit(LaunchOp::extent, i, axis);
        std::int32_t const divisor = number(multiple);
        std::int32_t const rest = emit(LaunchOp::rem, extent, divisor);
        std::int32_t const zero = number(0);
        program.requirements.push_back(
            {emit(LaunchOp::eq, rest, zero),
             fmt::format("argument {}: the extent of axis {} is not a multiple of {}, as multiple_of in its type "
                         "promises; pad the tensor, or leave the fact out of the type",
                         i + 1, axis, multiple),
             kernel.where.file(), kernel.where.line()});
      }
    }
  }

 private:
  std::int32_t emit(LaunchOp op, std::int32_t a = 0, std::int32_t b = 0, std::int32_t c = 0, std::int64_t value = 0) {
    auto const [known, is_new] =
        emitted_.try_emplace({op, a, b, c, value}, static_cast<std::int32_t>(program.steps.size()));
    if (is_new) program.steps.push_back({op, a, b, c, value});
    return known->second;
  }
  std::int32_t number(std::int64_t value) { return emit(LaunchOp::constant, 0, 0, 0, value); }

  /// Brings a 64-bit result to the element: narrower ones wrap.
  std::int32_t narrowed(std::int32_t step, Element element) {
    if (!is_integer(element) || bits(element) == 64) return step;
    if (!is_signed(element)) return emit(LaunchOp::bit_and, step, number(max_integer(element)));
    std::int32_t const bias = number(std::int64_t{1} << (bits(element) - 1));
    std::int32_t const mask = number((std::int64_t{1} << bits(element)) - 1);
    std::int32_t const low = emit(LaunchOp::bit_and, emit(LaunchOp::add, step, bias), mask);
    return emit(LaunchOp::sub, low, bias);
  }

  static LaunchOp predicate_op(ir::Predicate predicate) {
    static constexpr LaunchOp ops[] = {LaunchOp::eq, LaunchOp::ne, LaunchOp::lt,
                                       LaunchOp::le, LaunchOp::gt, LaunchOp::ge};
    return ops[static_cast<int>(predicate)];
  }

  std::int32_t negated(std::int32_t step) {
    std::int32_t const zero = number(0);
    return emit(LaunchOp::sub, zero, step);
  }

  // Each op makes its step from those of its operands. Steps are made in statements of their own: the order of
  // arguments is the compiler's, the program must not be.
  std::int32_t step(ir::ConstantOp const& constant, Op const&) { return number(ir::to_int(constant.value)); }
  std::int32_t step(ir::MultiprocessorsOp const&, Op const&) { return emit(LaunchOp::multiprocessors); }
  std::int32_t step(ir::ExtentOp const& extent, Op const& op) {
    return emit(LaunchOp::extent, op.operand()->index(), static_cast<std::int32_t>(extent.axis));
  }
  std::int32_t step(ir::CompareOp const& compare, Op const& op) { return binary(predicate_op(compare.predicate), op); }
  std::int32_t step(ir::SelectOp const&, Op const& op) {
    std::int32_t const condition = steps_.at(op.in<ir::SelectOp>("condition"));
    std::int32_t const left = steps_.at(op.lhs()), right = steps_.at(op.rhs());
    return emit(LaunchOp::select, condition, left, right);
  }
  std::int32_t step(ir::CastOp const&, Op const& op) { return narrowed(steps_.at(op.operand()), element_of(op)); }
  std::int32_t step(ir::NegOp const&, Op const& op) {
    return narrowed(negated(steps_.at(op.operand())), element_of(op));
  }
  std::int32_t step(ir::AbsOp const&, Op const& op) {
    std::int32_t const positive = steps_.at(op.operand());
    std::int32_t const negative = negated(positive);
    return narrowed(emit(LaunchOp::max, positive, negative), element_of(op));
  }
  std::int32_t step(ir::NotOp const&, Op const& op) {
    std::int32_t const bits = steps_.at(op.operand());
    std::int32_t const mask = number(element_of(op) == Element::boolean ? 1 : -1);
    return narrowed(emit(LaunchOp::bit_xor, bits, mask), element_of(op));
  }

  static Element element_of(Op const& op) { return op.result()->type().element(); }

  std::int32_t binary(LaunchOp operation, Op const& op) {
    std::int32_t const left = steps_.at(op.lhs());
    std::int32_t const right = steps_.at(op.rhs());
    std::int32_t const result = emit(operation, left, right);
    bool const wraps = operation == LaunchOp::add || operation == LaunchOp::sub || operation == LaunchOp::mul ||
                       operation == LaunchOp::div;
    return wraps ? narrowed(result, element_of(op)) : result;
  }

  template <class OpStruct>
  std::int32_t step_of_op(Op const& op) {
    constexpr bool stated = (OpStruct::traits & ir::launchable) != 0 || std::is_same_v<OpStruct, ir::ExtentOp>;
    if constexpr (requires { OpStruct::launch; })
      return binary(OpStruct::launch, op);
    else if constexpr (stated)
      return step(op.as<OpStruct>(), op);  // an op with the trait launchable needs an overload
    else
      throw InternalError("launch program: no step for " + std::string(op.info().mnemonic));
  }

  std::int32_t compute(Value const& value) {
    Op const* const op = value.defining_op();
    if (op == nullptr) return emit(LaunchOp::scalar, value.index());
    return visit_op(op->kind(), [&](auto type) { return step_of_op<typename decltype(type)::type>(*op); });
  }

  std::map<Value const*, std::int32_t> steps_;
  std::map<std::tuple<LaunchOp, std::int32_t, std::int32_t, std::int32_t, std::int64_t>, std::int32_t> emitted_;
};

void check(Op const& op, Value const& value) {
  std::string const reason = ir::why_not_launchable(value);
  if (!reason.empty()) throw UserError(std::string(op.info().mnemonic) + ": " + reason, op.where());
}

}  // namespace

LaunchProgram launch_program(ir::Function const& kernel) {
  Slice slice;
  for (Op const& op : kernel.body()) {
    if (!op.is(ir::Family::launch)) continue;
    for (Value const* operand : op.operands()) check(op, *operand);
    if (op.is<ir::GridOp>()) {
      for (int i = 0; i < op.operand_count(); ++i)
        slice.program.grid[static_cast<std::size_t>(i)] = slice.step_of(*op.operand(i));
    } else if (op.is<ir::RequireOp>()) {
      std::int32_t const condition = slice.step_of(*op.operand());
      slice.program.requirements.push_back(
          {condition, std::string(op.as<ir::RequireOp>().message.view()), op.where().file(), op.where().line()});
    }
  }
  slice.require_multiples(kernel);
  return slice.program;
}

std::string to_string(LaunchProgram const& program) {
  static constexpr char const* names[] = {
      "constant", "extent", "scalar", "add", "sub", "mul", "div", "rem", "min", "max",    "ceil_div",
      "and",      "or",     "xor",    "eq",  "ne",  "lt",  "le",  "gt",  "ge",  "select", "multiprocessors"};
  std::string text;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    LaunchInstruction const& step = program.steps[i];
    text += fmt::format("{}: {}", i, names[static_cast<int>(step.op)]);
    if (step.op == LaunchOp::constant)
      text += fmt::format(" {}", step.value);
    else if (step.op == LaunchOp::scalar)
      text += fmt::format(" of parameter {}", step.a);
    else if (step.op == LaunchOp::extent)
      text += fmt::format(" of parameter {}, axis {}", step.a, step.b);
    else if (step.op != LaunchOp::multiprocessors)
      text += fmt::format(" {}, {}{}", step.a, step.b, step.op == LaunchOp::select ? fmt::format(", {}", step.c) : "");
    text += "\n";
  }
  text += "grid";
  for (std::int32_t const step : program.grid) text += step < 0 ? " 1" : fmt::format(" #{}", step);
  text += "\n";
  for (Requirement const& requirement : program.requirements)
    text += fmt::format("require #{}: {}\n", requirement.condition, requirement.message);
  return text;
}

std::vector<ParameterInfo> parameters_of(ir::Function const& kernel) {
  std::vector<ParameterInfo> result;
  for (int i = 0; i < kernel.parameter_count(); ++i) {
    ir::Type const& type = kernel.parameter(i)->type();
    auto const& attributes = kernel.parameter_attributes()[static_cast<std::size_t>(i)];
    result.push_back({type.is_tensor() ? ParameterKind::tensor : ParameterKind::scalar, attributes.direction,
                      type.element(), type.rank(), attributes.facts});
  }
  return result;
}

}  // namespace tegula::analysis
