// Collects the memory effects of ops, seen through nested blocks and calls.
#pragma once

#include "ir/op.hpp"

namespace tegula::analysis {

/// Effects of an op with all inside it and, for calls, of the callee.
struct EffectSummary {
  bool reads = false;
  bool writes = false;
  bool launch_fact = false;  ///< a grid or require: kept whatever its uses
};

EffectSummary effects_of(ir::Op const& op);

/// True when an op without used results may be dropped: it writes nothing, ends nothing and belongs to no launch.
bool removable(ir::Op const& op);

/// Gives the attributes of the parameter that a tensor value names, in its function; every tensor is one.
ir::ParameterAttributes const& parameter_of(ir::Value const& tensor);

/// True for a load whose value no store of this kernel can change: its tensor is an in parameter, which never aliases a
/// written one.
bool reads_constant_memory(ir::Op const& load);

}  // namespace tegula::analysis
