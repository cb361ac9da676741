// Lists the numbers of warps that may compute a kernel, the best first.
#pragma once

#include <vector>

#include "transform/common/plan_products.hpp"

namespace tegula::transform {

/// Lists the candidates of a plan in the order that plan_of states (kernel_plan.hpp).
std::vector<int> candidates(PlannedProducts const& products);

}  // namespace tegula::transform
