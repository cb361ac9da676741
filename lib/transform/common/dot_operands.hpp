// Places the operands of products in shared memory, and reads parts of them from there.
#pragma once

#include <cstdint>
#include <string>

#include "ir/core/builder.hpp"
#include "ir/core/op.hpp"
#include "layout/layout.hpp"
#include "transform/common/fetches.hpp"

namespace tegula::transform {

/// Returns the type that a fetched tile has as an operand.
ir::Type view_type(FetchedOperand const& source);

/// Tells whether parts of so many elements of K of an operand can be read from where it lies in shared memory.
bool readable_in_parts(ir::Value const& operand, bool left, std::int64_t step);
/// Tells whether the warps hold an operand in registers: it was not copied. Each has parts of K of a left one there.
bool in_registers(ir::Value const& operand);

/// Reads columns [from, from + step) of a left operand, or such rows of a right one. Needs: readable_in_parts.
ir::Value* part_of(ir::Builder& builder, ir::Value const& operand, bool left, ir::Value* from, std::int64_t step);

/// Stores a tile to a buffer of its own before `user`, with this layout, and returns the load that reads it again.
ir::Value* stored_operand(ir::Op& user, ir::Value* tile, layout::Layout const* layout, std::int64_t align);

/// Replaces a dot by a loop over K of multiply-adds of lanes on f32, f64 or i32. Operands that cannot be read one
/// element of K at a time are stored to shared memory first. `why` stays with the loop. `truncates`: f32 is cut to the
/// bits that tf32 keeps.
///
///   before: %d = dot %a, %b, %acc : tile<24x64xf32>
///   after:  buffer_store %buffer, %a   (the same for %b)
///           %d = for %k = 0 to K step 1 carry (%sum = %acc) : tile<24x64xf32> {
///             %column = buffer_load %buffer[0, %k] : tile<24x1xf32>   (the same for row %k of b)
///             %next = fma %columns, %rows, %sum                       (both broadcast)
///             yield %next
///           }
void multiply_by_lanes(ir::Op& dot, std::string const& why, bool truncates = false);

}  // namespace tegula::transform
