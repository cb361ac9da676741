// Makes the steps of the launch program that code generation needs: sizes of packed operands.
#pragma once

#include <map>
#include <optional>

#include "ir/core/op.hpp"
#include "tegula/abi/compiled_kernel.hpp"

namespace tegula::codegen::host {

/// True when the host can compute the scalar before the launch from constants, extents and integer scalars.
bool is_launch_expression(ir::Value const& value);

/// Collects steps; each call returns the index of the step that holds the value.
class LaunchSteps {
 public:
  /// Returns the step of a value; only for launch expressions.
  std::int32_t value(ir::Value const& value);
  std::int32_t constant(std::int64_t value);
  std::int32_t apply(LaunchOp op, std::int32_t a, std::int32_t b, std::int32_t c = 0);
  [[nodiscard]] std::vector<LaunchInstruction> take() { return std::move(steps_); }

 private:
  std::int32_t add(LaunchInstruction instruction);
  std::vector<LaunchInstruction> steps_;
  std::map<ir::Value const*, std::int32_t> known_;
};

}  // namespace tegula::codegen::host
