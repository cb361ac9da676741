// Launches kernels that were compiled while the program was built. Needs the runtime alone: no compiler, no LLVM.
#pragma once

#include <concepts>
#include <string>

#include "tegula/aot/embedded.hpp"
#include "tegula/call/pack.hpp"
#include "tegula/runtime/prepared.hpp"
#include "tegula/runtime/tensor_view.hpp"
#include "tegula/support/error.hpp"  // launches throw UserError, which callers catch

namespace tegula {
namespace aot {

void launch(stream const& order, KernelTable const& kernel, call::ArgumentList arguments, GridOverride const& grid);
detail::PreparedState* prepare(device const* where, KernelTable const& kernel, call::ArgumentList arguments,
                               GridOverride const& grid);
std::string explain(device const* where, KernelTable const& kernel, call::ArgumentList arguments,
                    GridOverride const& grid);

}  // namespace aot

/// Names a kernel that the program embeds. P are its parameters: in, out, inout and arg. The header that
/// tegula_kernels() generates defines one object per kernel. launch, prepare and explain take it in place of a kernel
/// object, with the same arguments, checks and errors.
///
/// Throws UserError if the program embeds no form of the kernel for the device, or no configuration for the extents. A
/// kernel that states its grid runs on this grid alone.
template <class... P>
class embedded {
 public:
  using parameters = detail::TypeList<P...>;
  constexpr explicit embedded(aot::KernelTable const& table) : table_(&table) {}
  [[nodiscard]] constexpr aot::KernelTable const& table() const { return *table_; }
  [[nodiscard]] constexpr char const* name() const { return table_->name; }

  /// Runs the kernel: the same as launch(order, kernel, arguments...).
  template <class Stream, class... X>
  requires std::derived_from<Stream, stream>
  void operator()(Stream const& order, X&&... arguments) const { launch(order, *this, arguments...); }

 private:
  aot::KernelTable const* table_;
};

/// Runs an embedded kernel on a stream; see launch(stream, kernel, arguments...).
template <class Stream, class... P, class... X>
requires std::derived_from<Stream, stream>
void launch(Stream const& order, embedded<P...> const& kernel, X&&... arguments) {
  call::checked<call::CallOf<call::stream_kind<Stream>(), embedded<P...>, X...>>(
      kernel,
      [&](call::ArgumentList list, GridOverride const& grid) { aot::launch(order, kernel.table(), list, grid); },
      arguments...);
}

/// Prepares a launch of an embedded kernel; see prepare(kernel, arguments...).
template <class... P, class... X>
[[nodiscard]] prepared prepare(embedded<P...> const& kernel, X&&... arguments) {
  return prepared(call::checked<call::CallOf<call::StreamKind::any, embedded<P...>, X...>>(
      kernel,
      [&](call::ArgumentList list, GridOverride const& grid) {
        return aot::prepare(nullptr, kernel.table(), list, grid);
      },
      arguments...));
}
template <class... P, class... X>
[[nodiscard]] prepared prepare(device where, embedded<P...> const& kernel, X&&... arguments) {
  return prepared(call::checked<call::CallOf<call::StreamKind::any, embedded<P...>, X...>>(
      kernel,
      [&](call::ArgumentList list, GridOverride const& grid) {
        return aot::prepare(&where, kernel.table(), list, grid);
      },
      arguments...));
}

/// Explains, as text, a launch of an embedded kernel: configuration, form, facts used, the plan of its arguments, grid.
template <class... P, class... X>
[[nodiscard]] std::string explain(embedded<P...> const& kernel, X&&... arguments) {
  return call::checked<call::CallOf<call::StreamKind::any, embedded<P...>, X...>>(
      kernel,
      [&](call::ArgumentList list, GridOverride const& grid) {
        return aot::explain(nullptr, kernel.table(), list, grid);
      },
      arguments...);
}

}  // namespace tegula
