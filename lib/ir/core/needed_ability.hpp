// Says which ability of a target an op needs.
#pragma once

#include <string>

#include "ir/core/op.hpp"

namespace tegula {
struct TargetInfo;
}

namespace tegula::ir {

/// Explains why a target cannot execute an op as it stands: "sm_80 has no TMA". Empty: it can. Code generation and the
/// simulator of warps refuse the op with this text.
std::string why_not_on(Op const& op, TargetInfo const& target);

}  // namespace tegula::ir
