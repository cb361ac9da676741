// The lives of a kernel's mbarriers, from init to inval or to the end of the kernel. Used by verifier.cpp. Whether a
// fence and a barrier lie between is the simulator's to say.
#pragma once

#include <string>
#include <vector>

#include "ir/op.hpp"

namespace tegula::ir {

struct MbarrierTrouble {
  Op const* op = nullptr;
  std::string text;
};

/// What is wrong in a kernel whose ops are well-typed. The rules:
///   - on every path to a use (arrive, expect, wait, a copy that counts) or an inval of an object there is its init,
///   and
///     no inval since;
///   - a live object is not initialised again;
///   - an object that is invalidated is so on every path, and with all that were initialised of its array;
///   - what one partition of warp_specialize initialises or invalidates no other one uses;
///   - no op touches a buffer or scratch whose bytes are those of a live object.
/// A kernel that never reuses the bytes need not invalidate. An index that is no constant, nor counted by a loop of
/// constant bounds, stands for all objects of the array.
std::vector<MbarrierTrouble> mbarrier_troubles(Function const& kernel);

}  // namespace tegula::ir
