// Reads and writes the data of tables: elements that are known when a kernel is compiled.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ir/core/op.hpp"

namespace tegula::ir {

/// Returns the bytes of a table's elements, in row-major order, as they lie in memory.
std::vector<std::byte> table_bytes(TableOp const& table);
/// Returns the data of a table whose elements have these bytes.
Symbol table_data(std::span<std::byte const> bytes);

}  // namespace tegula::ir
