#include "analysis/tma_tensor.hpp"

#include <algorithm>

#include "ir/memory/accesses.hpp"

namespace tegula::analysis {

target::TmaTensor tma_tensor(ir::Value const& tensor, std::int64_t multiple, AxisFacts const& facts) {
  constexpr std::int64_t rule_multiple = 16;
  ir::ParameterAttributes const& parameter = ir::parameter_of(tensor);
  bool aligned = ir::parameter_of(ir::parameter_behind(tensor)).facts.aligned_16;
  for (ir::Value const* at = &tensor; ir::Op const* const view = ir::view_op(*at); at = view->in("tensor")) {
    if (!view->is<ir::SliceOp>()) continue;
    ir::Op const& slice = *view;
    if (slice.as<ir::SliceOp>().axis + 1 != tensor.type().rank()) continue;
    std::int64_t const divisor = facts.divisor(*slice.in<ir::SliceOp>("begin"));
    aligned = aligned && divisor * bytes(tensor.type().element()) % rule_multiple == 0;
  }
  target::TmaTensor known;
  known.rank = tensor.type().rank();
  known.unit_inner = parameter.facts.unit_inner_stride;
  known.address_multiple = known.stride_multiple = aligned ? rule_multiple : bytes(tensor.type().element());
  known.coordinate_multiple =
      multiple == 0 ? rule_multiple : std::min<std::int64_t>(multiple & -multiple, rule_multiple);
  return known;
}

}  // namespace tegula::analysis
