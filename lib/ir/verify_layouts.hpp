// What the layouts of a block op's operands must be for the hardware to read and write the elements that the types
// name: one mismatch is silent wrong data. Used by verify_block.cpp.
#pragma once

#include <string>

#include "layout/layout.hpp"
#include "ir/op.hpp"

namespace tegula::ir {

/// What is wrong with this layout of a tile of that shape in registers, or of a view of that shape in shared memory;
/// empty: nothing.
std::string why_not_in_registers(Extents const& shape, layout::Layout const& layout);
std::string why_not_in_memory(Extents const& shape, layout::Layout const& layout);

/// What is wrong with the layouts of views, copies and tensor-core products; empty: nothing. The op's types are right.
std::string why_layouts_differ(Op const& op);

}  // namespace tegula::ir
