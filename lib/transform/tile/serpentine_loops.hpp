// Runs the loops of products forwards and backwards in turn, tile after tile.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Makes a persistent CTA run the loop of a product from its end in every second of its tiles. It starts with what the
/// CTAs fetched last for the tiles before, which the L2 cache still holds. The option `serpentine` asks for it.
///
///   before: for %tile = %first to %tiles step %ctas {tiles} {     after: ...
///             %acc = for %i = %zero to %trips step %one {                  %acc = for %i = ... {
///               %a = load %A, %row, f(%i)                                    %k = select %odd, (%trips - 1 - %i), %i
///               %b = load %B, f(%i), %column                                 %a = load %A, %row, f(%k)
///               %next = dot %a, %b, %sum                                     ...
///
/// For loops with one product each, whose sum is all that they carry, and that only load. The terms of a sum come in
/// another order in every second tile of a CTA, so `exact` keeps the loops as they are. Needs: whole-kernels. Leaves:
/// no promise.
PassResult serpentine_loops(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
