// The lives of a function's mbarriers, from init to inval or to the end of the kernel. Used by verifier.cpp. Whether a
// fence and a barrier lie between is the simulator's to say.
#pragma once

#include <string>
#include <vector>

#include "ir/op.hpp"

namespace tegula::ir {

struct MbarrierError {
  Op const* op = nullptr;
  std::string text;
};

/// What is wrong in a function whose ops are well-typed. The rules:
///   - on every path to a use (arrive, expect, wait, a copy that counts) or an inval of an object there is its init,
///   and
///     no inval since;
///   - a live object is not initialised again;
///   - an object that is invalidated is so on every path, and with all that were initialised of its array;
///   - what one partition of warp_specialize initialises or invalidates no other one uses;
///   - no op touches a buffer whose bytes are those of a live object, nor exchanges or calls through them.
/// A kernel that never reuses the bytes need not invalidate; a device function gives its own back. An index that is no
/// constant, nor counted by a loop of constant bounds, stands for all objects of the array.
std::vector<MbarrierError> mbarrier_errors(Function const& function);

}  // namespace tegula::ir
