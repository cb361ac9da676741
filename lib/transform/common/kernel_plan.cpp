#include "transform/common/kernel_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <numeric>
#include <set>

#include "analysis/register_need.hpp"
#include "analysis/register_pressure.hpp"
#include "ir/core/families.hpp"
#include "ir/core/walk.hpp"
#include "support/string_buffer.hpp"
#include "target/wgmma_operand.hpp"
#include "tegula/support/error.hpp"
#include "tegula/support/warp.hpp"
#include "transform/common/dot_turns.hpp"
#include "transform/common/fetches.hpp"
#include "transform/common/global_accesses.hpp"
#include "transform/common/late_stage.hpp"
#include "transform/common/ring_lifetimes.hpp"
#include "transform/common/role_registers.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;
using ir::OperandPlace;
using ir::ProductPath;
using ir::ProductStart;
using ir::Value;
using layout::WarpGrid;
using target::Finding;

/// Tells whether products alone, also behind a transposition, take a tile.
bool only_products_take(Value const& tile) {
  return std::all_of(tile.uses().begin(), tile.uses().end(), [](ir::Use const& use) {
    return use.user->is<ir::DotOp>() || (use.user->is<ir::TransOp>() && only_products_take(*use.user->result()));
  });
}

/// Returns the registers of a thread that so many warps have for the sums of products. Those of mma.sync share them
/// with operands on their way.
std::int64_t registers_for_sums(int warps, TargetInfo const& target) {
  if (!target.has(Ability::wgmma))
    return target.registers_at_start(warps) - target.tuning.max_operand_registers / 2 - target.tuning.address_registers;
  return registers_of_roles(warps, target)[1] - target.wgmma.extra_registers;
}

std::string_view name_of(ProductStart start) { return ir::enum_names<ProductStart>[static_cast<std::size_t>(start)]; }

std::string text_of(ProductPlan const& product) {
  std::string text(ir::enum_names<ProductPath>[static_cast<std::size_t>(product.path)]);
  if (product.grid.rows != 0) text += fmt::format("={}x{}", product.grid.rows, product.grid.columns);
  if (product.grid.copies > 1) text += fmt::format("x{}", product.grid.copies);
  if (product.swapped) text += "+swapped";
  if (product.start != ProductStart::written) text += fmt::format("+{}", name_of(product.start));
  if (product.late) text += "+late";
  return text;
}

/// Reads one to three numbers from 1 to `max` with an x between them.
std::optional<Extents> numbers_of(std::string_view text, std::int64_t max) {
  Extents result;
  while (true) {
    std::int64_t number = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 1 || number > max || result.size() == 3) return std::nullopt;
    result.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return result;
    if (text.front() != 'x') return std::nullopt;
    text.remove_prefix(1);
  }
}

/// Searches the plan of one kernel.
class Search {
 public:
  Search(ir::Function& kernel, std::vector<Op*> const& dots, CompileOptions const& options, TargetInfo const& target)
      : kernel_(kernel), dots_(dots), options_(options), target_(target), sums_(accumulators(dots)) {
    room_ = static_cast<std::int64_t>(target_.shared) - bytes_beside_rings(kernel_, target_);
    if (!dots.empty()) room_ -= min_bytes_of_rings(kernel_);
    for (Op const* dot : dots_) forms_.emplace_back(*dot);
    if (auto const asked = asked_plan())
      for (std::size_t i = 0; i < forms_.size(); ++i) forms_[i].swapped = asked->products[i].swapped;
    else
      choose_forms();
    find_stored();
    find_loops();
  }

  KernelPlan run() {
    if (asked_) return given();
    KernelPlan best = best_of(candidates());
    bool const by_wgmma = std::any_of(best.products.begin(), best.products.end(),
                                      [](ProductPlan const& product) { return product.path == ProductPath::wgmma; });
    if (!by_wgmma || best.excess() == 0 || options_.exactly) return best;
    for (Finding& why : reasons_)
      if (why.empty()) why = Finding(target::finding::sums, best.registers, best.warps, best.allowed);
    blocks_ = 0;
    min_by_lanes_ = count_by_lanes();
    return best_of(candidates());
  }

 private:
  /// Reads the plan of the options; nothing: there is none.
  std::optional<KernelPlan> const& asked_plan() {
    if (options_.plan.empty()) return asked_;
    std::string why;
    asked_ = parse_plan(options_.plan, why);
    if (!asked_) refuse(why);
    if (kernel_.warps != 0 && kernel_.warps != asked_->warps)
      refuse(fmt::format("the kernel states {} warps", kernel_.warps));
    if (asked_->products.size() != dots_.size())
      refuse(fmt::format("it has {} products, the kernel {}", asked_->products.size(), dots_.size()));
    return asked_;
  }

  [[noreturn]] void refuse(std::string const& reason) const {
    CompileOptions own = options_;
    own.plan.clear();
    throw UserError(
        fmt::format("plan-kernel: @{} cannot follow the plan {}: {}; without one the compiler takes {}", kernel_.name(),
                    options_.plan, reason, to_string(Search(kernel_, dots_, own, target_).run())),
        kernel_.where);
  }

  /// Decides which products are swapped.
  void choose_forms() {
    // Rings give up stages for a result that is turned: two are enough.
    std::int64_t room = room_;
    if (!dots_.empty() && !options_.exactly) room += min_bytes_of_rings(kernel_) - bytes_of_two_stages(kernel_);
    for (ProductForm& form : forms_) {
      ProductForm const swapped(*form.dot, true);
      bool const has_room = form.dot->result()->type().elements() * bytes(form.dot->result()->type().element()) <= room;
      bool const takes_swapped = takes_in_place(swapped) || takes_loaded(swapped);
      form.swapped = (takes_swapped && !takes_wgmma(form) && has_room) ||
                     (takes_mma(swapped) && !takes_mma(form) && !takes_in_place(form));
    }
    for (std::size_t i = 0; i < forms_.size(); ++i) {
      std::int64_t others = 0;
      for (std::size_t j = 0; j < forms_.size(); ++j)
        if (j != i && takes_wgmma(forms_[j])) others = std::gcd(others, blocks_of(forms_[j]));
      ProductForm const swapped(*forms_[i].dot, !forms_[i].swapped);
      // It limits the warpgroups of the others, or keeps itself from them.
      bool const limits = others > 1 && (!takes_wgmma(forms_[i]) || blocks_of(forms_[i]) % others != 0);
      if (limits && takes_wgmma(swapped) && blocks_of(swapped) % others == 0) forms_[i] = swapped;
    }
  }

  /// Tells whether wgmma takes a product whose operands lie where it reads them: none is stored or turned for it.
  /// Warps that load its left operand load it as it is needed.
  [[nodiscard]] bool takes_in_place(ProductForm form) const {
    Factor const left = form.left();
    return fits_wgmma(form, target_) && (left.fetched().view != nullptr || !left.turned || left.is_loaded());
  }
  /// Tells whether wgmma takes a product whose operands are copied, or loaded and stored, by nothing but loads.
  [[nodiscard]] bool takes_loaded(ProductForm form) const {
    auto const comes = [](Factor factor) { return factor.fetched().view != nullptr || factor.is_loaded(); };
    return takes_wgmma(form) && comes(form.left()) && comes(form.right());
  }
  [[nodiscard]] bool takes_wgmma(ProductForm form) const {
    return fits_wgmma(form, target_, stored_operands(form, target_));
  }
  /// Tells whether mma.sync takes a product, with some number of warps.
  [[nodiscard]] bool takes_mma(ProductForm form) const {
    for (int warps = 1; warps <= target_.tuning.max_warps; ++warps)
      if (fits_mma(form, warps, target_)) return true;
    return false;
  }
  [[nodiscard]] std::int64_t blocks_of(ProductForm form) const { return form.shape()[0] / target_.wgmma.rows; }

  /// Decides which operands of wgmma the warps store, as long as shared memory holds them beside the rings.
  void find_stored() {
    auto const has_room = [&](ir::Type const& tile) {
      std::int64_t const size = tile.elements() * bytes(tile.element());
      if (size > room_) return false;
      room_ -= size;
      return true;
    };
    for (ProductForm const form : forms_) {
      StoredOperands stored = stored_operands(form, target_);
      if (stored.right != nullptr && !has_room(form.right().tile->type())) stored = {};
      if (stored.left != nullptr && !has_room(form.left().tile->type())) stored.left = nullptr;
      stored_.push_back(stored);
      reasons_.push_back(why_not_wgmma(form, target_, stored));
      if (reasons_.back().empty()) blocks_ = std::gcd(blocks_, blocks_of(form));
    }
    min_by_lanes_ = count_by_lanes();
  }

  /// Finds loops with several products, and which of these can run late.
  void find_loops() {
    std::map<Block const*, std::size_t> known;
    for (std::size_t i = 0; i < dots_.size(); ++i) {
      Op const* const loop = dots_[i]->parent_op();
      if (loop == nullptr || !loop->is<ir::ForOp>()) continue;
      auto const [at, first] = known.try_emplace(dots_[i]->parent(), loops_.size());
      if (first) loops_.push_back({dots_[i]->parent(), {}, turns_of(*dots_[i]->parent()), {}, {}});
      loops_[at->second].products.push_back(i);
    }
    for (LoopOfProducts& loop : loops_) {
      bool const all_copied = std::all_of(loop.products.begin(), loop.products.end(),
                                          [&](std::size_t i) { return forms_[i].right().fetched().view != nullptr; });
      // A product of mma.sync is done when the next op runs: nothing runs beside it.
      if (!all_copied || !target_.has(Ability::wgmma)) continue;
      auto const late = products_that_can_be_late(*loop.block->parent_op());
      if (late.empty()) continue;
      LateStage const stage(*loop.block->parent_op(), late);
      if (!stage.possible()) continue;
      loop.late.insert(late.begin(), late.end());
      loop.crossing = stage.crossing();
    }
  }

  /// Counts the products that only lanes multiply, with any number of warps.
  [[nodiscard]] int count_by_lanes() const {
    int count = 0;
    for (std::size_t i = 0; i < dots_.size(); ++i) {
      bool other = reasons_[i].empty();
      for (int warps = 1; warps <= target_.tuning.max_warps && !other; ++warps)
        other = fits_mma(forms_[i], warps, target_);
      if (!other) ++count;
    }
    return count;
  }

  /// Returns the plan of the options.
  [[nodiscard]] KernelPlan given() const {
    KernelPlan plan = planned(asked_->warps);
    for (std::size_t i = 0; i < dots_.size(); ++i) {
      ProductPlan const& wanted = asked_->products[i];
      auto const found = ways(i, asked_->warps);
      auto const way = std::find_if(found.begin(), found.end(), [&](ProductPlan const& one) {
        return one.path == wanted.path && one.grid.rows == wanted.grid.rows &&
               one.grid.columns == wanted.grid.columns && one.grid.copies == wanted.grid.copies;
      });
      if (way == found.end()) {
        std::vector<std::string> possible;
        for (ProductPlan const& one : found) possible.push_back(text_of(one));
        refuse(fmt::format("product {} can be {}", i, support::joined(possible, ", ")));
      }
      plan.products[i] = *way;
      plan.products[i].start = wanted.start;
      plan.products[i].late = wanted.late;
      if (wanted.start != ProductStart::written && !has_company(i))
        refuse(fmt::format("no other product stands in a loop with product {}, so it cannot start {}", i,
                           name_of(wanted.start)));
    }
    for (LoopOfProducts const& loop : loops_) {
      bool const any = runs_late(loop, plan);
      for (std::size_t const i : loop.products)
        if (plan.products[i].late != (any && loop.late.count(dots_[i]) != 0))
          refuse(fmt::format("product {} {} run late", i, plan.products[i].late ? "cannot" : "must"));
    }
    for (std::size_t i = 0; i < dots_.size(); ++i)
      if (plan.products[i].late && !has_company(i)) refuse(fmt::format("product {} cannot run late", i));
    estimate(plan);
    return plan;
  }

  [[nodiscard]] KernelPlan best_of(std::vector<int> const& numbers) const {
    KernelPlan best;
    for (int const warps : numbers) {
      KernelPlan next = planned(warps);
      bool const alike = next.excess() == best.excess() && next.by_lanes() == best.by_lanes();
      bool const better =
          best.warps == 0 || next.excess() < best.excess() ||
          (next.excess() == best.excess() && next.by_lanes() < best.by_lanes()) ||
          (alike && best.tight && !next.tight && next.warps > best.warps && next.by_wgmma() >= best.by_wgmma());
      if (better) best = std::move(next);
      if (best.excess() == 0 && best.by_lanes() == min_by_lanes_ && !best.tight) break;
    }
    return best;
  }

  [[nodiscard]] int cta_warps(int warps) const { return warps + producer_warps; }

  /// Tells whether so many warpgroups hold the sums of products of wgmma.
  [[nodiscard]] bool holds_sums(int groups) const {
    int const consumers = groups * target_.warps_per_group;
    return sums_ / (consumers * target_.lanes) <= registers_for_sums(consumers, target_);
  }
  /// Tells whether instructions take as many columns as a product has: else they read the left operand more often.
  [[nodiscard]] bool takes_whole_columns(int groups) const {
    std::int64_t columns = 0;
    for (ProductForm const form : forms_)
      columns = std::max(columns, std::min<std::int64_t>(form.shape()[1], target_.wgmma.max_columns));
    return columns <= target::max_wgmma_columns(cta_warps(groups * target_.warps_per_group), target_);
  }

  [[nodiscard]] std::vector<int> candidates() const {
    if (kernel_.warps != 0) return {kernel_.warps};
    std::vector<int> numbers;
    auto const add = [&](int warps) {
      if (std::find(numbers.begin(), numbers.end(), warps) == numbers.end()) numbers.push_back(warps);
    };
    if (options_.warps != 0) add(options_.warps);
    if (options_.warps != 0 && options_.exactly) return numbers;
    if (dots_.empty())
      add_warps_of_rows(add);
    else if (blocks_ != 0)
      add_warpgroups(add);
    else
      add_warps(add);
    return numbers;
  }

  /// Adds the number that hides the latency of memory best, or that the options ask for, and the nearest ones; of two,
  /// the fewer.
  template <class Add>
  void add_warps_of_rows(Add const& add) const {
    int const wanted = options_.warps != 0 ? options_.warps : warps_of_rows(*kernel_.parent(), target_);
    std::vector<int> numbers;
    for (int warps = 1; warps * target_.lanes <= target_.threads; warps *= 2) numbers.push_back(warps);
    auto const steps = [&](int warps) { return double(std::max(warps, wanted)) / std::min(warps, wanted); };
    std::stable_sort(numbers.begin(), numbers.end(), [&](int a, int b) { return steps(a) < steps(b); });
    add(wanted);
    for (int const warps : numbers) add(warps);
  }

  template <class Add>
  void add_warpgroups(Add const& add) const {
    constexpr std::array order = {4, 3, 2, 1, 5, 6, 7};  // with the producer at most 8
    auto const of_rows = [&](int groups) { return blocks_ % groups == 0; };
    for (bool const whole : {true, false})
      for (int const groups : order)
        if (of_rows(groups) && holds_sums(groups) && (!whole || takes_whole_columns(groups)))
          add(groups * target_.warps_per_group);
    for (int const groups : {2, 4})  // of rows and columns
      if (holds_sums(groups)) add(groups * target_.warps_per_group);
    for (int const groups : order)
      if (of_rows(groups)) add(groups * target_.warps_per_group);
  }

  /// Adds the number that keeps the largest product busy, and the nearest ones, counted in steps of doubling. Thirds
  /// and fifths of rows or columns have their own numbers.
  template <class Add>
  void add_warps(Add const& add) const {
    std::int64_t max = 1;
    for (Op const* dot : dots_) max = std::max(max, dot->result()->type().elements());
    int wanted = 1;
    while (wanted < 8 && wanted * target_.tuning.elements_per_warp < max) wanted *= 2;
    auto const fits = [&](int warps) {  // all products do, and one keeps all warps busy
      bool busy = false;
      for (std::size_t i = 0; i < dots_.size(); ++i) {
        if (!fits_tensor_cores(*dots_[i], target_)) continue;
        if (!fits_mma(forms_[i], warps, target_) || !grids_of(i, warps).front().direct) return false;
        busy = busy || grids_of(i, warps).front().grid.copies == 1;
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
    auto const steps = [&](int warps) { return double(std::max(warps, many)) / std::min(warps, many); };
    std::stable_sort(others.begin(), others.end(), [&](int a, int b) { return steps(a) < steps(b); });
    for (int const warps : others) add(warps);
    for (int const warps : {wanted, 1, 2, 4, 8, 16}) add(warps);
  }

  /// Returns the arrangements of so many warps by mma, asked once.
  [[nodiscard]] std::vector<DotGrid> const& grids_of(std::size_t i, int warps) const {
    auto const [at, first] = grids_.try_emplace({i, warps});
    if (first) at->second = mma_grids(forms_[i], warps, target_);
    return at->second;
  }

  [[nodiscard]] KernelPlan planned(int warps) const {
    KernelPlan plan;
    plan.warps = warps;
    for (std::size_t i = 0; i < dots_.size(); ++i) plan.products.push_back(ways(i, warps).front());
    allow(plan);
    for (LoopOfProducts const& loop : loops_) order(loop, plan);
    estimate(plan);
    return plan;
  }

  /// States the registers that the threads of a plan can have.
  void allow(KernelPlan& plan) const {
    plan.allowed = plan.by_wgmma() != 0 ? static_cast<int>(registers_of_roles(plan.warps, target_)[1])
                                        : target_.registers_at_start(plan.warps);
  }

  /// Counts the registers of a thread that hold its part of a tile.
  [[nodiscard]] std::int64_t registers_of(ir::Type const& tile, KernelPlan const& plan) const {
    std::int64_t const threads = std::int64_t{plan.warps} * target_.lanes, register_bytes = sizeof(float);
    return tile.elements() * bytes(tile.element()) / (threads * register_bytes);
  }

  /// Holds a loop with products.
  struct LoopOfProducts {
    Block* block = nullptr;
    std::vector<std::size_t> products;
    ProductTurns turns;
    std::set<Op const*> late;      ///< that can run late
    std::vector<Value*> crossing;  ///< from one iteration to the next, if they do
  };

  /// Tells whether a product stands in a loop with others.
  [[nodiscard]] bool has_company(std::size_t i) const {
    return std::any_of(loops_.begin(), loops_.end(), [&](LoopOfProducts const& loop) {
      return loop.products.size() > 1 && loop.block == dots_[i]->parent();
    });
  }
  static bool runs_late(LoopOfProducts const& loop, KernelPlan const& plan) {
    return std::any_of(loop.products.begin(), loop.products.end(),
                       [&](std::size_t i) { return plan.products[i].late; });
  }
  [[nodiscard]] std::int64_t crossing_registers(LoopOfProducts const& loop, KernelPlan const& plan) const {
    std::int64_t sum = 0;
    for (Value const* value : loop.crossing)
      if (value->type().is_tile()) sum += registers_of(value->type(), plan);
    return sum;
  }

  /// Decides when the products of a loop run.
  void order(LoopOfProducts const& loop, KernelPlan& plan) const {
    if (loop.products.size() < 2) return;
    order_starts(loop, plan);
    std::int64_t all = crossing_registers(loop, plan);
    for (std::size_t const i : loop.products) all += registers_of(dots_[i]->result()->type(), plan);
    for (std::size_t const i : loop.products)
      plan.products[i].late = loop.late.count(dots_[i]) != 0 && all + target_.tuning.row_registers <= plan.allowed;
  }

  void order_starts(LoopOfProducts const& loop, KernelPlan& plan) const {
    struct Turn {
      std::int64_t results = 0, factors = 0;
    };
    std::map<int, Turn> turns;
    std::int64_t always = target_.wgmma.extra_registers;
    std::int64_t waiting = 0;  // factors of products that run while the last one's are computed
    for (std::size_t const i : loop.products) {
      Turn& turn = turns[loop.turns.at(dots_[i])];
      bool const carried = dots_[i]->in<ir::DotOp>("accumulator")->owner_block() == loop.block;
      (carried ? always : turn.results) += registers_of(dots_[i]->result()->type(), plan);
      Value const& left = *forms_[i].left().tile;
      if (!is_computed(left, *loop.block)) continue;
      std::int64_t const factor = registers_of(left.type(), plan);
      turn.factors += factor;
      if (i != loop.products.back()) waiting += factor;
    }
    // A thread has a fourth of the columns of a vector that all rows read, and loads them in about two parts.
    std::int64_t vectors = 0;
    for (Op const& op : *loop.block)
      if (op.is<ir::BroadcastOp>() && is_float(op.result()->type().element()) && op.operand()->type().shape()[0] == 1)
        vectors = std::max(vectors, op.result()->type().shape().product() / op.result()->type().shape()[0] / 8);
    std::int64_t const room = plan.allowed - always;
    bool early = true;
    std::set<int> together;
    for (auto const& [number, turn] : turns) {
      early = early && turn.results + vectors + waiting <= room;
      bool const awaited = turn.results > 0;  // in this iteration: the others run beside the wait
      if (awaited && turn.results + std::max(vectors, turn.factors) <= room) together.insert(number);
    }
    for (std::size_t const i : loop.products)
      plan.products[i].start = early                                          ? ProductStart::early
                               : together.count(loop.turns.at(dots_[i])) != 0 ? ProductStart::together
                                                                              : ProductStart::written;
  }

  /// Asks for the registers of the kernel with products where the plan starts them, and adds what crosses to the next
  /// iteration.
  template <class Ask>
  [[nodiscard]] int in_order_of(KernelPlan const& plan, Ask const& ask) const {
    std::int64_t crossing = 0;
    std::vector<std::pair<Block*, std::vector<Op*>>> written;
    for (LoopOfProducts const& loop : loops_) {
      if (runs_late(loop, plan)) crossing = std::max(crossing, crossing_registers(loop, plan));
      std::vector<Op*>& order = written.emplace_back(loop.block, std::vector<Op*>()).second;
      for (Op& op : *loop.block) order.push_back(&op);
      for (std::size_t const i : loop.products) dots_[i]->as<ir::DotOp>().start = plan.products[i].start;
      raise_products(*loop.block);
    }
    int const registers = ask(cost_in(plan));
    for (auto const& [block, order] : written)  // as they were
      for (Op* op : order)
        if (op != order.back()) op->move_before(*order.back());
    for (Op* dot : dots_) dot->as<ir::DotOp>().start = ProductStart::written;
    return registers + static_cast<int>(crossing);
  }

  /// Estimates the registers of a plan.
  void estimate(KernelPlan& plan) const {
    allow(plan);
    if (plan.by_wgmma() != 0) {
      plan.registers = static_cast<int>(sums_ / (plan.warps * target_.lanes)) + target_.wgmma.extra_registers;
      plan.tight = plan.allowed < in_order_of(
                                      plan,
                                      [&](auto const& cost) {
                                        return analysis::registers_needed(kernel_, analysis::Kernels::of_wgmma, cost);
                                      });
    } else if (dots_.empty()) {
      plan.registers = analysis::registers_needed(kernel_, analysis::Kernels::of_rows, cost_in(plan));
    } else {  // ahead of layouts the model does not see operands on their way: all that is alive, and a quarter
      int const alive = in_order_of(plan, [&](auto const& cost) { return analysis::register_pressure(kernel_, cost); });
      plan.registers = alive * 5 / 4 + target_.tuning.address_registers;
    }
  }

  /// Lists the ways to multiply a product with so many warps, the best one first. Lanes can always.
  [[nodiscard]] std::vector<ProductPlan> ways(std::size_t i, int warps) const {
    ProductForm const form = forms_[i];
    std::vector<ProductPlan> result;
    ProductPlan plan;
    plan.swapped = form.swapped;
    plan.why = reasons_[i];
    auto const place = [&](Factor operand, bool stored) {
      if (operand.fetched().view != nullptr) return OperandPlace::copied;
      return stored ? OperandPlace::stored : OperandPlace::registers;
    };
    if (plan.why.empty()) {
      ProductPlan by_wgmma;
      by_wgmma.swapped = form.swapped;
      by_wgmma.path = ProductPath::wgmma;
      by_wgmma.left = place(form.left(), stored_[i].left != nullptr);
      by_wgmma.right = place(form.right(), stored_[i].right != nullptr);
      for (WarpGrid const grid : wgmma_grids(form, stored_[i], warps, cta_warps(warps), target_, plan.why)) {
        by_wgmma.grid = grid;
        result.push_back(by_wgmma);
      }
      if (!result.empty())
        plan.why = Finding(target::finding::stated, "wgmma takes it, but the plan of the options not");
    }
    plan.left = place(form.left(), false);
    plan.right = place(form.right(), false);
    if (fits_mma(form, warps, target_))
      for (DotGrid const& one : grids_of(i, warps)) {
        ProductPlan& by_mma = result.emplace_back(plan);
        by_mma.path = ProductPath::mma;
        by_mma.grid = one.grid;
        std::int64_t const step = depth_of_part(form, one.grid, target_);
        by_mma.step = step == form.left().shape()[1] ? 0 : step;
      }
    plan.path = ProductPath::lanes;
    result.push_back(plan);
    return result;
  }

  /// Returns the registers of a thread for each value, where each thread holds an equal part of every tile. Operands
  /// that were copied are read a few at a time, if only products take them.
  [[nodiscard]] std::function<int(Value const&)> cost_in(KernelPlan const& plan) const {
    std::int64_t const threads = std::int64_t{plan.warps} * target_.lanes;
    // Parts of operands that a thread holds, for each product that takes them; a tile that was computed besides lies as
    // its arithmetic gives it. Parts of results that several warps compute, by shape: arithmetic follows them.
    std::map<Value const*, std::int64_t> copies;
    std::vector<std::pair<Extents, std::int64_t>> copies_of_results;
    for (std::size_t i = 0; i < dots_.size(); ++i) {
      if (plan.products[i].path != ProductPath::mma) continue;
      layout::WarpGrid const grid = plan.products[i].grid;
      copies_of_results.emplace_back(dots_[i]->result()->type().shape(), grid.copies);
      std::vector<DotGrid> const& grids = grids_of(i, plan.warps);
      bool const direct = std::any_of(grids.begin(), grids.end(), [&](DotGrid const& one) {
        return one.direct && one.grid.rows == grid.rows && one.grid.columns == grid.columns;
      });
      for (bool const left : {true, false}) {
        Value const* const operand = (left ? forms_[i].left() : forms_[i].right()).tile;
        bool const copied = fetched_operand(*operand).view != nullptr;
        if (copied && direct) continue;
        bool const loaded = copied || operand->defined_by<ir::LoadOp>() != nullptr;
        std::int64_t const parts = plan.warps / (left ? grid.rows : grid.columns);
        copies.try_emplace(operand, loaded ? 0 : 1).first->second += parts;
      }
    }
    return [=](Value const& value) -> int {
      constexpr std::int64_t word_bits = 32;
      ir::Type const& type = value.type();
      if (!type.is_tile()) return analysis::registers_of(type);
      auto const found = copies.find(&value);
      if (found == copies.end() && fetched_operand(value).view != nullptr && only_products_take(value)) return 0;
      Op const* const broadcast = value.defined_by<ir::BroadcastOp>();
      ir::Type const& held = broadcast != nullptr ? broadcast->operand()->type() : type;
      std::int64_t times = found != copies.end() ? found->second : 1;
      if (found == copies.end())
        for (auto const& [shape, of_result] : copies_of_results)
          if (shape == held.shape()) times = std::max(times, of_result);
      std::int64_t const all = held.elements() * bits(held.element()) * times;
      return static_cast<int>((all + word_bits * threads - 1) / (word_bits * threads));
    };
  }

  ir::Function& kernel_;
  std::vector<Op*> const& dots_;
  CompileOptions const& options_;
  TargetInfo const& target_;
  std::int64_t sums_;
  std::optional<KernelPlan> asked_;  ///< of the options
  std::int64_t room_ = 0;            ///< bytes of shared memory beside the rings
  std::vector<ProductForm> forms_;
  std::vector<LoopOfProducts> loops_;
  std::vector<StoredOperands> stored_;
  std::vector<Finding> reasons_;
  std::int64_t blocks_ = 0;  ///< of 64 rows, that warpgroups divide; 0: no product of wgmma
  int min_by_lanes_ = 0;
  mutable std::map<std::pair<std::size_t, int>, std::vector<DotGrid>> grids_;
};

/// Returns the bits of an element that an op moves from or to global memory; 0 for other ops.
int bits_moved(Op const& op) {
  if (!op.is<ir::LoadOp>() && !op.is<ir::StoreOp>() && !op.is<ir::FetchOp>() && !global_accesses::at_indices(op))
    return 0;
  return bits((op.is<ir::FetchOp>() ? *op.result() : *global_accesses::accessed_tile(op)).type().element());
}

}  // namespace

int warps_of_rows(ir::Module const& module, TargetInfo const& target) {
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
  // 32 bytes per thread hide latency in small tiles: 8 elements, or 16 where none has more than 16 bits in memory. In
  // larger ones a wide CTA costs more than 16 or 32 elements per thread. Exchanges of transposed tiles take longer in
  // fewer warps.
  // Two warps or more, since a multiprocessor has few CTAs.
  bool const narrow = moved != 0 && moved <= 16 && max >= 1024;
  Tuning const& tuning = target.tuning;
  bool const long_rows = max >= tuning.large_tile || (narrow && !transposes && max >= tuning.large_tile / 4);
  std::int64_t const per_thread = long_rows                             ? tuning.large_elements
                                  : max >= tuning.medium_tile || narrow ? tuning.medium_elements
                                                                        : tuning.small_elements;
  std::int64_t const wanted = max / (warp_lanes * per_thread);
  int warps = 1;
  while (warps < wanted && warps < tuning.max_warps) warps *= 2;
  return warps;
}

int KernelPlan::count(ir::ProductPath path) const {
  return static_cast<int>(std::count_if(products.begin(), products.end(),
                                        [&](ProductPlan const& product) { return product.path == path; }));
}

KernelPlan plan_of(ir::Function& kernel, std::vector<Op*> const& dots, CompileOptions const& options,
                   TargetInfo const& target) {
  return Search(kernel, dots, options, target).run();
}

std::int64_t accumulators(std::vector<Op*> const& dots) {
  std::map<ir::Block const*, std::pair<std::int64_t, std::int64_t>> blocks;  // carried, largest other
  std::int64_t max = 0;
  for (Op const* dot : dots) {
    auto& [carried, other] = blocks[dot->parent()];
    auto const& uses = dot->result()->uses();
    auto const adds_on = [&](ir::Use const& use) {  // the next product of a chain, in place
      return use.user->is<ir::DotOp>() && use.user->parent() == dot->parent() &&
             use.user->in<ir::DotOp>("accumulator") == dot->result();
    };
    if (uses.size() == 1 && adds_on(uses.front())) continue;
    bool const is_carried =
        std::any_of(uses.begin(), uses.end(), [&](ir::Use const& use) { return use.user == &dot->parent()->back(); });
    std::int64_t const elements = dot->result()->type().elements();
    if (is_carried)
      carried += elements;
    else
      other = std::max(other, elements);
    max = std::max(max, carried + other);
  }
  return max;
}

std::int64_t max_accumulators(TargetInfo const& target) {
  std::int64_t max = 0;
  for (int warps = target.warps_per_group; warps <= target.tuning.max_warps; warps += target.warps_per_group)
    max = std::max(max, registers_for_sums(warps, target) * warps * target.lanes);
  return max;
}

std::string to_string(KernelPlan const& plan) {
  std::string text = fmt::format("warps={}", plan.warps);
  for (ProductPlan const& product : plan.products) text += "," + text_of(product);
  return text;
}

namespace {

/// Reads what stands behind the way of a product: `+swapped+early+late`, in this order.
bool read_rest(std::string_view rest, ProductPlan& product) {
  auto const takes = [&](std::string_view word) {
    if (rest.substr(0, rest.find('+', 1)) != fmt::format("+{}", word)) return false;
    rest.remove_prefix(word.size() + 1);
    return true;
  };
  product.swapped = takes("swapped");
  for (ProductStart const start : {ProductStart::early, ProductStart::together})
    if (product.start == ProductStart::written && takes(name_of(start))) product.start = start;
  product.late = takes("late");
  return rest.empty();
}

}  // namespace

std::optional<KernelPlan> parse_plan(std::string_view text, std::string& why) {
  KernelPlan plan;
  auto const refuse = [&](std::string_view item) {
    why = fmt::format(
        "{} is not warps=8, wgmma=4x2, mma=2x2x2 (rows, columns, copies) or lanes, with +swapped, +early or "
        "+together, +late after it",
        support::quoted(item));
    return std::nullopt;
  };
  constexpr std::int64_t max = 64;
  bool first = true;
  while (true) {
    std::size_t const comma = text.find(',');
    std::string_view const item = text.substr(0, comma);
    std::string_view way = item.substr(0, item.find('+'));
    std::size_t const equals = way.find('=');
    std::string_view const name = way.substr(0, equals);
    auto const numbers =
        equals == std::string_view::npos ? std::optional<Extents>(Extents{}) : numbers_of(way.substr(equals + 1), max);
    if (!numbers) return refuse(item);
    if (first) {
      if (name != "warps" || numbers->size() != 1 || way != item) return refuse(item);
      plan.warps = static_cast<int>((*numbers)[0]);
    } else {
      auto const& names = ir::enum_names<ProductPath>;
      auto const at = std::find(std::begin(names), std::end(names), name);
      ProductPlan product;
      product.path = static_cast<ProductPath>(at - std::begin(names));
      bool const lanes = product.path == ProductPath::lanes;
      if (at == std::end(names) || product.path == ProductPath::open ||
          (lanes ? numbers->size() != 0 : numbers->size() < 2))
        return refuse(item);
      if (!lanes) {
        product.grid.rows = static_cast<int>((*numbers)[0]);
        product.grid.columns = static_cast<int>((*numbers)[1]);
        if (numbers->size() > 2) product.grid.copies = static_cast<int>((*numbers)[2]);
      }
      if (!read_rest(item.substr(way.size()), product)) return refuse(item);
      plan.products.push_back(product);
    }
    first = false;
    if (comma == std::string_view::npos) return plan;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace tegula::transform
