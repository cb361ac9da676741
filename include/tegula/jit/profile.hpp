// Provides profile: a launch that records its course.
#pragma once

#include <span>

#include "tegula/jit/launch.hpp"

namespace tegula {

/// Runs a kernel once, as launch() does, waits for it, and returns what its warps recorded: `profile(stream,
/// with(options), k, a, b)`. `options.profile` selects records, strategy and sizes; if it selects no records, those of
/// the kernel's author and of the compiler are made. Under TEGULA_SIMULATE it returns the simulator's virtual time.
/// Throws UserError as launch() does, and in a build without the profiler.
template <class Stream, Launchable K, class... X>
requires std::derived_from<Stream, stream>
[[nodiscard]] Profile profile(Stream const& order, with const& chosen, K const& kernel, X&&... arguments) {
  return call::checked<call::CallOf<call::stream_kind<Stream>(), K, X...>>(
      kernel,
      [&](call::ArgumentList list, GridOverride const& grid) {
        return jit::profile(order, jit::reference(kernel, &chosen.options()), list, grid);
      },
      arguments...);
}

/// Runs a kernel with the compiler's own options and all records.
template <class Stream, Launchable K, class... X>
requires std::derived_from<Stream, stream>
[[nodiscard]] Profile profile(Stream const& order, K const& kernel, X&&... arguments) {
  return profile(order, with(CompileOptions{}), kernel, arguments...);
}

/// Runs prepared launches of one device twice, as graph() replays them, and returns when each one ran the second time:
/// a line for each kernel, a bar for each launch. They must have been prepared with records (`options.profile`, or
/// under TEGULA_PROFILE); those without are left out. Throws UserError if none has records, and in a build without the
/// profiler.
[[nodiscard]] Profile profile(stream const& order, std::span<prepared const> launches);

}  // namespace tegula
