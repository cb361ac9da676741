// Proves by deletion on random kernels that the synchronising ops of the cuda pipeline are needed: each kernel runs
// without any one of them.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/pipeline_case.hpp"

namespace tegula::fuzz {

/// Names the reason for which an op may be missing without a report. Each reason is checked, for each op.
enum class Reason : std::uint8_t {
  /// Names a wgmma_wait without results, if nothing is released up to the next: it bounds the number of products under
  /// way.
  bounds_products,
  /// Names a proxy fence, or in a kernel without partitions a warp_barrier ahead of an elected lane's arrival, without
  /// which analysis::Hazards finds nothing missing. Barriers of the CTA, those of exchanges too, or other fences order
  /// all accesses.
  analysis_proves,
  /// Names a fence, a barrier of a warp or a warpgroup, a commit or a wait whose accesses others of its kind order too.
  /// Those are missed:
  /// without them the simulator reports more if this one is gone as well. All such of a kernel may go together.
  others_order,
  /// Names a wait for bulk copies with its commit and warp_barrier, if stores with staging buffers of their own wait
  /// for all copies. Each wait frees the other's buffer. Or names a warp_barrier ahead of an arrival that does for all
  /// such of the kernel. They may not go together.
  each_other_orders,
  /// Names a barrier without which analysis::Hazards finds accesses of two iterations of a loop that has one at most,
  /// or
  /// of a loop that has none.
  one_iteration,
};
inline constexpr std::array<std::string_view, 5> reasons = {"bounds products", "analysis proves", "others order",
                                                            "each other orders", "one iteration"};

/// Describes an op that is not missed.
struct Excused {
  Reason reason;
  std::string op;
};

struct Deletions {
  std::string refused;              ///< why the passes do not take the kernel; then nothing was taken out
  std::size_t reported = 0;         ///< ops without which the simulator reports something
  std::vector<std::string> rare;    ///< those without which it does not, executed too rarely to tell
  std::vector<Excused> excused;     ///< those without which it does not, for a reason
  std::vector<std::string> silent;  ///< those without which it does not, for none
  /// Lists the same, of kinds that passes also insert for paths or phases that no launch here has. They are barriers,
  /// warp barriers, proxy fences and waits for products, with the commits for these. No launch at hand tells whether
  /// they are needed.
  std::vector<std::string> unsettled;
  std::string module;  ///< the text that they stand in

  [[nodiscard]] std::size_t ops() const {
    return reported + rare.size() + excused.size() + silent.size() + unsettled.size();
  }
};

/// Takes each op out that says it orders something, and runs the kernel at launches of several kinds:
/// - with values that grow along each tensor, so that rescaling branches are taken late,
/// - with inputs of one element and of none, so that loops over them have one iteration or none,
/// - with inputs of twice the extents,
/// - with small values as the case has them.
///
/// An op that is not missed there is tried with each parameter none, negative, small or large alone. A persistent
/// kernel has one CTA for several tiles, and two of them at one launch. `behind` is called after the passes; for
/// tests, which put something in. A kernel whose launches together compute more than `max_computed` elements, counted
/// as JudgeOptions does, is refused: it would be run up to ten times for each op.
using Behind = std::function<void(ir::Module&)>;
constexpr double any_number = 1e30;
constexpr double of_seconds = 7.5e8;  ///< about three seconds
Deletions without_each_op(PipelineCase const& given, Behind const& behind = {}, double max_computed = any_number);

}  // namespace tegula::fuzz
