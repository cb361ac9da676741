#include "ir/accesses.hpp"

#include <algorithm>

namespace tegula::ir {

bool at_peer(Op const& op) { return op.info().names("rank") && op.operand_count() > op.info().position("rank"); }

Value const& tensor_of(Value const& operand) {
  Op const* const map = operand.defined_by<TensorMapOp>();
  return map == nullptr ? operand : *map->in<TensorMapOp>("tensor");
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
