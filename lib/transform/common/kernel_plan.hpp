// Plans a kernel: how many warps compute, how each product is multiplied, and when.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/op.hpp"
#include "layout/fragment_layouts.hpp"
#include "target/finding.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/target/target_info.hpp"
#include "transform/common/dot_paths.hpp"

namespace tegula::transform {

/// Says how a product is multiplied.
struct ProductPlan {
  ir::ProductPath path = ir::ProductPath::open;
  bool swapped = false;         ///< its transpose is computed, from transposed factors in turn
  layout::WarpGrid grid{0, 0};  ///< of warps over the rows and columns that are computed; lanes: none
  ir::OperandPlace left = ir::OperandPlace::registers;
  ir::OperandPlace right = ir::OperandPlace::registers;
  std::int64_t step = 0;  ///< elements of K that mma.sync reads at a time; 0: all
  target::Finding why;    ///< what keeps the product from wgmma; empty: nothing
  ir::ProductStart start = ir::ProductStart::written;
  bool late = false;  ///< runs beside the first product of the next iteration
};

/// Says how a kernel is computed.
struct KernelPlan {
  int warps = 0;  ///< that compute; others may copy
  std::vector<ProductPlan> products;
  int registers = 0;  ///< estimated, of a thread
  int allowed = 0;    ///< registers that a thread of these warps can have
  [[nodiscard]] int excess() const { return registers > allowed ? registers - allowed : 0; }
  /// True if more values are alive at once than registers: the assembler may still compute some of them again.
  bool tight = false;
  [[nodiscard]] int by_lanes() const { return count(ir::ProductPath::lanes); }
  [[nodiscard]] int by_wgmma() const { return count(ir::ProductPath::wgmma); }
  /// Counts the products of a path.
  [[nodiscard]] int count(ir::ProductPath path) const;
};

/// Lists the tiles, at least as large as a product's result, that the loop around a block carries and no product
/// yields: sums to which the loop adds results of products. Warps hold them beside those.
std::vector<ir::Value const*> sums_beside_products(ir::Block const& block);
/// Counts elements of all threads that hold products' results: the sum of all that a loop carries, and the largest
/// other one.
std::int64_t accumulators(std::vector<ir::Op*> const& dots);
/// Counts the elements of sums that the warps of a CTA hold at most, beside the registers that the assembler needs.
std::int64_t max_accumulators(TargetInfo const& target);

/// Searches the plan of a kernel with these products, in the order of the text.
///
/// First each product gets its form. It is swapped where tensor cores then take it by the better path: wgmma, with its
/// operands where they lie, then mma.sync. It is swapped, too, where its rows alone keep the others in fewer
/// warpgroups, and its columns do not, and where its right operand is computed from few bits, beside few rows.
///
/// A candidate is a number of warps; each product then takes the first of wgmma, mma.sync and lanes that its extents,
/// its operands and the warps allow. By the registers of these warps, the products of a loop start
/// - early, if all their results fit, with the factors that wait beside them;
/// - else together with those that follow from as many others, if these results and factors fit and this iteration uses
///   one of the results;
/// - or where they are written. One that only adds the result of another to a carried value runs late, if what crosses
///   to the next iteration fits beside all results.
///
/// Of the candidates that hold their values in registers the first one is the plan; if none does, the one with the
/// least excess. Of two with wgmma whose sums fit, one with more warps that also holds everything else goes first.
/// Where no warps hold the sums of wgmma, whose registers cannot be spilled, candidates without it are searched.
/// Candidates come in this order:
/// - the plan of the options, alone: a UserError says why a kernel cannot follow it;
/// - the number of warps that the kernel states, alone, or that the options ask for;
/// - for products of wgmma as many warpgroups as divide their blocks of 64 rows and have registers for the sums, 4, 3,
///   2, 1, then more, or the fewest first where no product stands in a loop; then warpgroups that divide the columns too;
/// - for other products a warp for each 1024 elements of the largest one, or of operands that are computed, up to 8;
///   then the nearest numbers;
/// - for kernels without products as many as hide the latency of memory, then the nearest numbers.
KernelPlan plan_of(ir::Function& kernel, std::vector<ir::Op*> const& dots, CompileOptions const& options,
                   TargetInfo const& target);

/// Returns the warps that suit the largest tile of a module without products, of which each of so many CTAs has a part.
int warps_of_rows(ir::Module const& module, TargetInfo const& target, std::int64_t ctas = 1);

/// Prints a plan: the warps, then path and arrangement of rows x columns, and copies, of each product in the order of
/// the text, with what else is decided: `warps=8,wgmma=4x2+early,wgmma=8x1+late,mma=2x2x2+swapped,lanes`.
std::string to_string(KernelPlan const& plan);

/// Reads the text of to_string. Nothing, and why, if it is not a plan.
std::optional<KernelPlan> parse_plan(std::string_view text, std::string& why);

}  // namespace tegula::transform
