// Checks the lives of a function's mbarriers, from init to inval or to the end of the kernel. Used by verifier.cpp. The
// simulator checks that a fence and a barrier lie between.
#pragma once

#include <string>
#include <vector>

#include "ir/core/op.hpp"

namespace tegula::ir {

struct MbarrierError {
  Op const* op = nullptr;
  std::string text;
};

/// Lists the errors of a function whose ops are well-typed. The rules:
///   - on every path to a use of an object (arrive, expect, wait, a copy that counts) or to its inval there is its
///     init, and no inval since;
///   - a live object is not initialised again;
///   - an object that is invalidated is so on every path, and with all that were initialised of its array;
///   - an object that one partition of warp_specialize initialises or invalidates is not used in another;
///   - no op touches a buffer whose bytes are those of a live object, nor exchanges or calls through them.
/// A kernel that never reuses the bytes does not have to invalidate; a device function invalidates its own. An index
/// that is neither a constant nor counted by a loop of constant bounds stands for all objects of the array.
std::vector<MbarrierError> mbarrier_errors(Function const& function);

}  // namespace tegula::ir
