// Finds single elements of global memory, by coordinates and by the indices that tiles hold; for blocks and for warps.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "sim/agent.hpp"
#include "tegula/math/functions.hpp"

namespace tegula::sim {

/// Finds the element at coordinates of a tensor argument: null outside the extents, and, with a report, outside its
/// memory.
std::byte* locate(Agent&, ir::Op const&, int tensor, std::int64_t const* coordinates);

/// Computes the address of the element at coordinates, which may lie outside the tensor.
std::uintptr_t address_at(Tensor const& tensor, std::int64_t const* coordinates);

/// Reads the coordinates that the operands called `indices` give, element by element of the agent's values.
class Indices {
 public:
  Indices(Agent const& agent, ir::Op const& op);
  /// Writes the coordinates of element i.
  void get(std::int64_t i, std::int64_t* coordinates) const;

 private:
  std::vector<Value> values_;
};

/// Returns the constant in the storage type T.
template <class T>
T constant_as(ir::Constant const& constant) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(ir::to_double(constant));
  else
    return static_cast<T>(ir::to_int(constant));
}

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Returns the element that an atomic update leaves. No atomic has elements of 8 bits.
template <class T>
T updated(ir::AtomicCombine combine, T old, T value) {
  if constexpr (sizeof(T) > 1) {
    switch (combine) {
      case ir::AtomicCombine::add:
        if constexpr (std::is_floating_point_v<T>)
          return old + value;
        else
          return math::wrapping_add(old, value);
      case ir::AtomicCombine::min:
        return math::min(old, value);
      case ir::AtomicCombine::max:
        return math::max(old, value);
      case ir::AtomicCombine::bit_and:
        if constexpr (std::is_integral_v<T>) return old & value;
        break;
      case ir::AtomicCombine::bit_or:
        if constexpr (std::is_integral_v<T>) return old | value;
        break;
      case ir::AtomicCombine::bit_xor:
        if constexpr (std::is_integral_v<T>) return old ^ value;
        break;
      case ir::AtomicCombine::exchange:
        break;
    }
  }
  return value;
}

}  // namespace tegula::sim
