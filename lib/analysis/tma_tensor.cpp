#include "analysis/tma_tensor.hpp"

#include <algorithm>

#include "analysis/effects.hpp"

namespace tegula::analysis {

target::TmaTensor tma_tensor(ir::Op const& access, AxisFacts const& facts) {
  constexpr std::int64_t rule_multiple = 16;
  ir::Value const& tensor = *access.in("tensor");
  ir::ParameterAttributes const& parameter = parameter_of(tensor);
  target::TmaTensor known;
  known.rank = tensor.type().rank();
  known.unit_inner = parameter.facts.unit_inner_stride;
  known.address_multiple = known.stride_multiple =
      parameter.facts.aligned_16 ? rule_multiple : bytes(tensor.type().element());
  std::int64_t const divisor = facts.divisor(*access.all("offsets").back());
  known.coordinate_multiple = divisor == 0 ? rule_multiple : std::min<std::int64_t>(divisor & -divisor, rule_multiple);
  return known;
}

}  // namespace tegula::analysis
