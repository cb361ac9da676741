#include "transform/common/plan_warps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "ir/core/walk.hpp"
#include "ir/memory/source.hpp"
#include "target/wgmma_operand.hpp"
#include "tegula/support/warp.hpp"
#include "transform/common/global_accesses.hpp"

namespace tegula::transform {
namespace {

using ir::Op;

/// Collects numbers of warps for one kernel.
class Candidates {
 public:
  explicit Candidates(PlannedProducts const& products) : products_(products), target_(products.gpu) {}

  std::vector<int> all() {
    if (products_.kernel.warps != 0) return {products_.kernel.warps};
    if (products_.options.warps != 0) add(products_.options.warps);
    if (products_.options.warps != 0 && products_.options.exactly) return numbers_;
    if (products_.dots.empty())
      add_warps_of_rows();
    else if (products_.blocks != 0)
      add_warpgroups();
    else
      add_warps();
    return numbers_;
  }

 private:
  void add(int warps) {
    if (std::find(numbers_.begin(), numbers_.end(), warps) == numbers_.end()) numbers_.push_back(warps);
  }

  /// Adds the number that hides the latency of memory best, or that the options ask for, and the nearest ones; of two,
  /// the fewer.
  void add_warps_of_rows() {
    int const wanted = products_.options.warps != 0
                           ? products_.options.warps
                           : warps_of_rows(*products_.kernel.parent(), target_, products_.ctas);
    std::vector<int> numbers;
    for (int warps = 1; warps * target_.lanes <= target_.threads; warps *= 2) numbers.push_back(warps);
    auto const steps = [&](int warps) { return double(std::max(warps, wanted)) / std::min(warps, wanted); };
    std::stable_sort(numbers.begin(), numbers.end(), [&](int a, int b) { return steps(a) < steps(b); });
    add(wanted);
    for (int const warps : numbers) add(warps);
  }

  /// A kernel without loops waits for its loads and products. Other CTAs of the multiprocessor work meanwhile, more of
  /// them if each has few warps.
  void add_warpgroups() {
    bool const waits = products_.loops.empty();
    std::array const order =  // with the producer at most 8
        waits ? std::array{1, 2, 3, 4, 5, 6, 7} : std::array{4, 3, 2, 1, 5, 6, 7};
    auto const of_rows = [&](int groups) { return products_.blocks % groups == 0; };
    for (bool const whole : {true, false})
      for (int const groups : order)
        if (of_rows(groups) && holds_sums(groups) && (!whole || takes_whole_columns(groups)))
          add(groups * target_.warps_per_group);
    for (int const groups : {2, 4, 3})  // of rows and columns
      if (holds_sums(groups)) add(groups * target_.warps_per_group);
    for (int const groups : order)
      if (of_rows(groups)) add(groups * target_.warps_per_group);
  }

  /// Adds the number that keeps the largest product busy, and the nearest ones. Thirds and fifths of rows or columns
  /// have their own numbers. The nearer one is that whose warps read the operands fewer times: seven warps side by side
  /// read all rows seven times.
  void add_warps() {
    std::int64_t max = 1;
    for (Op const* dot : products_.dots) max = std::max(max, dot->result()->type().elements());
    auto const largest = static_cast<std::size_t>(std::max_element(products_.dots.begin(), products_.dots.end(),
                                                                   [](Op const* a, Op const* b) {
                                                                     return a->result()->type().elements() <
                                                                            b->result()->type().elements();
                                                                   }) -
                                                  products_.dots.begin());
    int wanted = 1;
    while (wanted < 8 && wanted * target_.tuning.elements_per_warp < max) wanted *= 2;
    // Operands that are computed from memory, weights of few bits for example, are work for more warps, if each element
    // is computed once.
    for (std::size_t i = 0; i < products_.forms.size(); ++i)
      while (wanted < 8 && shares_operands(i, 2 * wanted)) wanted *= 2;
    auto const fits = [&](int warps) {  // all products do, and one keeps all warps busy
      bool busy = false;
      for (std::size_t i = 0; i < products_.dots.size(); ++i) {
        if (!fits_tensor_cores(*products_.dots[i], target_)) continue;
        if (!fits_mma(products_.forms[i], warps, target_) || !products_.grids_of(i, warps).front().direct) return false;
        busy = busy || products_.grids_of(i, warps).front().grid.copies == 1;
      }
      return busy;
    };
    if (fits(wanted)) add(wanted);
    // More than 8 where a thread would hold more than 64 elements.
    int const many = static_cast<int>(
        std::clamp<std::int64_t>(max / (2 * target_.tuning.elements_per_warp), wanted, target_.tuning.max_warps));
    std::vector<int> others;
    for (int warps = target_.tuning.max_warps; warps >= 1; --warps)
      if (fits(warps)) others.push_back(warps);
    auto const distance = [&](int warps) {
      return double(std::max(warps, many)) / std::min(warps, many) * reads_beside_square(largest, warps);
    };
    std::stable_sort(others.begin(), others.end(), [&](int a, int b) { return distance(a) < distance(b); });
    for (int const warps : others) add(warps);
    for (int const warps : {wanted, 1, 2, 4, 8, 16}) add(warps);
  }

  /// Tells whether so many warps have enough elements of computed operands, none of which two of them compute.
  [[nodiscard]] bool shares_operands(std::size_t product, int warps) const {
    ProductForm const form = products_.forms[product];
    std::int64_t const elements = computed_elements(form, {1, 1, 1});
    if (warps * target_.tuning.elements_per_warp > elements || !fits_mma(form, warps, target_)) return false;
    return computed_elements(form, products_.grids_of(product, warps).front().grid) == elements;
  }

  /// Returns the rows and columns that all warps read of a product's operands, to those of square parts.
  [[nodiscard]] double reads_beside_square(std::size_t product, int warps) const {
    if (!fits_mma(products_.forms[product], warps, target_)) return 1;
    Extents const shape = products_.forms[product].shape();
    auto const rows = static_cast<double>(shape[0]), columns = static_cast<double>(shape[1]);
    layout::WarpGrid const grid = products_.grids_of(product, warps).front().grid;
    return grid.copies * (grid.columns * rows + grid.rows * columns) / (2 * std::sqrt(warps * rows * columns));
  }

  /// Tells whether so many warpgroups hold the sums of products of wgmma.
  [[nodiscard]] bool holds_sums(int groups) const {
    int const consumers = groups * target_.warps_per_group;
    return products_.sums / (consumers * target_.lanes) <= registers_for_sums(consumers, target_);
  }
  /// Tells whether instructions take as many columns as a product has: else they read the left operand more often.
  [[nodiscard]] bool takes_whole_columns(int groups) const {
    std::int64_t columns = 0;
    for (ProductForm const form : products_.forms)
      columns = std::max(columns, std::min<std::int64_t>(form.shape()[1], target_.wgmma.max_columns));
    return columns <= target::max_wgmma_columns(cta_warps(groups * target_.warps_per_group), target_);
  }

  PlannedProducts const& products_;
  TargetInfo const& target_;
  std::vector<int> numbers_;
};

/// Returns the bits of an element that an op moves from or to global memory; 0 for other ops.
int bits_moved(Op const& op) {
  if (!op.is<ir::LoadOp>() && !op.is<ir::StoreOp>() && !op.is<ir::FetchOp>() && !global_accesses::at_indices(op))
    return 0;
  return bits((op.is<ir::FetchOp>() ? *op.result() : *global_accesses::accessed_tile(op)).type().element());
}

}  // namespace

std::vector<int> candidates(PlannedProducts const& products) { return Candidates(products).all(); }

namespace {

/// Collects tiles that are taken apart as a whole into boxes of the same size, and the ops by the size of their tiles.
class Boxes {
 public:
  explicit Boxes(ir::Module const& module) {
    for (auto const& function : module.functions()) ir::walk(*function, [this](Op& op) { add(op); });
  }

  /// Returns the threads that are worth their while: as many as the smallest box has elements, since more hold copies.
  /// They may be more where large tiles are most of the work: copies of small ones then add at most a quarter to it.
  [[nodiscard]] std::int64_t threads(std::int64_t max) const {
    std::int64_t threads = smallest_;
    while (threads < max && 4 * work(2 * threads) <= 5 * work(smallest_)) threads *= 2;
    return threads;
  }

 private:
  void add(Op& op) {
    if (op.result_count() != 1 || !op.result()->type().is_tile()) return;
    std::int64_t const elements = op.result()->type().elements();
    ++ops_[elements];
    if (!ir::takes_box(op)) return;
    std::int64_t const whole = op.operand()->type().elements();
    if (elements < whole && (taken_[op.operand()] += elements) >= whole) smallest_ = std::min(smallest_, elements);
  }

  /// Counts the elements that so many threads compute in tiles no smaller than the smallest box, with all copies.
  [[nodiscard]] std::int64_t work(std::int64_t threads) const {
    std::int64_t sum = 0;
    for (auto const& [elements, ops] : ops_)
      if (elements >= smallest_) sum += ops * std::max(elements, threads);
    return sum;
  }

  std::map<std::int64_t, std::int64_t> ops_;        // by elements
  std::map<ir::Value const*, std::int64_t> taken_;  // elements
  std::int64_t smallest_ = std::numeric_limits<std::int64_t>::max();
};

/// Returns the elements of a thread in a wide row, or in the part of it that a CTA of a cluster has: as many as leave
/// the code within what the multiprocessor keeps of it.
std::int64_t elements_of_wide_row(ir::Module const& module, std::int64_t row, Tuning const& tuning) {
  std::int64_t ops = 0;
  for (auto const& function : module.functions())
    ir::walk(*function, [&](Op const& op) {
      if (!op.is(ir::Family::elementwise) && !op.is(ir::Family::reduction)) return;
      bool const of_row =
          op.operand_count() != 0 && op.operand(0)->type().is_tile() && op.operand(0)->type().elements() == row;
      ops += of_row ? 1 : 0;
    });
  std::int64_t elements = tuning.wide_elements;
  while (elements > tuning.large_elements && elements * ops > tuning.wide_work) elements /= 2;
  return elements;
}

}  // namespace

int warps_of_rows(ir::Module const& module, TargetInfo const& target, std::int64_t ctas) {
  std::int64_t max = 1;
  int moved = 0;
  bool transposes = false;
  for (auto const& function : module.functions())
    ir::walk(*function, [&](Op& op) {
      for (int i = 0; i < op.result_count(); ++i)
        if (op.result(i)->type().is_tile()) max = std::max(max, op.result(i)->type().elements());
      moved = std::max(moved, bits_moved(op));
      transposes = transposes || op.is<ir::TransOp>();
    });
  max /= ctas;
  // 32 bytes per thread hide latency in small tiles: 8 elements, or 16 where none has more than 16 bits in memory. In
  // larger ones a wide CTA costs more than 16 or 32 elements per thread. Exchanges of transposed tiles take longer in
  // fewer warps.
  // Two warps or more, since a multiprocessor has few CTAs.
  bool const narrow = moved != 0 && moved <= 16 && max >= 1024;
  Tuning const& tuning = target.tuning;
  bool const long_rows = max >= tuning.large_tile || (narrow && !transposes && max >= tuning.large_tile / 4);
  bool const is_wide = ctas > 1 || (max >= tuning.wide_tile && !transposes);
  std::int64_t const per_thread = is_wide     ? elements_of_wide_row(module, max * ctas, tuning)
                                  : long_rows ? tuning.large_elements
                                  : max >= tuning.medium_tile || narrow ? tuning.medium_elements
                                                                        : tuning.small_elements;
  std::int64_t const threads = max / per_thread;
  std::int64_t const wanted = std::min(threads, Boxes(module).threads(threads)) / warp_lanes;
  int warps = 1;
  while (warps < wanted && warps < tuning.max_warps) warps *= 2;
  return warps;
}

}  // namespace tegula::transform
