#include "transform/common/plan_registers.hpp"

#include <algorithm>
#include <functional>

#include "analysis/register_need.hpp"
#include "analysis/register_pressure.hpp"
#include "transform/common/fetches.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;
using ir::ProductPath;
using ir::ProductStart;
using ir::Value;

/// Tells whether products alone, also after a transposition, take a tile.
bool only_products_take(Value const& tile) {
  return std::all_of(tile.uses().begin(), tile.uses().end(), [](ir::Use const& use) {
    return use.user->is<ir::DotOp>() || (use.user->is<ir::TransOp>() && only_products_take(*use.user->result()));
  });
}

/// Counts registers for the plans of one kernel.
class Registers {
 public:
  explicit Registers(PlannedProducts const& products) : products_(products), target_(products.gpu) {}

  /// Estimates the registers of a plan.
  void estimate(KernelPlan& plan) const {
    allow(products_, plan);
    if (plan.by_wgmma() != 0) {
      plan.registers = static_cast<int>(products_.sums / (plan.warps * target_.lanes)) + target_.wgmma.extra_registers;
      plan.tight =
          plan.allowed < in_order_of(
                             plan,
                             [&](auto const& cost) {
                               return analysis::registers_needed(products_.kernel, analysis::Kernels::of_wgmma, cost);
                             });
    } else if (products_.dots.empty()) {
      plan.registers = analysis::registers_needed(products_.kernel, analysis::Kernels::of_rows, cost_in(plan));
    } else {  // ahead of layouts the model does not see operands on their way: all that is alive, and a quarter
      int const alive =
          in_order_of(plan, [&](auto const& cost) { return analysis::register_pressure(products_.kernel, cost); });
      plan.registers = alive * 5 / 4 + target_.tuning.address_registers;
    }
  }

  /// Decides when the products of a loop run.
  void order(LoopOfProducts const& loop, KernelPlan& plan) const {
    if (loop.products.size() < 2) return;
    order_starts(loop, plan);
    std::int64_t all = crossing_registers(loop, plan);
    for (std::size_t const i : loop.products) all += registers_of(products_.dots[i]->result()->type(), plan);
    for (std::size_t const i : loop.products)
      plan.products[i].late =
          loop.late.count(products_.dots[i]) != 0 && all + target_.tuning.row_registers <= plan.allowed;
  }

 private:
  /// Counts the registers of a thread that hold its part of a tile.
  [[nodiscard]] std::int64_t registers_of(ir::Type const& tile, KernelPlan const& plan) const {
    std::int64_t const threads = std::int64_t{plan.warps} * target_.lanes, register_bytes = sizeof(float);
    return tile.elements() * bytes(tile.element()) / (threads * register_bytes);
  }

  [[nodiscard]] std::int64_t crossing_registers(LoopOfProducts const& loop, KernelPlan const& plan) const {
    std::int64_t sum = 0;
    for (Value const* value : loop.crossing)
      if (value->type().is_tile()) sum += registers_of(value->type(), plan);
    return sum;
  }

  void order_starts(LoopOfProducts const& loop, KernelPlan& plan) const {
    struct Turn {
      std::int64_t results = 0, factors = 0;
    };
    std::map<int, Turn> turns;
    std::int64_t always = target_.wgmma.extra_registers;
    std::int64_t waiting = 0;  // factors of products that run while the last one's are computed
    for (std::size_t const i : loop.products) {
      Turn& turn = turns[loop.turns.at(products_.dots[i])];
      bool const carried = products_.dots[i]->in<ir::DotOp>("accumulator")->owner_block() == loop.block;
      (carried ? always : turn.results) += registers_of(products_.dots[i]->result()->type(), plan);
      Value const& left = *products_.forms[i].left().tile;
      if (!is_computed(left, *loop.block)) continue;
      std::int64_t const factor = registers_of(left.type(), plan);
      turn.factors += factor;
      if (i != loop.products.back()) waiting += factor;
    }
    for (Value const* sum : sums_beside_products(*loop.block)) always += registers_of(sum->type(), plan);
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
      plan.products[i].start = early                                                   ? ProductStart::early
                               : together.count(loop.turns.at(products_.dots[i])) != 0 ? ProductStart::together
                                                                                       : ProductStart::written;
  }

  /// Asks for the registers of the kernel with products where the plan starts them, and adds what crosses to the next
  /// iteration.
  template <class Ask>
  [[nodiscard]] int in_order_of(KernelPlan const& plan, Ask const& ask) const {
    std::int64_t crossing = 0;
    std::vector<std::pair<Block*, std::vector<Op*>>> written;
    for (LoopOfProducts const& loop : products_.loops) {
      if (runs_late(loop, plan)) crossing = std::max(crossing, crossing_registers(loop, plan));
      std::vector<Op*>& order = written.emplace_back(loop.block, std::vector<Op*>()).second;
      for (Op& op : *loop.block) order.push_back(&op);
      for (std::size_t const i : loop.products) products_.dots[i]->as<ir::DotOp>().start = plan.products[i].start;
      raise_products(*loop.block);
    }
    int const registers = ask(cost_in(plan));
    for (auto const& [block, order] : written)  // as they were
      for (Op* op : order)
        if (op != order.back()) op->move_before(*order.back());
    for (Op* dot : products_.dots) dot->as<ir::DotOp>().start = ProductStart::written;
    return registers + static_cast<int>(crossing);
  }

  /// Counts what mma.sync takes of registers: parts of operands that a thread holds, and copies of results.
  struct Copies {
    /// Parts of operands, for each product that takes them; a tile that was computed besides lies as its arithmetic
    /// leaves it.
    std::map<Value const*, std::int64_t> operands;
    /// Parts of results that several warps compute, by shape: arithmetic follows them.
    std::vector<std::pair<Extents, std::int64_t>> results;
  };
  [[nodiscard]] Copies copies_of(KernelPlan const& plan) const {
    Copies copies;
    for (std::size_t i = 0; i < products_.dots.size(); ++i) {
      if (plan.products[i].path != ProductPath::mma) continue;
      layout::WarpGrid const grid = plan.products[i].grid;
      copies.results.emplace_back(products_.dots[i]->result()->type().shape(), grid.copies);
      std::vector<DotGrid> const& grids = products_.grids_of(i, plan.warps);
      bool const direct = std::any_of(grids.begin(), grids.end(), [&](DotGrid const& one) {
        return one.direct && one.grid.rows == grid.rows && one.grid.columns == grid.columns;
      });
      for (bool const left : {true, false}) {
        Value const* const operand = (left ? products_.forms[i].left() : products_.forms[i].right()).tile;
        bool const copied = fetched_operand(*operand).view != nullptr;
        if (copied && direct) continue;
        bool const loaded = copied || operand->defined_by<ir::LoadOp>() != nullptr;
        std::int64_t const parts = plan.warps / (left ? grid.rows : grid.columns);
        copies.operands.try_emplace(operand, loaded ? 0 : 1).first->second += parts;
      }
    }
    return copies;
  }

  /// Returns the registers of a thread for each value, where each thread holds an equal part of every tile. Operands
  /// that were copied are read a few at a time, if only products take them.
  [[nodiscard]] std::function<int(Value const&)> cost_in(KernelPlan const& plan) const {
    std::int64_t const threads = std::int64_t{plan.warps} * target_.lanes * products_.ctas;
    return [threads, copies = copies_of(plan)](Value const& value) -> int {
      constexpr std::int64_t word_bits = 32;
      ir::Type const& type = value.type();
      if (!type.is_tile()) return analysis::registers_of(type);
      auto const found = copies.operands.find(&value);
      bool const taken = found != copies.operands.end();
      if (!taken && fetched_operand(value).view != nullptr && only_products_take(value)) return 0;
      Op const* const broadcast = value.defined_by<ir::BroadcastOp>();
      ir::Type const& held = broadcast != nullptr ? broadcast->operand()->type() : type;
      std::int64_t times = taken ? found->second : 1;
      for (auto const& [shape, of_result] : copies.results)
        if (!taken && shape == held.shape()) times = std::max(times, of_result);
      std::int64_t const all = held.elements() * bits(held.element()) * times;
      return static_cast<int>((all + word_bits * threads - 1) / (word_bits * threads));
    };
  }

  PlannedProducts const& products_;
  TargetInfo const& target_;
};

}  // namespace

bool runs_late(LoopOfProducts const& loop, KernelPlan const& plan) {
  return std::any_of(loop.products.begin(), loop.products.end(), [&](std::size_t i) { return plan.products[i].late; });
}

void allow(PlannedProducts const& products, KernelPlan& plan) {
  if (plan.by_wgmma() != 0) {
    plan.allowed = static_cast<int>(registers_of_roles(plan.warps, products.gpu)[1]);
    return;
  }
  // Warps that copy come besides. They hand registers over where whole warpgroups compute.
  bool const copies = products.copies_in_loop() && copies_apart(products.options.specialization, products.gpu);
  bool const groups = plan.warps % products.gpu.warps_per_group == 0;
  plan.allowed =
      static_cast<int>(registers_of_cta(plan.warps + (copies && !groups ? producer_warps : 0), products.gpu));
}

void estimate(PlannedProducts const& products, KernelPlan& plan) { Registers(products).estimate(plan); }

void order_products(PlannedProducts const& products, KernelPlan& plan) {
  for (LoopOfProducts const& loop : products.loops) Registers(products).order(loop, plan);
}

}  // namespace tegula::transform
