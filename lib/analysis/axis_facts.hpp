// Collects facts about integer values before a launch: contiguity along each axis, divisors and ranges.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/core/op.hpp"

namespace tegula::analysis {

/// Holds facts along one axis; they are true for every choice of the other coordinates. Positions are grouped in
/// aligned runs (0..n-1, n..2n-1, ...).
struct AxisFact {
  std::int64_t contiguity = 1;    ///< within each run of this length values are consecutive integers (modulo wrap)
  std::int64_t divisibility = 1;  ///< divides the first value of each such run; 0: those values are 0
  std::int64_t constancy = 1;     ///< within each run of this length values are equal
  friend bool operator==(AxisFact const&, AxisFact const&) = default;
};

/// Holds facts about one integer or boolean value. A scalar has one axis, of extent 1.
struct ValueFacts {
  std::vector<AxisFact> axes;
  std::int64_t min = std::numeric_limits<std::int64_t>::min();  ///< no element is below
  std::int64_t max = std::numeric_limits<std::int64_t>::max();  ///< no element is above

  /// Divides every element.
  [[nodiscard]] std::int64_t divisor() const;
  [[nodiscard]] bool is_constant() const { return min == max; }
  friend bool operator==(ValueFacts const&, ValueFacts const&) = default;
};

/// Computes facts of all integer and boolean values of a module. Sources are constants, iota, block indices (0 to 2^31
/// - 1), extents (0 to 2^47, less where a tensor map is made), `multiple_of`, and the kernel's requirements, which hold
/// wherever a block runs. Facts of device functions' parameters are joined over their callers; results of calls are
/// unknown.
class AxisFacts {
 public:
  explicit AxisFacts(ir::Module const& module);

  /// Returns the facts of a value; the weakest ones for floats and for values made after the analysis.
  [[nodiscard]] ValueFacts facts(ir::Value const& value) const;
  [[nodiscard]] std::int64_t divisor(ir::Value const& value) const { return facts(value).divisor(); }

  /// Prints one line per integer value of the function, in the order of its text.
  [[nodiscard]] std::string str(ir::Function const& function) const;

 private:
  std::unordered_map<ir::Value const*, ValueFacts> facts_;
};

}  // namespace tegula::analysis
