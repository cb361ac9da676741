// Counts the registers of a plan, and decides by them when the products of a loop start.
#pragma once

#include "transform/common/plan_products.hpp"

namespace tegula::transform {

/// States the registers that the threads of a plan can have.
void allow(PlannedProducts const& products, KernelPlan& plan);
/// Estimates the registers of a thread, and whether more values are alive at once.
void estimate(PlannedProducts const& products, KernelPlan& plan);
/// Decides when the products of each loop run.
void order_products(PlannedProducts const& products, KernelPlan& plan);
/// Tells whether some product of a loop runs late.
bool runs_late(LoopOfProducts const& loop, KernelPlan const& plan);

}  // namespace tegula::transform
