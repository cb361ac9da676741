#include "ir/accesses.hpp"

#include <algorithm>

#include "ir/builder.hpp"
#include "tegula/support/error.hpp"

namespace tegula::ir {

bool at_peer(Op const& op) { return op.info().names("rank") && op.operand_count() > op.info().position("rank"); }

Value const& tensor_of(Value const& operand) {
  if (Op const* const map = operand.defined_by<TensorMapOp>()) return *map->in<TensorMapOp>("tensor");
  Op const* const built = operand.defined_by<DeviceTensorMapOp>();
  return built == nullptr ? operand : *built->in<DeviceTensorMapOp>("slice");
}

Value const& parameter_behind(Value const& tensor) {
  Value const* at = &tensor;
  while (Op const* const slice = at->defined_by<SliceOp>()) at = slice->in<SliceOp>("tensor");
  return *at;
}

ParameterAttributes parameter_of(Value const& tensor) {
  Value const& parameter = parameter_behind(tensor);
  Block const* const block = parameter.owner_block();
  Function const* const function = block == nullptr ? nullptr : block->parent_function();
  if (function == nullptr) throw InternalError("a tensor that is not a parameter");
  ParameterAttributes result = function->parameter_attributes()[static_cast<std::size_t>(parameter.index())];
  for (Value const* at = &tensor; at != &parameter; at = at->defining_op()->in<SliceOp>("tensor")) {
    Op const& slice = *at->defining_op();
    result.multiple_of = 1;
    // A slice of the last axis may begin anywhere, those of others where a row does.
    if (slice.as<SliceOp>().axis + 1 != tensor.type().rank()) continue;
    auto const begin = constant_int(*slice.in<SliceOp>("begin"));
    bool const aligned = begin && *begin * bytes(tensor.type().element()) % 16 == 0;
    result.facts.aligned_16 = result.facts.aligned_16 && aligned;
  }
  return result;
}

Op const* tensor_map_of(Value const& map) {
  Op const* const built = map.defined_by<DeviceTensorMapOp>();
  return (built == nullptr ? map : *built->in<DeviceTensorMapOp>("map")).defined_by<TensorMapOp>();
}

Value const* registers_of(Op const& op, Effect const& effect) {
  if (effect.completion != Completion::none) return nullptr;
  if (effect.access == Access::read) return op.result_count() == 0 ? nullptr : op.result();
  for (std::string_view const name : {"tile", "value"})
    if (op.info().names(name)) return op.in(name);
  return nullptr;
}

Value const* view_of(Op const& op) {
  for (Effect const& effect : op.info().effects) {
    if (effect.completion == Completion::later) return op.result();
    if (effect.space == Space::shared && op.operand(effect.operand)->type().is_buffer())
      return op.operand(effect.operand);
  }
  return nullptr;
}

bool holds_log(Value const& buffer) {
  return !buffer.unused() && std::all_of(buffer.uses().begin(), buffer.uses().end(),
                                         [](Use const& use) { return use.user->is<ProfileBeginOp>(); });
}

bool is_asynchronous(Op const& op) {
  Effects const& effects = op.info().effects;
  return std::any_of(effects.begin(), effects.end(), [](Effect const& e) { return e.proxy == Proxy::async; });
}

}  // namespace tegula::ir
