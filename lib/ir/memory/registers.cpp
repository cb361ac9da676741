#include "ir/memory/registers.hpp"

#include "layout/layout.hpp"

namespace tegula::ir {

int registers_of(Type const& type) {
  constexpr int word_bits = 32;
  int const bits = type.element() == Element::boolean ? 1 : 8 * bytes(type.element());
  if (type.is_tile() || type.is_pending())
    return type.layout() == nullptr ? 0 : (type.layout()->registers() * bits + word_bits - 1) / word_bits;
  if (type.is_scalar()) return (bits + word_bits - 1) / word_bits;
  return type.is_tensor() ? 0 : 1;  // an address in shared memory
}

int registers_of(Value const& value) {
  Op const* const broadcast = value.defined_by<BroadcastOp>();
  return registers_of(broadcast != nullptr ? broadcast->operand()->type() : value.type());
}

}  // namespace tegula::ir
