// Gives a target's arguments as the simulator takes them.
#pragma once

#include "ir/core/builder.hpp"
#include "sim/interpreter.hpp"
#include "kernels/targets.hpp"

namespace tegula::test {

/// Views the arguments' own bytes.
inline sim::Arguments simulated(TargetArguments& arguments) {
  sim::Arguments result;
  for (TargetArgument& argument : arguments) {
    if (!argument.is_tensor()) {
      result.emplace_back(ir::make_constant(argument.element, argument.scalar));
      continue;
    }
    sim::Tensor tensor = sim::dense(argument.data.data(), argument.element, argument.extents);
    tensor.memory_begin = argument.data.data();
    tensor.memory_end = argument.data.data() + argument.data.size();
    result.emplace_back(tensor);
  }
  return result;
}

}  // namespace tegula::test
