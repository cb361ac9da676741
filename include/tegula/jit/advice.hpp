// Advises on a launch: its limit, the share of it that is expected, and remedies.
#pragma once

#include "tegula/abi/advice.hpp"
#include "tegula/jit/launch.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula {
namespace jit {

/// `target`: a GPU that need not be there; null: the device of the tensors.
Advice advice(TargetInfo const* target, KernelRef const& kernel, ArgumentList arguments, GridOverride const& grid);

template <Launchable K, class... X>
Advice advice_typed(TargetInfo const* target, CompileOptions const* options, K const& kernel, X&... arguments) {
  return call::checked<call::CallOf<call::StreamKind::any, K, X...>>(
      kernel,
      [&](ArgumentList list, GridOverride const& grid) {
        return jit::advice(target, reference(kernel, options), list, grid);
      },
      arguments...);
}

}  // namespace jit

/// Returns advice on a launch with these arguments: what limits it, the share of that limit that it is expected to
/// reach, and up to three remedies in the terms of its kernel and its tensors. Compiles, but does not run anything.
/// `for (SlowSpot const& spot : advice(k, a, b).slow) ...`
template <Launchable K, class... X>
[[nodiscard]] Advice advice(K const& kernel, X&&... arguments) {
  return jit::advice_typed(nullptr, nullptr, kernel, arguments...);
}
/// Advises on a launch with compile options of the caller's.
template <Launchable K, class... X>
[[nodiscard]] Advice advice(with const& chosen, K const& kernel, X&&... arguments) {
  return jit::advice_typed(nullptr, &chosen.options(), kernel, arguments...);
}
/// Advises on a launch on a GPU that need not be there, `advice(sm_90a, k, a, b)`: only extents, strides and addresses
/// of the tensors count.
template <Launchable K, class... X>
[[nodiscard]] Advice advice(TargetInfo const& target, K const& kernel, X&&... arguments) {
  return jit::advice_typed(&target, nullptr, kernel, arguments...);
}
template <Launchable K, class... X>
[[nodiscard]] Advice advice(TargetInfo const& target, with const& chosen, K const& kernel, X&&... arguments) {
  return jit::advice_typed(&target, &chosen.options(), kernel, arguments...);
}

}  // namespace tegula
