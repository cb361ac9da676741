// Lets ops run as they are recorded: the debug device behind a Recorder.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/core/op.hpp"
#include "tegula/trace/recorder.hpp"

namespace tegula::trace {

/// Runs the ops of one block of the grid. They are appended, in the order in which they run, to a function whose
/// parameters are the kernel's. Loops are unrolled, branches are those that are taken, functions are inlined.
class Eager {
 public:
  virtual ~Eager() = default;
  [[nodiscard]] virtual ir::Function& function() = 0;
  /// Returns the kernel's next parameter.
  virtual ir::Value& parameter(ir::Type const& type, ir::ParameterAttributes const& attributes) = 0;
  /// States the extents of the grid, the fastest first. Does not return if the grid has no block.
  virtual void grid(std::vector<std::int64_t> const& extents) = 0;
  /// Runs the op, the last of the function.
  virtual void run(ir::Op const& op) = 0;
  /// Returns the number in an i64 or bool scalar.
  [[nodiscard]] virtual std::int64_t number(ir::Value const& scalar) = 0;
  /// States that a variable of the kernel now names this value.
  virtual void name(Handle variable, ir::Value const& value) = 0;
};

/// Sends the traces of this thread to an executor while it lives; null: traces only record.
class EagerScope {
 public:
  explicit EagerScope(Eager* executor);
  ~EagerScope();
  EagerScope(EagerScope const&) = delete;
  EagerScope& operator=(EagerScope const&) = delete;

 private:
  Eager* former_;
};

/// Returns the executor of this thread; null: traces only record.
Eager* eager();

}  // namespace tegula::trace
