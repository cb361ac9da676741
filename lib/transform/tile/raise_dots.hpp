// Issues products as early as their factors are known.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Moves products of a loop ahead of arithmetic that they do not need, with the loads and rearrangements that give
/// their factors. So tensor cores compute the next product while other units work on the result of the last.
///
///   before: %s = dot %k, %q, %zero        after: %s = dot %k, %q, %zero
///           %p = exp2 %s                         %go = load ...
///           %go = load ...                       %d = dot %v, %go, %zero
///           %d = dot %v, %go, %zero              %p = exp2 %s
///           %ds = mul %p, %d                     %1 = cast %p
///           %0 = cast %ds                        %dv = dot %1, %go, %dv0
///           %dk = dot %0, %q, %dk0               %ds = mul %p, %d
///           %1 = cast %p                         %0 = cast %ds
///           %dv = dot %1, %go, %dv0              %dk = dot %0, %q, %dk0
///
/// By the registers of warpgroups with 64 rows each, products start
/// - early, as above, if all their results fit, with the factors that wait beside them;
/// - else together with those that follow from as many others, behind the factors of all, if these results and factors
///   fit and this iteration uses one of the results;
/// - or not before they are written.
///
/// A product stays behind the arithmetic of tiles that it needs, and behind those before it that could start no later.
/// Needs: no-calls. Leaves: no promise.
PassResult raise_dots(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform
