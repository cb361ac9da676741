// Takes the part of f32 that tensor cores multiply as tf32.
#pragma once

#include "ir/core/builder.hpp"

namespace tegula::transform {

/// Tells whether a function takes the upper bits of a tile, as expand-dots does. Its products of tf32 then have to
/// leave out the bits below, on tensor cores and elsewhere: another product adds them.
bool takes_upper_bits(ir::Function& function);

/// Returns the part of a tile of f32 that tensor cores multiply as tf32.
ir::Value* upper_bits(ir::Builder& builder, ir::Value* tile);

}  // namespace tegula::transform
