// Declares the rules of advice: each finds one kind of thing that is slow, and says by how much more work it is
// (advice.cpp has their table).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/advice.hpp"
#include "analysis/kernel_paths.hpp"
#include "tegula/target/tma_rules.hpp"

namespace tegula::analysis {

/// Describes one thing that is slow: what it adds to the estimate of the launch without it.
struct Loss {
  SlowSpot spot;
  std::function<void(Estimate&)> add;
  double least = min_gain;  ///< share of the time from which on it is named
};

/// Holds a launch without what is slow, and what rules find to be slow.
class AdvisedLaunch {
 public:
  explicit AdvisedLaunch(Advised const& launch);

  Advised const& about;
  Executor executor;
  Machine machine;
  Estimate best;  ///< the launch without what is slow
  std::vector<Loss> losses;
  double even = 1;  ///< share of the multiprocessors' turns that blocks fill
  SlowSpot grid, small;

  [[nodiscard]] std::string name_of(WorkOfOp const& op) const;
  /// Counts the multiplications that may be one instruction with an addition.
  [[nodiscard]] double contracted() const;
  /// Notes something slow; what has the same remedy on the same line is one thing.
  void lose(SlowSpot::Kind kind, location where, std::string memory, std::string what, std::string remedy,
            std::function<void(Estimate&)> add, double least = min_gain);

 private:
  void leave_out_assumptions();
  [[nodiscard]] double resident() const;
  [[nodiscard]] bool has_roles() const;
};

/// Adds work to that of op number `i`, and of the loop that it stands in.
void add_to(Estimate& launch, std::size_t i, Work const& more);
/// Returns the bytes of a tensor in memory.
double bytes_of(AdvisedTensor const& tensor);
/// Counts the arithmetic of a function besides the units of special functions.
Work more_of_function(WorkOfOp const& op);
/// Returns the number of processors' turns that blocks take.
double turns(double blocks, double processors);
/// Says what an access does: "load of".
std::string_view verb(ir::OpKind kind);

inline constexpr double f64_factor = 3.5;  ///< by which f64 multiplies more slowly than 8 bytes of a shorter element
inline constexpr double expansion_instructions = 25;  ///< of a function without units of its own

/// Holds what the lowered kernel does in the place of an access of the traced one.
struct LoweredAccess {
  AccessPath const* row = nullptr;  ///< the slowest of the path; null: nothing is left of it
  Narrow narrow = Narrow::no;
  ir::Type const* tile = nullptr;
  TmaRule const* rule = nullptr;  ///< of TMA that keeps the load from being a copy
  std::string sentence;           ///< why
};
LoweredAccess lowered_access(Advised const& about, WorkOfOp const& op);

// Limit: memory (advice_of_memory.cpp).
void find_strided_elements(AdvisedLaunch& launch);  ///< that a CPU accesses one by one
void find_slow_accesses(AdvisedLaunch& launch);     ///< narrow, indexed, of short rows, or by pointer in a loop
// Limit: latency (advice_of_latency.cpp).
void find_waiting_loops(AdvisedLaunch& launch);
void find_idle_processors(AdvisedLaunch& launch);
// Limit: tensor cores (advice_of_products.cpp).
void find_slow_products(AdvisedLaunch& launch);
// Limits: units of functions, issue slots (advice_of_work.cpp).
void find_slow_functions(AdvisedLaunch& launch);
void find_spills(AdvisedLaunch& launch);
void find_checks(AdvisedLaunch& launch);
void find_roundings(AdvisedLaunch& launch);

}  // namespace tegula::analysis
