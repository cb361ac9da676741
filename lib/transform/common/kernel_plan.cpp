#include "transform/common/kernel_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/string_buffer.hpp"
#include "tegula/support/error.hpp"
#include "transform/common/plan_products.hpp"
#include "transform/common/plan_registers.hpp"
#include "transform/common/plan_text.hpp"
#include "transform/common/plan_warps.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::ProductPath;
using ir::ProductStart;

/// Searches the plan of one kernel.
class Search {
 public:
  Search(ir::Function& kernel, std::vector<Op*> const& dots, CompileOptions const& options, TargetInfo const& target)
      : kernel_(kernel),
        dots_(dots),
        options_(options),
        target_(target),
        asked_(asked_plan()),
        products_(kernel, dots, options, target, asked_) {}

  KernelPlan run() {
    if (asked_) return given();
    KernelPlan best = best_of(candidates(products_));
    if (best.by_wgmma() == 0 || best.excess() == 0 || options_.exactly) return best;
    products_.leave_wgmma(best);
    return best_of(candidates(products_));
  }

 private:
  /// Reads the plan of the options; nothing: there is none.
  std::optional<KernelPlan> asked_plan() const {
    if (options_.plan.empty()) return std::nullopt;
    std::string why;
    auto asked = parse_plan(options_.plan, why);
    if (!asked) refuse(why);
    if (kernel_.warps != 0 && kernel_.warps != asked->warps)
      refuse(fmt::format("the kernel states {} warps", kernel_.warps));
    if (asked->products.size() != dots_.size())
      refuse(fmt::format("it has {} products, the kernel {}", asked->products.size(), dots_.size()));
    return asked;
  }

  [[noreturn]] void refuse(std::string const& reason) const {
    CompileOptions own = options_;
    own.plan.clear();
    throw UserError(
        fmt::format("plan-kernel: @{} cannot follow the plan {}: {}; without one the compiler takes {}", kernel_.name(),
                    options_.plan, reason, to_string(Search(kernel_, dots_, own, target_).run())),
        kernel_.where);
  }

  /// Returns the plan of the options.
  [[nodiscard]] KernelPlan given() const {
    KernelPlan plan = planned(asked_->warps);
    for (std::size_t i = 0; i < dots_.size(); ++i) {
      ProductPlan const& wanted = asked_->products[i];
      auto const found = products_.ways(i, asked_->warps);
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
      if (wanted.start != ProductStart::written && !products_.has_company(i))
        refuse(fmt::format("no other product stands in a loop with product {}, so it cannot start {}", i,
                           name_of(wanted.start)));
    }
    for (LoopOfProducts const& loop : products_.loops) {
      bool const any = runs_late(loop, plan);
      for (std::size_t const i : loop.products)
        if (plan.products[i].late != (any && loop.late.count(dots_[i]) != 0))
          refuse(fmt::format("product {} {} run late", i, plan.products[i].late ? "cannot" : "must"));
    }
    for (std::size_t i = 0; i < dots_.size(); ++i)
      if (plan.products[i].late && !products_.has_company(i)) refuse(fmt::format("product {} cannot run late", i));
    estimate(products_, plan);
    return plan;
  }

  [[nodiscard]] KernelPlan best_of(std::vector<int> const& numbers) const {
    int const min_by_lanes = products_.count_by_lanes();
    KernelPlan best;
    for (int const warps : numbers) {
      KernelPlan next = planned(warps);
      bool const alike = next.excess() == best.excess() && next.by_lanes() == best.by_lanes();
      bool const better =
          best.warps == 0 || next.excess() < best.excess() ||
          (next.excess() == best.excess() && next.by_lanes() < best.by_lanes()) ||
          (alike && best.tight && !next.tight && next.warps > best.warps && next.by_wgmma() >= best.by_wgmma());
      if (better) best = std::move(next);
      if (best.excess() == 0 && best.by_lanes() == min_by_lanes && !best.tight) break;
    }
    return best;
  }

  [[nodiscard]] KernelPlan planned(int warps) const {
    KernelPlan plan;
    plan.warps = warps;
    for (std::size_t i = 0; i < dots_.size(); ++i) plan.products.push_back(products_.ways(i, warps).front());
    allow(products_, plan);
    order_products(products_, plan);
    estimate(products_, plan);
    return plan;
  }

  ir::Function& kernel_;
  std::vector<Op*> const& dots_;
  CompileOptions const& options_;
  TargetInfo const& target_;
  std::optional<KernelPlan> asked_;  ///< of the options
  PlannedProducts products_;
};

}  // namespace

int KernelPlan::count(ir::ProductPath path) const {
  return static_cast<int>(std::count_if(products.begin(), products.end(),
                                        [&](ProductPlan const& product) { return product.path == path; }));
}

KernelPlan plan_of(ir::Function& kernel, std::vector<Op*> const& dots, CompileOptions const& options,
                   TargetInfo const& target) {
  return Search(kernel, dots, options, target).run();
}

}  // namespace tegula::transform
