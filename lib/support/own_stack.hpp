// Runs work that recurses deeply, as LLVM does over long chains of instructions, on a stack of a chosen size.
#pragma once

#include <cstddef>
#include <functional>

namespace tegula::support {

/// Calls `work` in a thread with a stack of so many bytes and waits for it. Where the system does not give such a
/// thread, it runs on the caller's stack. Exceptions reach the caller.
void on_stack_of(std::size_t bytes, std::function<void()> const& work);

}  // namespace tegula::support
