#include "transform/common/plan_products.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "ir/core/families.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/walk.hpp"
#include "target/wgmma_operand.hpp"
#include "transform/common/fetches.hpp"
#include "transform/common/late_stage.hpp"
#include "transform/common/ring_lifetimes.hpp"
#include "transform/common/spread_ctas.hpp"

namespace tegula::transform {

using ir::Block;
using ir::Op;
using ir::OperandPlace;
using ir::ProductPath;
using ir::Value;
using layout::WarpGrid;
using target::Finding;

namespace {

bool takes_wgmma(ProductForm form, TargetInfo const& gpu) { return fits_wgmma(form, gpu, stored_operands(form, gpu)); }
/// Tells whether wgmma takes a product whose operands lie where it reads them: none is stored or turned for it.
/// Warps that load its left operand load it as it is needed.
bool takes_in_place(ProductForm form, TargetInfo const& gpu) {
  Factor const left = form.left();
  return fits_wgmma(form, gpu) && (left.fetched().view != nullptr || !left.turned || left.is_loaded());
}
/// Tells whether wgmma takes a product whose operands are copied, or loaded and stored, by nothing but loads.
bool takes_loaded(ProductForm form, TargetInfo const& gpu) {
  auto const comes = [](Factor factor) { return factor.fetched().view != nullptr || factor.is_loaded(); };
  return takes_wgmma(form, gpu) && comes(form.left()) && comes(form.right());
}
/// Tells whether mma.sync takes a product, with some number of warps.
bool takes_mma(ProductForm form, TargetInfo const& gpu) {
  for (int warps = 1; warps <= gpu.tuning.max_warps; ++warps)
    if (fits_mma(form, warps, gpu)) return true;
  return false;
}
/// Tells whether a product only adds to a sum that its loop carries.
bool is_carried_sum(Op const& dot) {
  auto const& uses = dot.result()->uses();
  return uses.size() == 1 && uses.front().user == &dot.parent()->back() && ir::loop_around(*dot.parent()) != nullptr &&
         dot.in<ir::DotOp>("accumulator")->owner_block() == dot.parent();
}
std::int64_t blocks_of(ProductForm form, TargetInfo const& gpu) { return form.shape()[0] / gpu.wgmma.rows; }

}  // namespace

PlannedProducts::PlannedProducts(ir::Function& of, std::vector<Op*> const& products, CompileOptions const& with,
                                 TargetInfo const& on, std::optional<KernelPlan> const& asked)
    : kernel(of),
      dots(products),
      options(with),
      gpu(on),
      sums(accumulators(products)),
      ctas(ctas_of_rows(of, with, on)) {
  room_ = static_cast<std::int64_t>(gpu.shared) - bytes_beside_rings(kernel, gpu);
  // Rings of pieces give up stages for the operands that are made of them.
  if (!dots.empty()) room_ -= gives_up_stages() ? bytes_of_two_stages(kernel) : min_bytes_of_rings(kernel);
  for (Op const* dot : dots) forms.emplace_back(*dot);
  if (asked)
    for (std::size_t i = 0; i < forms.size(); ++i) forms[i].swapped = asked->products[i].swapped;
  else
    choose_forms();
  find_stored();
  find_loops();
  find_chains();
}

/// Tells whether rings have two stages where more do not fit beside the operands that the warps store.
bool PlannedProducts::gives_up_stages() const {
  bool found = false;
  ir::walk(kernel, [&](Op const& op) { found = found || (op.is<ir::FetchOp>() && fetches_pieces(op)); });
  return found && !options.exactly;
}

/// Tells whether a product is computed as the transpose of the one that swaps its operands. `room`: bytes of shared
/// memory for the result, which is turned once, after its loop.
bool PlannedProducts::gains_by_swap(ProductForm const& form, std::int64_t room) const {
  ProductForm const swapped(*form.dot, true);
  ir::Type const& result = form.dot->result()->type();
  bool const has_room = result.elements() * bytes(result.element()) <= room;
  bool const reaches_wgmma = !takes_wgmma(form, gpu) && has_room;
  bool const reaches_mma = takes_mma(swapped, gpu) && !takes_mma(form, gpu) && !takes_in_place(form, gpu);
  // A right operand that is computed from few bits becomes the left one, whose words instructions take as they come.
  bool const few_bits = takes_few_bits(swapped) && is_carried_sum(*form.dot) && takes_mma(swapped, gpu);
  bool const in_shared = takes_in_place(swapped, gpu) || takes_loaded(swapped, gpu);
  return (reaches_wgmma && (in_shared || few_bits)) || reaches_mma;
}

/// Swaps a product back or forth where its blocks of rows limit the warpgroups of the others, or keep it from wgmma.
void PlannedProducts::match_blocks_of_others(std::size_t number) {
  std::int64_t others = 0;
  for (std::size_t i = 0; i < forms.size(); ++i)
    if (i != number && takes_wgmma(forms[i], gpu)) others = std::gcd(others, blocks_of(forms[i], gpu));
  auto const fits = [&](ProductForm const& form) {
    return takes_wgmma(form, gpu) && blocks_of(form, gpu) % others == 0;
  };
  ProductForm& form = forms[number];
  if (others <= 1 || fits(form)) return;
  if (ProductForm const swapped(*form.dot, !form.swapped); fits(swapped)) form = swapped;
}

void PlannedProducts::choose_forms() {
  // Rings give up stages for a result that is turned: two are enough.
  std::int64_t room = room_;
  if (!dots.empty() && !options.exactly && !gives_up_stages())
    room += min_bytes_of_rings(kernel) - bytes_of_two_stages(kernel);
  for (ProductForm& form : forms) form.swapped = gains_by_swap(form, room);
  for (std::size_t i = 0; i < forms.size(); ++i) match_blocks_of_others(i);
}

void PlannedProducts::find_stored() {
  auto const has_room = [&](ir::Type const& tile) {
    std::int64_t const size = tile.elements() * bytes(tile.element());
    if (size > room_) return false;
    room_ -= size;
    return true;
  };
  for (ProductForm const form : forms) {
    StoredOperands operands = stored_operands(form, gpu);
    if (operands.right != nullptr && !has_room(form.right().tile->type())) operands = {};
    if (operands.left != nullptr && !has_room(form.left().tile->type())) operands.left = nullptr;
    stored.push_back(operands);
    reasons.push_back(why_not_wgmma(form, gpu, operands));
    if (reasons.back().empty()) blocks = std::gcd(blocks, blocks_of(form, gpu));
  }
}

void PlannedProducts::find_loops() {
  std::map<Block const*, std::size_t> known;
  for (std::size_t i = 0; i < dots.size(); ++i) {
    Op const* const loop = dots[i]->parent_op();
    if (loop == nullptr || !loop->is<ir::ForOp>()) continue;
    auto const [at, first] = known.try_emplace(dots[i]->parent(), loops.size());
    if (first) loops.push_back({dots[i]->parent(), {}, turns_of(*dots[i]->parent()), {}, {}});
    loops[at->second].products.push_back(i);
  }
  for (LoopOfProducts& loop : loops) {
    bool const all_copied = std::all_of(loop.products.begin(), loop.products.end(),
                                        [&](std::size_t i) { return forms[i].right().fetched().view != nullptr; });
    // A product of mma.sync is done when the next op runs: nothing runs beside it.
    if (!all_copied || !gpu.has(Ability::wgmma)) continue;
    auto const late = products_that_can_be_late(*loop.block->parent_op());
    if (late.empty()) continue;
    LateStage const stage(*loop.block->parent_op(), late);
    if (!stage.possible()) continue;
    loop.late.insert(late.begin(), late.end());
    loop.crossing = stage.crossing();
  }
}

void PlannedProducts::find_chains() {
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (forms[i].swapped) continue;
    std::set<Value const*> reached;
    std::vector<Value const*> left = {forms[i].left().tile};
    while (!left.empty()) {
      Value const& tile = *left.back();
      left.pop_back();
      Op const* const op = tile.defining_op();
      if (op == nullptr || !reached.insert(&tile).second) continue;
      auto const dot = std::find(dots.begin(), dots.end(), op);
      auto const from = static_cast<std::size_t>(dot - dots.begin());
      if (dot != dots.end() && !forms[from].swapped) chained_.insert({i, from});
      if (op->is(ir::Family::elementwise)) left.insert(left.end(), op->operands().begin(), op->operands().end());
    }
  }
}

bool PlannedProducts::copies_in_loop() const {
  return std::any_of(loops.begin(), loops.end(), [&](LoopOfProducts const& loop) {
    return std::any_of(loop.products.begin(), loop.products.end(), [&](std::size_t i) {
      return forms[i].left().fetched().view != nullptr || forms[i].right().fetched().view != nullptr;
    });
  });
}

int PlannedProducts::count_by_lanes() const {
  int count = 0;
  for (std::size_t i = 0; i < dots.size(); ++i) {
    bool other = reasons[i].empty();
    for (int warps = 1; warps <= gpu.tuning.max_warps && !other; ++warps) other = fits_mma(forms[i], warps, gpu);
    if (!other) ++count;
  }
  return count;
}

bool PlannedProducts::has_company(std::size_t i) const {
  return std::any_of(loops.begin(), loops.end(), [&](LoopOfProducts const& loop) {
    return loop.products.size() > 1 && loop.block == dots[i]->parent();
  });
}

std::vector<DotGrid> const& PlannedProducts::grids_of(std::size_t i, int warps) const {
  auto const [at, first] = grids_.try_emplace({i, warps});
  if (!first) return at->second;
  std::vector<DotGrid>& grids = at->second = mma_grids(forms[i], warps, gpu);
  if (chained_.count(i) == 0 || grids.empty()) return grids;
  std::stable_partition(grids.begin(), grids.end(), [copies = grids.front().grid.copies](DotGrid const& one) {
    return one.grid.columns == 1 && one.grid.copies == copies;
  });
  return grids;
}

std::vector<ProductPlan> PlannedProducts::ways(std::size_t i, int warps) const {
  ProductForm const form = forms[i];
  std::vector<ProductPlan> result;
  ProductPlan plan;
  plan.swapped = form.swapped;
  plan.why = reasons[i];
  auto const place = [&](Factor operand, bool is_stored) {
    if (operand.fetched().view != nullptr) return OperandPlace::copied;
    return is_stored ? OperandPlace::stored : OperandPlace::registers;
  };
  if (plan.why.empty()) {
    ProductPlan by_wgmma;
    by_wgmma.swapped = form.swapped;
    by_wgmma.path = ProductPath::wgmma;
    by_wgmma.left = place(form.left(), stored[i].left != nullptr);
    by_wgmma.right = place(form.right(), stored[i].right != nullptr);
    for (WarpGrid const grid : wgmma_grids(form, stored[i], warps, cta_warps(warps), gpu, plan.why)) {
      by_wgmma.grid = grid;
      result.push_back(by_wgmma);
    }
    if (!result.empty()) plan.why = Finding(target::finding::stated, "wgmma takes it, but the plan of the options not");
  }
  plan.left = place(form.left(), false);
  plan.right = place(form.right(), false);
  if (fits_mma(form, warps, gpu))
    for (DotGrid const& one : grids_of(i, warps)) {
      ProductPlan& by_mma = result.emplace_back(plan);
      by_mma.path = ProductPath::mma;
      by_mma.grid = one.grid;
      std::int64_t const step = depth_of_part(form, one.grid, gpu);
      by_mma.step = step == form.left().shape()[1] ? 0 : step;
    }
  plan.path = ProductPath::lanes;
  result.push_back(plan);
  return result;
}

void PlannedProducts::leave_wgmma(KernelPlan const& best) {
  for (Finding& why : reasons)
    if (why.empty()) why = Finding(target::finding::sums, best.registers, best.warps, best.allowed);
  blocks = 0;
}

std::vector<Value const*> sums_beside_products(Block const& block) {
  std::vector<Value const*> found;
  if (block.parent_op() == nullptr || !block.parent_op()->is<ir::ForOp>()) return found;
  std::int64_t min = std::numeric_limits<std::int64_t>::max();  // elements of a product
  for (Op const& op : block)
    if (op.is<ir::DotOp>()) min = std::min(min, op.result()->type().elements());
  ir::Loop const loop(*block.parent_op());
  for (int k = 0; k < loop.count(); ++k) {
    Value const& carried = *loop.carried(k);
    if (!carried.type().is_tile() || carried.type().elements() < min) continue;
    if (loop.yielded(k)->defined_by<ir::DotOp>() == nullptr) found.push_back(&carried);
  }
  return found;
}

std::int64_t accumulators(std::vector<Op*> const& dots) {
  std::map<ir::Block const*, std::pair<std::int64_t, std::int64_t>> blocks;  // carried, largest other
  std::int64_t max = 0;
  for (Op const* dot : dots) {
    auto const [at, first] = blocks.try_emplace(dot->parent());
    auto& [carried, other] = at->second;
    if (first)
      for (Value const* sum : sums_beside_products(*dot->parent())) carried += sum->type().elements();
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

}  // namespace tegula::transform
