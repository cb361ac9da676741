// Infers result types from operands and attributes: one rule per op, used by the verifier, by parts that build IR, and
// by the recorder. A rule also reports errors of operands and attributes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/core/op.hpp"

namespace tegula::ir {

struct Inferred {
  std::vector<Type> types;
  std::string error;  ///< "add: lhs is tile<4xf32> but rhs is tile<8xf32>"; empty: fine
  [[nodiscard]] bool ok() const { return error.empty(); }
};

/// Returns the types of an op's results. `stated` are the types asked for. Ops whose result is not decided by their
/// operands (load, splat, iota, broadcast, cast, constant, if, call ...) take them after checking. Others ignore them,
/// but keep a stated layout where their own result does not have one.
Inferred infer(OpKind kind, void const* attributes, std::span<Type const> operands, std::span<Type const> stated = {});

template <class OpStruct>
Inferred infer(OpStruct const& attributes, std::initializer_list<Type> operands,
               std::initializer_list<Type> stated = {}) {
  return infer(kind_of<OpStruct>, &attributes, {operands.begin(), operands.size()}, {stated.begin(), stated.size()});
}

/// Explains why an op cannot have this type. Empty: fine. Types that it refuses:
/// - a tile without axes, with extents below 1 or with more than 2^24 elements,
/// - a tensor of an impossible rank.
std::string why_not_a_type(Type const& type);

/// Explains why the host cannot compute a value before a launch, from extents, integer scalars and constants. Names the
/// first op or parameter that prevents it. Empty: it can.
std::string why_not_launchable(Value const& value);

}  // namespace tegula::ir
