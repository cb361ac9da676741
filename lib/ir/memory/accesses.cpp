#include "ir/memory/accesses.hpp"

#include <algorithm>
#include <numeric>

#include "ir/core/builder.hpp"
#include "tegula/support/error.hpp"

namespace tegula::ir {

bool at_peer(Op const& op) { return op.info().names("rank") && op.operand_count() > op.info().position("rank"); }

Value const& tensor_of(Value const& operand) {
  if (Op const* const map = operand.defined_by<TensorMapOp>()) return *map->in<TensorMapOp>("tensor");
  Op const* const built = operand.defined_by<DeviceTensorMapOp>();
  return built == nullptr ? operand : *built->in<DeviceTensorMapOp>("slice");
}

Op* view_op(Value const& tensor) { return tensor.type().is_tensor() ? tensor.defining_op() : nullptr; }

Value const& parameter_behind(Value const& tensor) {
  Value const* at = &tensor;
  while (Op const* const view = view_op(*at)) at = view->in("tensor");
  return *at;
}

Value const& unsliced(Value const& tensor) {
  Value const* at = &tensor;
  while (Op const* const slice = at->defined_by<SliceOp>()) at = slice->in("tensor");
  return *at;
}

int viewed_axis(Op const& view, int axis) {
  return view.is<PermuteOp>() ? static_cast<int>(view.as<PermuteOp>().permutation[axis]) : axis;
}

Extents axes_of_parameter(Value const& tensor) {
  Extents axes;
  bool in_order = true;
  for (int axis = 0; axis < tensor.type().rank(); ++axis) {
    int of_parameter = axis;
    for (Value const* at = &tensor; Op const* const view = view_op(*at); at = view->in("tensor"))
      of_parameter = viewed_axis(*view, of_parameter);
    axes.push_back(of_parameter);
    in_order = in_order && of_parameter == axis;
  }
  return in_order ? Extents() : axes;
}

ParameterAttributes parameter_of(Value const& tensor) {
  Value const& parameter = parameter_behind(tensor);
  Block const* const block = parameter.owner_block();
  Function const* const function = block == nullptr ? nullptr : block->parent_function();
  if (function == nullptr) throw InternalError("a tensor that is not a parameter");
  ParameterAttributes result = function->parameter_attributes()[static_cast<std::size_t>(parameter.index())];
  for (Value const* at = &tensor; Op const* const view = view_op(*at); at = view->in("tensor")) {
    if (!view->is<SliceOp>()) continue;
    Op const& slice = *view;
    result.multiple_of = 1;
    // A slice of the last axis may begin anywhere, those of others where a row does.
    if (slice.as<SliceOp>().axis + 1 != tensor.type().rank()) continue;
    result.facts.whole_16 = false;
    auto const begin = constant_int(*slice.in<SliceOp>("begin"));
    bool const aligned = begin && *begin * bytes(tensor.type().element()) % 16 == 0;
    result.facts.aligned_16 = result.facts.aligned_16 && aligned;
  }
  return result;
}

std::int64_t multiple_of_extent(Value const& tensor, int axis) {
  ParameterAttributes const parameter = parameter_of(tensor);
  Extents const axes = axes_of_parameter(tensor);
  int const rank = parameter_behind(tensor).type().rank();
  axis = axis < 0 ? axis + tensor.type().rank() : axis;
  auto const place = axes.empty() ? axis : static_cast<int>(axes[axis]);
  bool const whole = parameter.facts.whole_16 && place == rank - 1;
  return whole ? std::lcm(parameter.multiple_of, std::int64_t{16} / bytes(tensor.type().element()))
               : parameter.multiple_of;
}

Op const* tensor_map_of(Value const& map) {
  Op const* const built = map.defined_by<DeviceTensorMapOp>();
  return (built == nullptr ? map : *built->in<DeviceTensorMapOp>("map")).defined_by<TensorMapOp>();
}

Extents copied_box(Op const& copy) {
  Value const& map = *copy.in("map");
  Value const* const view = view_of(copy);  // a prefetch has none
  Extents const& one = map.type().shape();
  Extents result = (view == nullptr ? map : *view).type().shape();
  while (result.size() < one.size()) result.insert(0, 1);
  Op const* const stated = tensor_map_of(map);
  if (stated == nullptr || stated->as<TensorMapOp>().box == one) return result;
  // Several axes of the map's box are rows of the view. Further copies begin along the last of these axes.
  Extents const& box = stated->as<TensorMapOp>().box;
  for (int axis = 0; axis + 1 < box.size(); ++axis) result[axis] += box[axis] - one[axis];
  return result;
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
