// Provides launch, prepare, simulate and explain, typed by the signature of the kernel's lambda.
#pragma once

#include "tegula/call/pack.hpp"
#include "tegula/jit/launcher.hpp"
#include "tegula/jit/schedule.hpp"
#include "tegula/jit/variants.hpp"

namespace tegula {
namespace jit {

template <Launchable K, class... X>
simulation simulate_in_order(schedule::order const& order, CompileOptions const* options, K const& kernel,
                             X&... arguments) {
  return call::checked<call::CallOf<call::StreamKind::any, K, X...>>(
      kernel,
      [&](ArgumentList list, GridOverride const& grid) {
        return jit::simulate(reference(kernel, options), list, grid, order.text);
      },
      arguments...);
}

template <class... X>
inline constexpr bool ends_with_order = false;
template <class Last>
inline constexpr bool ends_with_order<Last> = std::is_same_v<std::remove_cvref_t<Last>, schedule::order>;
template <class First, class Next, class... X>
inline constexpr bool ends_with_order<First, Next, X...> = ends_with_order<Next, X...>;

template <Launchable K, class... X>
simulation simulate_typed(CompileOptions const* options, K const& kernel, X&... arguments) {
  if constexpr (ends_with_order<X...>) {
    auto const all = std::tie(arguments...);
    return [&]<std::size_t... at>(std::index_sequence<at...>) {
      return simulate_in_order(std::get<sizeof...(X) - 1>(all), options, kernel, std::get<at>(all)...);
    }
    (std::make_index_sequence<sizeof...(X) - 1>());
  } else {
    return simulate_in_order({}, options, kernel, arguments...);
  }
}

}  // namespace jit

/// Runs a kernel on a stream. `arguments` are in the order of the lambda's parameters (members in place of a parameter
/// struct). A tensor is a buffer, view, device_view, std::mdspan, container, or any type with data(), rank, extent()
/// and stride(). An arg is a number. A grid(...) before the arguments replaces the kernel's own.
///
/// On the host the work is done when launch returns; on a CUDA device it is ordered on the stream. A wrong count,
/// element, rank, direction or place does not compile if the types show it. Throws UserError for mistakes that only
/// values show (extents, requirements, aliasing, alignment, a freed buffer), before anything runs.
template <class Stream, Launchable K, class... X>
requires std::derived_from<Stream, stream>
void launch(Stream const& order, K const& kernel, X&&... arguments) {
  call::checked<call::CallOf<call::stream_kind<Stream>(), K, X...>>(
      kernel,
      [&](call::ArgumentList list, GridOverride const& grid) { jit::launch(order, jit::called(kernel), list, grid); },
      arguments...);
}

/// Runs a kernel with compile options of the caller's.
template <class Stream, Launchable K, class... X>
requires std::derived_from<Stream, stream>
void launch(Stream const& order, with const& chosen, K const& kernel, X&&... arguments) {
  call::checked<call::CallOf<call::stream_kind<Stream>(), K, X...>>(
      kernel,
      [&](call::ArgumentList list, GridOverride const& grid) {
        jit::launch(order, jit::called(kernel, &chosen.options()), list, grid);
      },
      arguments...);
}

/// Prepares a launch that can run again and again without checks, look-ups or allocation:
/// `auto go = prepare(k, a, b); go(stream);`. It is for the device that holds the tensors; without a tensor,
/// device::best().
template <Launchable K, class... X>
[[nodiscard]] prepared prepare(K const& kernel, X&&... arguments) {
  return prepared(call::checked<call::CallOf<call::StreamKind::any, K, X...>>(
      kernel,
      [&](call::ArgumentList list, GridOverride const& grid) {
        return jit::prepare(nullptr, jit::called(kernel), list, grid);
      },
      arguments...));
}

/// Prepares a launch with compile options of the caller's.
template <Launchable K, class... X>
[[nodiscard]] prepared prepare(with const& chosen, K const& kernel, X&&... arguments) {
  return prepared(call::checked<call::CallOf<call::StreamKind::any, K, X...>>(
      kernel,
      [&](call::ArgumentList list, GridOverride const& grid) {
        return jit::prepare(nullptr, jit::called(kernel, &chosen.options()), list, grid);
      },
      arguments...));
}

/// Prepares a launch for a device that the caller names.
template <Launchable K, class... X>
[[nodiscard]] prepared prepare(device where, K const& kernel, X&&... arguments) {
  return prepared(call::checked<call::CallOf<call::StreamKind::any, K, X...>>(
      kernel,
      [&](call::ArgumentList list, GridOverride const& grid) {
        return jit::prepare(&where, jit::called(kernel), list, grid);
      },
      arguments...));
}

/// Names the executor of launches for a device: "host", "cuda:0", or what the environment puts in their place:
/// "simulator of tiles", "simulator of warps, seed:7" under TEGULA_SIMULATE, "debug device" under TEGULA_DEVICE=debug.
[[nodiscard]] std::string executor(device where);

/// Runs a kernel in the simulator: slow and exact; it reports races and other errors of any order. With arguments alone
/// it runs whole tiles, block by block, in the reference meaning of every op. With an order of warps,
/// `simulate(k, a, b, schedule::seed(7))`, it runs the kernel as the passes transform it for the GPU: every warp, copy
/// and barrier.
template <Launchable K, class... X>
simulation simulate(K const& kernel, X&&... arguments) {
  return jit::simulate_typed(nullptr, kernel, arguments...);
}

/// Simulates with compile options of the caller's, which decide the code of the warps.
template <Launchable K, class... X>
simulation simulate(with const& chosen, K const& kernel, X&&... arguments) {
  return jit::simulate_typed(&chosen.options(), kernel, arguments...);
}

/// Runs a kernel on the debug device: block by block, in order, on this thread. The lambda is called for each block,
/// the bodies of loops for each iteration, and of branches the one that is taken. Each op runs when it is recorded, in
/// the reference meaning of the simulator, so a debugger steps through the lambda and prints tiles
/// (lib/doc/debugging.md). TEGULA_DEVICE=debug sends every launch() here.
template <Launchable K, class... X>
simulation debug(K const& kernel, X&&... arguments) {
  return call::checked<call::CallOf<call::StreamKind::any, K, X...>>(
      kernel,
      [&](call::ArgumentList list, GridOverride const& grid) { return jit::debug(jit::reference(kernel), list, grid); },
      arguments...);
}

/// Explains a launch with these arguments: device, facts used, grid, requirements and code. Returns the path of each
/// load, store and product with the reason, what limits the launch, and what would help. Compiles if need be. The
/// answer is text, and makes a page of the kernel: `explain(k, a, b).save("k.html")`.
template <Launchable K, class... X>
[[nodiscard]] Explanation explain(K const& kernel, X&&... arguments) {
  return call::checked<call::CallOf<call::StreamKind::any, K, X...>>(
      kernel,
      [&](call::ArgumentList list, GridOverride const& grid) {
        return jit::explain(nullptr, jit::reference(kernel), list, grid);
      },
      arguments...);
}

/// Explains a launch with compile options of the caller's; those that differ from the compiler's own are listed.
template <Launchable K, class... X>
[[nodiscard]] Explanation explain(with const& chosen, K const& kernel, X&&... arguments) {
  return call::checked<call::CallOf<call::StreamKind::any, K, X...>>(
      kernel,
      [&](call::ArgumentList list, GridOverride const& grid) {
        return jit::explain(nullptr, jit::reference(kernel, &chosen.options()), list, grid);
      },
      arguments...);
}

/// Explains a launch on a GPU that need not be there, `explain(sm_90a, k, a, b)`: only extents, strides and addresses
/// of the tensors count.
template <Launchable K, class... X>
[[nodiscard]] Explanation explain(TargetInfo const& target, K const& kernel, X&&... arguments) {
  return call::checked<call::CallOf<call::StreamKind::any, K, X...>>(
      kernel,
      [&](call::ArgumentList list, GridOverride const& grid) {
        return jit::explain(target, jit::reference(kernel), list, grid);
      },
      arguments...);
}
template <Launchable K, class... X>
[[nodiscard]] Explanation explain(TargetInfo const& target, with const& chosen, K const& kernel, X&&... arguments) {
  return call::checked<call::CallOf<call::StreamKind::any, K, X...>>(
      kernel,
      [&](call::ArgumentList list, GridOverride const& grid) {
        return jit::explain(target, jit::reference(kernel, &chosen.options()), list, grid);
      },
      arguments...);
}

/// Says which of several kernels a launch with these arguments takes, and why.
template <Launchable K, class... X>
[[nodiscard]] VariantChoice choice(K const& kernels, X&&... arguments) {
  return call::checked<call::CallOf<call::StreamKind::any, K, X...>>(
      kernels,
      [&](call::ArgumentList list, GridOverride const& grid) {
        return jit::choice(nullptr, jit::reference(kernels), list, grid);
      },
      arguments...);
}

/// Compiles without running: for tests, and for code that keeps binaries by itself. Does not look into a cache. Without
/// facts in the options all tensors are taken as dense and 16-byte aligned, as facts() takes them.
template <class F>
[[nodiscard]] CompiledKernel compile(Kernel<F> const& kernel, CompileOptions const& options = {}) {
  return jit::compile(jit::reference(kernel), options);
}

/// Returns the facts that decide the kernel's speed on a GPU, for tests to pin: `CHECK(facts(k).bank_conflicts() ==
/// 0)`, `CHECK(facts(k).dots[0].path == Path::wgmma)`. A kernel that compile() refuses is refused, for the same reason.
/// Compiles for the GPU of the options, of TEGULA_ARCH, else sm_90a, and does not need one; registers and spills are
/// known where ptxas is installed. Without facts in the options all tensors are taken as dense and 16-byte aligned.
template <class F>
[[nodiscard]] KernelFacts facts(Kernel<F> const& kernel, CompileOptions const& options = {}) {
  return jit::facts(jit::reference(kernel), options);
}

/// Returns the path of each load, store and product in the code for the host, each with the reason. A path is vectors
/// or single elements, contraction or not. Without facts in the options all tensors are taken as dense.
template <class F>
[[nodiscard]] KernelPaths host_paths(Kernel<F> const& kernel, CompileOptions const& options = {}) {
  return jit::host_paths(jit::reference(kernel), options);
}

/// Counts the builds of a kernel. Only the facts that explain() lists make more than one for a device and options: unit
/// inner stride and 16-byte alignment of each tensor. Their number is bounded; tensors beyond the bound take a build
/// that needs fewer facts. Extents, numbers and addresses never make another build.
template <class F>
[[nodiscard]] Builds builds(Kernel<F> const& kernel) {
  return jit::builds(jit::reference(kernel));
}

}  // namespace tegula
