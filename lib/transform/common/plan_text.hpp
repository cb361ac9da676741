// Spells parts of plans, as options, messages and the IR do (kernel_plan.hpp: to_string, parse_plan).
#pragma once

#include <string>
#include <string_view>

#include "transform/common/kernel_plan.hpp"

namespace tegula::transform {

std::string_view name_of(ir::ProductStart start);
/// Prints how a product is multiplied: `wgmma=4x2+early`.
std::string text_of(ProductPlan const& product);

}  // namespace tegula::transform
