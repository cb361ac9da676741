// launch, prepare, simulate and explain: typed by the signature of the kernel's lambda.
#pragma once

#include "tegula/dsl/grid.hpp"
#include "tegula/jit/launcher.hpp"
#include "tegula/jit/typed_argument.hpp"

namespace tegula {
namespace jit {

template <class F>
KernelRef reference(Kernel<F> const& kernel) {
  KernelRef result;
  result.name = kernel.name();
  if constexpr (Kernel<F>::captureless) result.identity = &Kernel<F>::identity;
  result.kernel = &kernel;
  result.trace = [](void const* of) { return static_cast<Kernel<F> const*>(of)->trace(); };
  return result;
}

template <class X>
inline constexpr bool is_grid = std::is_same_v<std::remove_cvref_t<X>, GridOverride>;

/// The arguments of one call without their types; the grid, if one was given, apart.
template <int n>
struct Packed {
  Argument arguments[n > 0 ? n : 1];
  GridOverride grid;
  [[nodiscard]] ArgumentList list() const { return {arguments, n}; }
};

template <StreamKind stream, class... P>
struct Packer {
  static constexpr int count = static_cast<int>(sizeof...(P));

  /// Asserts that the arguments fit; false after an assertion failed.
  template <class... X>
  static constexpr bool check() {
    constexpr int found = static_cast<int>(sizeof...(X));
    static_assert(CountsAgree<FoundCount<found>, ExpectedCount<count>>,
                  "launch: the number of arguments differs from the number of the kernel's parameters");
    if constexpr (found == count)
      return check_each<X...>(std::make_integer_sequence<int, count>());
    else
      return false;
  }

  template <class... X>
  static void pack(char const* kernel, Packed<count>& packed, X&... x) {
    int at = 0;
    ((packed.arguments[at] = make_argument<P>(kernel, at + 1, x), ++at), ...);
  }

 private:
  template <class... X, int... i>
  static constexpr bool check_each(std::integer_sequence<int, i...>) {
    return (fits<P, i + 1, stream, X>() && ...);
  }
};

/// Calls `then(reference, list, grid)` with the packed arguments. `result` stands in after a failed assertion, so that one
/// mistake gives one error.
template <StreamKind stream, class Then, class... P, class F, class... X>
auto with_arguments(detail::TypeList<P...>, Kernel<F> const& kernel, Then then, GridOverride const& grid, X&... x) {
  using Result = decltype(then(KernelRef(), ArgumentList(), grid));
  if constexpr (Packer<stream, P...>::template check<X...>()) {
    Packed<static_cast<int>(sizeof...(P))> packed;
    Packer<stream, P...>::pack(kernel.name(), packed, x...);
    return then(reference(kernel), packed.list(), grid);
  } else {
    return static_cast<Result (*)()>(nullptr)();
  }
}

/// Takes a grid that stands before the arguments.
template <StreamKind stream, class F, class Then>
auto call(Kernel<F> const& kernel, Then then) {
  return with_arguments<stream>(typename Kernel<F>::parameters(), kernel, then, GridOverride());
}
template <StreamKind stream, class F, class Then, class First, class... X>
auto call(Kernel<F> const& kernel, Then then, First& first, X&... x) {
  if constexpr (is_grid<First>)
    return with_arguments<stream>(typename Kernel<F>::parameters(), kernel, then, first, x...);
  else
    return with_arguments<stream>(typename Kernel<F>::parameters(), kernel, then, GridOverride(), first, x...);
}

}  // namespace jit

/// Runs a kernel on a stream. `arguments` are, in the order of the lambda's parameters (members in place of a parameter
/// struct): for a tensor a buffer, view, device_view, std::mdspan, container, or any type with data(), rank, extent() and
/// stride(); for an arg a number. A grid(...) before the arguments replaces the kernel's own.
///
/// On the host the work is done when launch returns; on a CUDA device it is ordered on the stream. A wrong count, element,
/// rank, direction or place that the types tell does not compile. Throws UserError for what only values tell (extents,
/// requirements, aliasing, alignment, a freed buffer), before anything runs.
template <class Stream, class F, class... X>
  requires std::derived_from<Stream, stream>
void launch(Stream const& order, Kernel<F> const& kernel, X&&... arguments) {
  jit::call<jit::stream_kind<Stream>()>(
      kernel,
      [&](jit::KernelRef const& ref, jit::ArgumentList list, GridOverride const& grid) {
        jit::launch(order, ref, list, grid);
      },
      arguments...);
}

/// A launch that can run again and again without checks, look-ups or allocation: `auto go = prepare(k, a, b); go(stream);`.
/// For the device that holds the tensors; without a tensor, device::best().
template <class F, class... X>
[[nodiscard]] prepared prepare(Kernel<F> const& kernel, X&&... arguments) {
  return prepared(jit::call<jit::StreamKind::any>(
      kernel,
      [](jit::KernelRef const& ref, jit::ArgumentList list, GridOverride const& grid) {
        return jit::prepare(nullptr, ref, list, grid);
      },
      arguments...));
}

/// The same for a device named by the caller.
template <class F, class... X>
[[nodiscard]] prepared prepare(device where, Kernel<F> const& kernel, X&&... arguments) {
  return prepared(jit::call<jit::StreamKind::any>(
      kernel,
      [&](jit::KernelRef const& ref, jit::ArgumentList list, GridOverride const& grid) {
        return jit::prepare(&where, ref, list, grid);
      },
      arguments...));
}

/// Runs a kernel in the simulator: slow, exact, and what no order of blocks makes right is reported.
template <class F, class... X>
simulation simulate(Kernel<F> const& kernel, X&&... arguments) {
  return jit::call<jit::StreamKind::any>(
      kernel,
      [](jit::KernelRef const& ref, jit::ArgumentList list, GridOverride const& grid) {
        return jit::simulate(ref, list, grid);
      },
      arguments...);
}

/// What a launch with these arguments does, as text: device, facts used, grid, requirements, code. Compiles if need be.
template <class F, class... X>
[[nodiscard]] std::string explain(Kernel<F> const& kernel, X&&... arguments) {
  return jit::call<jit::StreamKind::any>(
      kernel,
      [](jit::KernelRef const& ref, jit::ArgumentList list, GridOverride const& grid) {
        return jit::explain(nullptr, ref, list, grid);
      },
      arguments...);
}

/// Compiles without running: for tests, and for code that keeps binaries by itself. Looks into no cache.
template <class F>
[[nodiscard]] CompiledKernel compile(Kernel<F> const& kernel, CompileOptions const& options = {}) {
  return jit::compile(jit::reference(kernel), options);
}

}  // namespace tegula
