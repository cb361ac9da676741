// Counts the registers that a thread needs for values.
#pragma once

#include "ir/core/op.hpp"

namespace tegula::ir {

/// Counts the 32-bit registers of a value of this type in one thread; 16-bit elements are packed. Tiles need layouts.
int registers_of(Type const& type);
/// Counts the registers of a value while it lives. Threads read a broadcast tile from its source.
int registers_of(Value const& value);

}  // namespace tegula::ir
