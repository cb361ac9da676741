// Checks that the layouts of a block op's operands let the hardware read and write the elements that the types name.
// One mismatch is silent wrong data. The rules of ops and the verifier ask here.
#pragma once

#include <string>

#include "layout/layout.hpp"
#include "ir/core/op.hpp"

namespace tegula::ir {

/// Explains why a tile of that shape in registers, or a view of that shape in shared memory, cannot have this layout;
/// empty: it can.
std::string why_not_in_registers(Extents const& shape, layout::Layout const& layout);
std::string why_not_in_memory(Extents const& shape, layout::Layout const& layout);

/// Explains why the layouts of views, copies and tensor-core products do not fit; empty: they do. The op's types are
/// right.
std::string why_layouts_differ(Op const& op);

}  // namespace tegula::ir
