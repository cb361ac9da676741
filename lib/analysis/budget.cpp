#include "analysis/budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analysis/kernel_paths.hpp"
#include "analysis/register_need.hpp"
#include "analysis/register_pressure.hpp"
#include "layout/element_offsets.hpp"
#include "ir/memory/shared_frame.hpp"
#include "ir/text/text.hpp"
#include "ir/memory/accesses.hpp"
#include "target/finding.hpp"
#include "ir/core/walk.hpp"
#include "target/wgmma_operand.hpp"
#include "tegula/support/error.hpp"

namespace tegula::analysis {
namespace {

/// Beyond this need the assembler takes minutes for the code: 4600 registers took over five.
constexpr int max_spilled = 2048;

/// Returns the most registers that a thread of any warp may have.
int registers_allowed(ir::Function const& kernel, TargetInfo const& target) {
  int max = target.registers_at_start(kernel.warps);
  ir::walk_pre_order(kernel.body(), [&](ir::Op& op) {
    if (op.is<ir::WarpSpecializeOp>())
      for (std::int64_t const given : op.as<ir::WarpSpecializeOp>().registers)
        max = std::max(max, static_cast<int>(given));
    return ir::Walk::advance;
  });
  return max;
}

/// `%acc 128x256xf32 128`: the accumulators of products, the most registers of a thread first.
std::string accumulators(ir::Function const& function) {
  std::vector<std::pair<int, std::string>> found;
  ir::walk_pre_order(function.body(), [&](ir::Op& op) {
    if (!op.is<ir::WgmmaOp>()) return ir::Walk::advance;
    ir::Type const& type = op.result()->type();
    found.emplace_back(-registers_of(type), layout::shape_text(type.shape()) + "x" + std::string(name(type.element())));
    return ir::Walk::advance;
  });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::string text;
  for (auto const& [registers, type] : found)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", type, -registers);
  return text;
}

/// Counts the warps that do not compute: the warps of all partitions but the last.
int copying_warps(ir::Function const& kernel) {
  int count = 0;
  for (ir::Op const& op : kernel.body())
    if (op.is<ir::WarpSpecializeOp>()) {
      auto const& roles = op.as<ir::WarpSpecializeOp>();
      for (int i = 0; i + 1 < roles.warps.size(); ++i) count += static_cast<int>(roles.warps[i] * roles.replicas[i]);
    }
  return count;
}

int mbarriers(ir::Function const& function) {
  std::int64_t count = 0;
  ir::walk_pre_order(function.body(), [&](ir::Op& op) {
    if (op.is<ir::BufferAllocOp>() && op.result()->type().kind() == ir::TypeKind::mbarrier)
      count += op.result()->type().shape().product();
    return ir::Walk::advance;
  });
  return static_cast<int>(count);
}

/// Names the tile that takes most registers where most are needed, and its place in the source.
LargestTile largest_tile(ir::Value const* largest) {
  LargestTile result;
  if (largest == nullptr) return result;
  result.tile = layout::shape_text(largest->type().shape()) + "x" + std::string(name(largest->type().element()));
  if (ir::Op const* const made = largest->defining_op(); made != nullptr && made->where().known()) {
    result.file = made->where().file();
    result.line = made->where().line();
  }
  return result;
}

void name_largest(BrokenRule& rule, LargestTile const& tile, ir::Value const* largest) {
  if (largest == nullptr) return;
  if (tile.line != 0) rule.where = largest->defining_op()->where();
  rule.sentence += fmt::format(", {} of them for {}, {}", registers_of(*largest), ir::to_string(*largest), tile.tile);
}

BrokenRule rule_of_load(ir::Op const& load) {
  auto const finding = target::Finding::from_data(load.as<ir::LoadOp>().by_pointer.view());
  TmaRule const* const rule = finding.rule();
  BrokenRule broken;
  broken.name = rule == nullptr ? "tma" : "tma: " + std::string(rule->name);
  broken.sentence =
      ir::to_string(*load.in<ir::LoadOp>("tensor")) + " is loaded through pointers: " + finding.sentence();
  broken.fix = rule == nullptr ? "" : std::string(rule->fix);
  broken.where = load.where();
  return broken;
}

/// Names the rule that lets threads copy the pieces that cover rows, and shift them.
BrokenRule rule_of_pieces(ir::Op const& copy) {
  ir::Value const& tensor = *copy.in<ir::CpAsyncCoverOp>("tensor");
  target::Finding const finding(target::finding::address, bytes(tensor.type().element()));
  BrokenRule broken;
  broken.name = "tma: " + std::string(finding.rule()->name);
  broken.sentence = ir::to_string(tensor) + " is copied by threads, and shifted: " + finding.sentence();
  broken.fix = std::string(finding.rule()->fix);
  broken.where = copy.where();
  return broken;
}

BrokenRule rule_of_product(ir::Op const& product) {
  BrokenRule broken;
  broken.name = "wgmma";
  broken.sentence = "a product of " + std::string(name(product.lhs()->type().element())) +
                    " goes warp by warp from registers: " +
                    target::Finding::from_data(product.as<ir::MmaOp>().by_warps.view()).text();
  broken.fix = std::string(remedy_for_wgmma);
  broken.where = product.where();
  return broken;
}

/// Adds a rule that the kernel as a whole breaks.
void add_rule(Budget& result, ir::Function const& kernel, char const* name, std::string sentence,
              std::string_view fix) {
  result.broken.push_back({name, std::move(sentence), std::string(fix), kernel.where, true});
}

void check_threads(Budget& result, ir::Function const& kernel, TargetInfo const& target) {
  if (result.threads <= target.threads) return;
  int const copying = copying_warps(kernel);
  add_rule(
      result, kernel, "threads",
      fmt::format("{} warps{}, so {} threads of a CTA, {} allowed", kernel.warps,
                  copying > 0 ? fmt::format(", {} of them for copies", copying) : "", result.threads, target.threads),
      fmt::format("ask for {} warps or fewer{}", target.threads / target.lanes - copying,
                  copying > 0 ? ", or turn warp specialization off, which adds warps for copies" : ""));
}

void check_registers(Budget& result, ir::Function const& kernel, TargetInfo const& target, RegisterNeed const& need,
                     Spills spills) {
  int const open = open_product_registers(kernel);
  int const open_allowed = registers_allowed(kernel, target);
  if (open > 0 && open + target.wgmma.extra_registers > open_allowed)
    return add_rule(result, kernel, "registers",
                    fmt::format("accumulators of open products take {} registers of a thread ({}) and their "
                                "instructions {} more, {} allowed with {} threads",
                                open, accumulators(kernel), target.wgmma.extra_registers, open_allowed, result.threads),
                    "take smaller tiles");
  if (!need.surely_spills()) return;
  add_rule(result, kernel, "registers",
           fmt::format("about {} registers of a thread needed at once, {} allowed with {} threads", result.registers,
                       result.registers_allowed, result.threads),
           result.threads < target.threads ? "spread the tiles over more warps, or take smaller ones"
                                           : "take smaller tiles");
  name_largest(result.broken.back(), result.largest, need.tightest().largest);
  result.broken.back().fatal = spills == Spills::refused || result.registers > max_spilled;
}

/// Returns the rule that keeps an op from its fastest form; nothing: it has this form.
std::optional<BrokenRule> rule_of(ir::Op const& op) {
  if (op.is<ir::LoadOp>() && !op.as<ir::LoadOp>().by_pointer.view().empty()) return rule_of_load(op);
  if (op.is<ir::MmaOp>() && !op.as<ir::MmaOp>().by_warps.view().empty()) return rule_of_product(op);
  if (op.is<ir::CpAsyncCoverOp>() && !ir::parameter_of(*op.in<ir::CpAsyncCoverOp>("tensor")).facts.aligned_16)
    return rule_of_pieces(op);
  return std::nullopt;
}

void add_slower_forms(Budget& result, ir::Function const& kernel) {
  ir::walk_pre_order(kernel.body(), [&](ir::Op& op) {
    std::optional<BrokenRule> broken = rule_of(op);
    if (!broken) return ir::Walk::advance;
    bool const reported = std::any_of(result.broken.begin(), result.broken.end(), [&](BrokenRule const& earlier) {
      return earlier.sentence == broken->sentence && earlier.where.line() == broken->where.line();
    });
    if (!reported) result.broken.push_back(std::move(*broken));  // loops that were split hold a load several times
    return ir::Walk::advance;
  });
}

}  // namespace

Budget budget(ir::Function const& kernel, TargetInfo const& target, Spills spills) {
  Budget result;
  auto const users = ir::shared_users(kernel);
  result.shared = ir::frame_bytes(users);
  result.barriers = mbarriers(kernel);
  result.shared_allowed = target.shared;
  result.threads = kernel.warps * target.lanes;
  result.threads_allowed = target.threads;
  RegisterNeed const need = register_need(kernel, target);
  result.registers = need.tightest().registers;
  result.registers_allowed = need.tightest().allowed;
  result.largest = largest_tile(need.tightest().largest);
  if (result.shared > target.shared)
    add_rule(result, kernel, "shared", ir::too_much_shared_memory(result.shared, target.shared, users),
             ir::less_shared_memory);
  check_threads(result, kernel, target);
  check_registers(result, kernel, target, need, spills);
  add_slower_forms(result, kernel);
  return result;
}

void refuse_over_budget(Budget const& budget, ir::Function const& kernel) {
  for (BrokenRule const& rule : budget.broken)
    if (rule.fatal) throw UserError("compile: @" + kernel.name() + ": " + rule.sentence + "; " + rule.fix, rule.where);
}

void refuse_over_budget(ir::Function const& kernel, TargetInfo const& target) {
  refuse_over_budget(budget(kernel, target), kernel);
}

}  // namespace tegula::analysis
