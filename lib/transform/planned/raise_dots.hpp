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
/// By the plan a product has a `start`: early, as above; together with those that follow from as many others, after
/// the factors of all; or not before it is written.
///
/// A product stays after the arithmetic of tiles that it needs, and after those before it that could start no later.
/// Needs: whole-kernels. Leaves: no promise.
PassResult raise_dots(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
