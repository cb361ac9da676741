// Executes ops one by one, as they are appended to a kernel: the executor of the debug device.
#pragma once

#include <memory>
#include <string>

#include "sim/interpreter.hpp"

namespace tegula::sim {

/// Runs a launch op by op. The kernel grows; its parameters are there from the start. Throws UserError for arguments
/// that do not fit them.
class Stepper {
 public:
  Stepper(ir::Function const& kernel, Arguments const& arguments, Options const& options);
  ~Stepper();
  Stepper(Stepper const&) = delete;
  Stepper& operator=(Stepper const&) = delete;

  /// States the grid, which is one block before.
  void set_grid(Grid const& grid);
  [[nodiscard]] std::int64_t blocks() const;
  /// Goes on to a block: values of the former one are forgotten.
  void begin_block(std::int64_t linear);
  /// Executes an op without blocks of its own, whose operands have been executed in this block.
  void execute(ir::Op const& op);
  /// Returns the value of an op executed in this block, or of a scalar parameter.
  [[nodiscard]] Value const& value(ir::Value const& value) const;
  [[nodiscard]] Grid const& block() const;
  [[nodiscard]] Result take_result();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Prints a value for a debugger: `2x3xf32 {{1, 2, 3}, {4, 5, 6}}`, of each axis the first `max` elements.
std::string debug_text(Value const& value, std::int64_t max);

}  // namespace tegula::sim
