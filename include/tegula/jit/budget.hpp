// Counts the resources of a GPU that a kernel uses, before machine code is made of it.
#pragma once

#include "tegula/dsl/shape.hpp"
#include "tegula/jit/launch.hpp"
#include "tegula/abi/budget.hpp"
#include "tegula/target/target_info.hpp"
#include "tegula/target/tma_rules.hpp"

namespace tegula {
namespace jit {

Budget budget(KernelRef const& kernel, CompileOptions options);

}  // namespace jit

/// Counts the resources of the kernel as the passes transform it for a GPU: shared memory, mbarriers, threads,
/// registers. The GPU is that of the options, of TEGULA_ARCH, else sm_90a. Also lists the rules that the kernel breaks,
/// each with a remedy. LLVM does not run, no GPU is needed. Without facts in the options all tensors are taken as dense
/// and 16-byte aligned. A kernel or options that the compiler refuses do not throw: fits() is false and a rule holds
/// the reason.
template <class F>
[[nodiscard]] Budget budget(Kernel<F> const& kernel, CompileOptions const& options = {}) {
  return jit::budget(jit::reference(kernel), options);
}

/// Describes a tile of elements T that a loop copies into a ring.
template <class T, class S>
struct RingTile {
  static constexpr int element_bytes = bytes(element_of<T>::value);
  static constexpr std::int64_t bytes_of_tile = S::elements * element_bytes;

  /// Returns the first rule of TMA that the shape alone breaks; null: none, and the other rules depend on the tensor.
  static constexpr TmaRule const* broken() {
    if (element_of<T>::value == Element::boolean) return &tma_rule::element;
    if (S::rank < 1 || S::rank > tma_rule::max_axes) return &tma_rule::rank;
    std::int64_t const row = S::list.back() * element_bytes;
    if (row % 16 != 0) return &tma_rule::row;
    if (row > 128 && row % 128 != 0) return &tma_rule::swizzle;
    return bytes_of_tile % 128 == 0 ? nullptr : &tma_rule::placement;
  }
};
template <class T, std::int64_t... extents>
constexpr RingTile<T, Shape<extents...>> ring_tile(Shape<extents...>) {
  return {};
}

/// Holds the resources of a kernel that shapes alone decide.
struct StaticBudget {
  std::int64_t shared = 0;          ///< bytes of the rings and their mbarriers; staging buffers and scratch come on top
  int barriers = 0;                 ///< mbarriers
  TmaRule const* broken = nullptr;  ///< the first rule that a tile breaks
};

/// Returns the budget of a loop with so many stages over copied tiles, in the text of the program:
///   static_assert(budget(stages<4>, ring_tile<bf16>(shape<128, 64>), ring_tile<bf16>(shape<64, 256>)).shared <=
///   sm_90a.shared);
template <int depth, class... T, class... S>
constexpr StaticBudget budget(Stages<depth>, RingTile<T, S>...) {
  constexpr std::int64_t mbarrier_bytes = 8;
  constexpr int kinds = 2;  // full and empty
  constexpr int in_ring = depth > 0 ? depth : 1;
  StaticBudget result;
  result.barriers = kinds * in_ring;
  result.shared = in_ring * (std::int64_t{0} + ... + RingTile<T, S>::bytes_of_tile) + result.barriers * mbarrier_bytes;
  ((result.broken = result.broken != nullptr ? result.broken : RingTile<T, S>::broken()), ...);
  return result;
}

}  // namespace tegula
