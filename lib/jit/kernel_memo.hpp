// Finds the memory of a captureless kernel by its type and name: its trace, its code and its latest launches.
#pragma once

#include <memory>

#include "jit/kept_trace.hpp"
#include "jit/known_code.hpp"
#include "jit/recent_launches.hpp"

namespace tegula::jit {

struct KernelMemo {
  KeptTrace trace;
  KnownCode code;
  RecentLaunches recent;
};

/// Finds the kernel's memo; null for a kernel that is traced at each launch. Safe from any thread.
std::shared_ptr<KernelMemo> memo_of(KernelRef const& kernel);

/// Forgets all memos.
void forget_memos();

/// Returns the kernel's IR: traced once per identity and name, else at each call. Safe from any thread; threads that
/// ask first at the same time trace at the same time.
std::shared_ptr<Traced const> traced(KernelRef const& kernel, GridFrom grid = GridFrom::kernel);

}  // namespace tegula::jit
