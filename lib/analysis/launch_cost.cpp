#include "analysis/launch_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "analysis/carried_sums.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/values/constant_of.hpp"
#include "ir/values/elementary.hpp"
#include "ir/values/trip_count.hpp"
#include "tegula/support/element.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::analysis {

using ir::Op;

Machine machine_of(Executor const& executor) {
  Machine machine;
  machine.processors = std::max(executor.processors, 1);
  if (TargetInfo const* const target = executor.target; target != nullptr) {
    CostModel const& costs = target->costs;
    machine.clocks_per_ns = costs.clocks_per_ns;
    machine.product_bytes = target->product_bytes_per_clock;
    machine.operand_bytes = costs.shared_bytes_per_clock;
    machine.cached_bytes = costs.global_bytes_per_clock;
    machine.memory_bytes_per_ns = costs.memory_bytes_per_clock * machine.processors * costs.clocks_per_ns;
    machine.functions = target->exponentials_per_clock;
    machine.arithmetic = static_cast<double>(costs.schedulers) * target->lanes;
    machine.block_clocks = costs.copy_latency + costs.global_latency;
    machine.launch_ns = costs.launch_ns;
    return machine;
  }
  // A core with two units for 256-bit vectors; measured copies take about 10 bytes of memory per ns and core.
  machine.clocks_per_ns = 3;
  machine.product_bytes = 64;
  machine.operand_bytes = 64;
  machine.cached_bytes = 16;
  machine.memory_bytes_per_ns = 10 * std::sqrt(machine.processors);
  machine.functions = 1;
  machine.arithmetic = 16;
  machine.block_clocks = 300;
  return machine;
}

double product_bytes(Op const& product) {
  ir::Type const& lhs = product.lhs()->type();
  double const depth_bytes = static_cast<double>(lhs.shape()[lhs.rank() - 1]) * info(lhs.element()).bits / 8;
  return static_cast<double>(product.result()->type().elements()) * depth_bytes;
}

void add(Work& found, Work const& other, double times) {
  for (double Work::*const count :
       {&Work::product_bytes, &Work::operand_bytes, &Work::loaded_bytes, &Work::stored_bytes, &Work::lines,
        &Work::outside_lines, &Work::narrow, &Work::functions, &Work::arithmetic})
    found.*count += times * (other.*count);
}

namespace {

constexpr std::int64_t line = 128;  ///< bytes
constexpr std::int64_t lanes = warp_lanes;

double bytes_of(ir::Type const& type) { return static_cast<double>(type.elements()) * info(type.element()).bits / 8; }

/// Tells whether a tile is a right operand of products alone, which tiles one above the other have in common.
bool is_right_operand(ir::Value const& tile) {
  return !tile.uses().empty() && std::all_of(tile.uses().begin(), tile.uses().end(), [](ir::Use const& use) {
    return use.is<ir::DotOp>("rhs") || (use.user->is<ir::TransOp>() && is_right_operand(*use.user->result()));
  });
}

/// Describes what an estimate counts by.
struct Counting {
  std::vector<TensorSize> const& tensors;
  double share = 1;    ///< CTAs that fetch right operands for each other
  double split = 1;    ///< CTAs that divide the trips of a product's loop
  int stages = 0;      ///< of every loop; 0: as written
  bool shifts = true;  ///< threads copy pieces that cover rows, for warpgroups
};

/// Returns the tensor that a load reads as it is; null: a view of one, or another op.
TensorSize const* tensor_of(Op const& op, Counting const& counting) {
  if (!op.is<ir::LoadOp>()) return nullptr;
  ir::Value const& tensor = *op.in<ir::LoadOp>("tensor");
  return tensor.defining_op() != nullptr ? nullptr : &counting.tensors[static_cast<std::size_t>(tensor.index())];
}

/// Returns the share of loaded tiles that lies within their tensor, in the mean over the tiles that cover it.
double share_within(Op const& load, Counting const& counting) {
  TensorSize const* const tensor = tensor_of(load, counting);
  ir::Type const& tile = load.result()->type();
  double share = 1;
  for (int back = 1; tensor != nullptr && back <= std::min(tile.rank(), tensor->extents.size()); ++back) {
    double const extent = static_cast<double>(tensor->extents[tensor->extents.size() - back]),
                 length = static_cast<double>(tile.shape()[tile.rank() - back]);
    share *= extent / (std::max(std::ceil(extent / length), 1.0) * length);
  }
  return share;
}

/// Returns the bytes that a thread accesses at once where a tensor's rows are not multiples of 16 bytes; 0: they are.
std::int64_t narrow_bytes(Op const& load, Counting const& counting) {
  constexpr std::int64_t widest = 16;
  TensorSize const* const tensor = tensor_of(load, counting);
  if (tensor == nullptr) return 0;
  std::int64_t together = widest;
  for (int axis = 0; axis + 1 < tensor->strides.size(); ++axis)
    together = std::gcd(together, tensor->strides[axis] * info(tensor->element).bits / 8);
  return together == widest ? 0 : std::max<std::int64_t>(info(tensor->element).bits / 8, 1);
}

/// Tells whether threads copy the pieces of 16 bytes that cover the rows of a load, and shift them, if these are not
/// multiples of 16 bytes: those of an operand of products in a loop.
bool is_shifted(Op const& load) {
  constexpr std::int64_t rows_of_warpgroup = 64, widest_element = 32;
  auto const feeds = [](auto const& self, ir::Value const& tile) -> bool {
    return !tile.uses().empty() && std::all_of(tile.uses().begin(), tile.uses().end(), [&](ir::Use const& use) {
      Op const& user = *use.user;
      if (user.is<ir::TransOp>()) return self(self, *user.result());
      if (!user.is<ir::DotOp>() || use.is<ir::DotOp>("accumulator")) return false;
      if (tile.type().element() == Element::f32 && user.as<ir::DotOp>().precision == ir::DotPrecision::full)
        return false;
      Extents const& result = user.result()->type().shape();
      return result[0] % rows_of_warpgroup == 0 || result[1] % rows_of_warpgroup == 0;
    });
  };
  ir::Type const& tile = load.result()->type();
  bool const in_loop = load.parent_op() != nullptr && load.parent_op()->is<ir::ForOp>();
  return in_loop && load.is<ir::LoadOp>() && tile.rank() == 2 && info(tile.element()).bits <= widest_element &&
         feeds(feeds, *load.result());
}

/// Returns the lines that a row of 128 bytes touches, in the mean over rows: rows that follow each other at a distance
/// that is not a multiple of 128 bytes touch two, but for some.
double lines_of_a_row(Op const& load, Counting const& counting) {
  TensorSize const* const tensor = tensor_of(load, counting);
  if (tensor == nullptr || tensor->extents.size() < 2) return 1;
  std::int64_t const pitch = tensor->strides[tensor->strides.size() - 2] * info(tensor->element).bits / 8;
  return 2 - static_cast<double>(std::gcd(pitch, line)) / line;
}

bool is_store(Op const& op) { return op.is<ir::StoreOp>() || op.is<ir::ScatterOp>() || op.is<ir::AtomicUpdateOp>(); }
bool is_load(Op const& op) { return op.is<ir::LoadOp>() || op.is<ir::GatherOp>(); }

void add_product(Work& found, Op const& dot, double times) {
  ir::Type const &lhs = dot.lhs()->type(), &result = dot.result()->type();
  double const columns = static_cast<double>(result.shape()[result.rank() - 1]);
  double const rows = static_cast<double>(result.elements()) / columns;
  double const depth_bytes = static_cast<double>(lhs.shape()[lhs.rank() - 1]) * info(lhs.element()).bits / 8;
  found.product_bytes += times * product_bytes(dot);
  // Each 64 rows read all columns.
  found.operand_bytes += times * depth_bytes * (rows + columns * std::ceil(rows / 64));
}

void add_load(Work& found, Op const& load, ir::Value const& tile, double times, Counting const& counting) {
  double const all = times * bytes_of(tile.type()), within = share_within(load, counting);
  double const ctas = is_right_operand(tile) ? counting.share : 1;
  found.loaded_bytes += all * within;
  found.lines += all * within / line * lines_of_a_row(load, counting) / ctas;
  std::int64_t const at_once = narrow_bytes(load, counting);
  if (at_once > 0 && counting.shifts && is_shifted(load))
    found.operand_bytes += bytes_of_shift * all;
  else if (at_once > 0)
    found.narrow += all / static_cast<double>(at_once * lanes);
  else
    found.outside_lines += all * (1 - within) / line / ctas;
}

void add_arithmetic(Work& found, Op const& op, ir::Type const& result, double times) {
  bool const of_tile = op.operand_count() > 0 && op.operand(0)->type().is_tile();
  ir::Type const& computed = of_tile ? op.operand(0)->type() : result;
  (ir::is_function(op) ? found.functions : found.arithmetic) += times * static_cast<double>(computed.elements());
}

void add_store(Work& found, Op const& store, double times) {
  for (ir::Value const* operand : store.operands())
    if (operand->type().is_tile()) {
      found.stored_bytes += times * bytes_of(operand->type());
      found.lines += times * bytes_of(operand->type()) / line;
    }
}

/// Adds one op that runs `times` times.
void add(Work& found, Op const& op, double times, Counting const& counting) {
  if (op.is<ir::DotOp>()) return add_product(found, op, times);
  for (int i = 0; i < op.result_count(); ++i) {
    ir::Type const& type = op.result(i)->type();
    if (!type.is_tile()) continue;
    if (is_load(op))
      add_load(found, op, *op.result(i), times, counting);
    else if (op.pure() && !op.info().has(ir::rearranges) && !op.is<ir::ConstantOp>())
      add_arithmetic(found, op, type, times);
  }
  if (is_store(op)) add_store(found, op, times);
}

WorkOfOp work_of(Op const& op, Counting const& counting) {
  WorkOfOp found;
  found.kind = op.kind();
  found.where = op.where();
  if (is_store(op) || is_load(op))
    if (ir::Value const& tensor = ir::parameter_behind(*op.in("tensor")); tensor.defining_op() == nullptr)
      found.parameter = tensor.index();
  ir::Value const* const tile = is_store(op)            ? op.in("tile")
                                : op.is<ir::DotOp>()    ? op.lhs()
                                : op.result_count() > 0 ? op.result()
                                                        : nullptr;
  if (tile != nullptr && tile->type().is_tile()) {
    found.element = tile->type().element();
    found.elements = static_cast<double>(tile->type().elements());
  }
  add(found.work, op, 1, counting);
  return found;
}

/// Tells whether there is work: ops that only rename elements have none.
bool any(Work const& work) {
  return work.product_bytes + work.loaded_bytes + work.stored_bytes + work.functions + work.arithmetic > 0;
}

bool loads(ir::Block& block) {
  for (Op const& op : block)
    if (op.is<ir::LoadOp>()) return true;
  return false;
}

/// Adds the ops of a block that runs `times` times; `ring` is the number of the loop that it is the body of.
void add_ops(Estimate& found, std::vector<WorkOfOp> const& ops, double times, int ring) {
  for (WorkOfOp op : ops) {
    Work all;
    add(all, op.work, times);
    op.work = all;
    op.times *= times;
    if (op.ring < 0) op.ring = ring;
    found.ops.push_back(op);
  }
}

void add(Estimate& found, ir::Block& block, double times, Counting const& counting) {
  for (Op& op : block) {
    WorkOfOp const alone = work_of(op, counting);
    add(found, alone.work, times);
    if (any(alone.work)) add_ops(found, {alone}, times, -1);
    if (op.is<ir::ForOp>()) {
      Estimate iteration;
      add(iteration, op.block(0), 1, counting);
      double const all = static_cast<double>(ir::trip_count(op).value_or(1));
      double const trips = iteration.product_bytes > 0 ? std::ceil(all / counting.split) : all;
      auto const stages = static_cast<double>(counting.stages > 0 ? counting.stages : op.as<ir::ForOp>().stages);
      add(found, iteration, times * trips);
      bool const own = loads(op.block(0));
      int const ring = own ? static_cast<int>(found.rings.size()) : -1;
      if (own) found.rings.push_back({times, trips, stages, iteration});
      for (WorkOfOp& inner : iteration.ops)
        if (inner.ring >= 0) inner.ring += static_cast<int>(found.rings.size());
      for (Ring const& inner : iteration.rings)
        found.rings.push_back({inner.times * times * trips, inner.trips, inner.stages, inner.iteration});
      add_ops(found, iteration.ops, times * trips, ring);
      continue;
    }
    double const share = op.is<ir::IfOp>() ? 0.5 : 1;
    for (int i = 0; i < op.block_count(); ++i) add(found, op.block(i), times * share, counting);
  }
}

/// Describes what a loop of products carries.
struct SumsOfLoop {
  double bytes = 0;          ///< of tiles
  std::int64_t columns = 0;  ///< of the narrowest tile
  bool alone = false;        ///< nothing but sums of products, or of what follows from them, which start at zero
};

bool is_sum(ir::Loop const& loop, int k) {
  if (adds_products(loop, k)) return true;
  Op const* const product = loop.yielded(k)->defining_op();
  return product != nullptr && product->is<ir::DotOp>() && product->in<ir::DotOp>("accumulator") == loop.carried(k) &&
         loop.carried(k)->uses().size() == 1 && ir::is_zero(*loop.init(k));
}

SumsOfLoop sums_of_loop(ir::Block& block) {
  SumsOfLoop found;
  ir::walk_pre_order(block, [&](Op& op) {
    if (!op.is<ir::ForOp>() || found.bytes > 0) return ir::Walk::advance;
    bool multiplies = false;
    for (Op const& inner : op.block(0)) multiplies = multiplies || inner.is<ir::DotOp>();
    if (!multiplies) return ir::Walk::advance;
    ir::Loop const loop(op);
    found.alone = loop.count() > 0;
    for (int i = 0; i < loop.count(); ++i) {
      ir::Type const& type = op.result(i)->type();
      found.alone = found.alone && is_sum(loop, i);
      if (!type.is_tile()) continue;
      found.bytes += bytes_of(type);
      found.columns = i == 0 ? type.shape().back() : std::min(found.columns, type.shape().back());
    }
    return ir::Walk::advance;
  });
  if (found.bytes > 0) return found;
  // With these extents the loop runs once at most, and is gone. The kernel has it, and its CTAs share it.
  ir::walk_pre_order(block, [&](Op& op) {
    bool const is_last =
        op.is<ir::DotOp>() && std::none_of(op.result()->uses().begin(), op.result()->uses().end(),
                                           [](ir::Use const& use) { return use.user->is<ir::DotOp>(); });
    if (!is_last) return ir::Walk::advance;
    ir::Type const& type = op.result()->type();
    found.columns = found.alone ? std::min(found.columns, type.shape().back()) : type.shape().back();
    found.alone = true;
    found.bytes += bytes_of(type);
    return ir::Walk::advance;
  });
  return found;
}

/// Says at which rates a launch's blocks work.
struct Rates {
  Machine machine;
  LaunchCosts const* costs = nullptr;  ///< null: of a host
  double pair = 1;                     ///< by which lines cost more
};

double clocks_of(Work const& work, Rates const& rates) {
  Machine const& machine = rates.machine;
  double const arithmetic = work.functions / machine.functions + work.arithmetic / machine.arithmetic;
  double const operands = work.operand_bytes / machine.operand_bytes;
  if (rates.costs == nullptr)
    return std::max({work.product_bytes / machine.product_bytes, operands,
                     (work.loaded_bytes + work.stored_bytes) / machine.cached_bytes, arithmetic});
  LaunchCosts const& costs = *rates.costs;
  double const moved = (work.lines * costs.line + work.outside_lines * costs.outside_line) * rates.pair;
  return std::max({work.product_bytes / (machine.product_bytes * costs.products), operands,
                   moved + work.narrow * costs.narrow, arithmetic});
}

/// Returns the clocks that a block waits for loads because the stages do not cover their latency. The first loads of a
/// ring are all in flight at once. A stage is free an iteration after its use, so one less loads while one is used.
/// Loads that nothing copies run one iteration ahead.
double clocks_waited(Ring const& ring, Rates const& rates, double resident) {
  if (ring.stages <= 1) return 0;
  LaunchCosts const& costs = *rates.costs;
  double const busy = clocks_of(ring.iteration, rates);
  double const wait = (busy + costs.latency) / (ring.stages - 1) - busy;
  // Of CTAs that share a multiprocessor, the others work while one waits.
  auto const alone = [&](double waits) { return std::max((busy + std::max(waits, 0.0)) / resident - busy, 0.0); };
  double waited = std::max(ring.trips - ring.stages, 0.0) * alone(wait);
  if (ring.iteration.narrow > 0) waited = std::max(waited, ring.trips * alone(costs.narrow_wait - busy));
  return ring.times * waited;
}

/// Returns the time in which blocks get their bytes from memory. Pairs of multiprocessors share its rate alike, so of
/// the last blocks those without a neighbour end first; the others then take what their pair can.
double ns_in_memory(Estimate const& work, double blocks, Rates const& rates) {
  Machine const& machine = rates.machine;
  LaunchCosts const& costs = *rates.costs;
  double const memory = machine.memory_bytes_per_ns, pairs = machine.processors / 2;
  double const each = work.tensor_bytes / blocks;
  double const at_once = machine.processors * std::max(work.resident, 1.0);
  double const last = blocks - std::floor(blocks / at_once) * at_once;
  double const before = (blocks - last) * each / memory;
  if (last <= pairs) return before + last * each / std::max(std::min(memory, last * costs.alone_bytes), 1.0);
  if (last >= machine.processors) return before + last * each / memory;
  return before + pairs * each / memory + each / std::min(memory / (last - pairs), costs.pair_bytes);
}

double bytes_of(std::vector<TensorSize> const& tensors) {
  double bytes = 0;
  for (TensorSize const& tensor : tensors) {
    if (tensor.extents.size() == 0) continue;
    double elements = 1;
    for (int axis = 0; axis < tensor.extents.size(); ++axis)
      if (tensor.strides[axis] != 0) elements *= static_cast<double>(tensor.extents[axis]);
    bytes += elements * info(tensor.element).bits / 8;
  }
  return bytes;
}

}  // namespace

int ctas_in_clusters(Executor const& executor, int cluster) {
  constexpr std::array active{0,   132, 132, 117, 120, 110, 102, 105, 120,  // of 132 multiprocessors
                              112, 112, 112, 112, 112, 112, 112, 112};
  if (executor.target == nullptr || cluster >= static_cast<int>(active.size())) return executor.processors;
  return std::max(executor.processors * active[static_cast<std::size_t>(cluster)] / active[1] / cluster * cluster,
                  cluster);
}

double seconds_of(Estimate const& work, Executor const& executor, LaunchCosts const& costs) {
  bool const on_gpu = executor.target != nullptr;
  Rates rates{machine_of(executor), on_gpu ? &costs : nullptr, 1};
  Machine const& machine = rates.machine;
  double const blocks = static_cast<double>(work.blocks) * work.split;
  // Blocks go to one multiprocessor of each pair first.
  double const half = machine.processors / 2;
  rates.pair += (costs.pair - 1) * std::clamp((blocks - half) / half, 0.0, 1.0);
  double block = clocks_of(work, rates);
  if (on_gpu)
    for (Ring const& ring : work.rings) block += clocks_waited(ring, rates, work.resident);
  if (work.split > 1)
    block += costs.exchange + costs.exchange_cta * (work.split - 2) + work.part_bytes / costs.exchange_bytes;
  double const waves = std::max(std::ceil(blocks / ctas_in_clusters(executor, work.cluster)), 1.0);
  // The next block of a processor hides most of a block's start and end.
  double const fixed =
      on_gpu ? costs.start + costs.wave * (waves - 1) / work.resident : machine.block_clocks * (1 + 0.3 * (waves - 1));
  double const in_turn = (waves * block + fixed) / machine.clocks_per_ns;
  double const in_memory = work.tensor_bytes / machine.memory_bytes_per_ns;
  double const uneven = on_gpu ? std::max(ns_in_memory(work, blocks, rates), in_memory) : in_memory;
  double const hindrance = on_gpu ? costs.hindrance : 0.2;
  double const ns = std::max(in_turn, uneven) + hindrance * std::min(in_turn, in_memory);
  return (ns + machine.launch_ns) * 1e-9;
}

Estimate estimate(ir::Function& kernel, std::vector<TensorSize> const& tensors, std::vector<std::int64_t> grid,
                  CompileOptions const& options, Executor const& executor) {
  Estimate found;
  bool const on_gpu = executor.target != nullptr;
  std::int64_t const share = on_gpu && grid.size() > 1 ? std::max(options.share, 1) : 1;
  // A cluster that stands partly behind the last row has CTAs without work.
  if (share > 1) grid[1] = (grid[1] + share - 1) / share * share;
  found.cluster = static_cast<int>(share);
  for (std::int64_t const extent : grid) found.blocks *= extent;
  found.tensor_bytes = bytes_of(tensors);
  if (on_gpu && options.split > 1) {
    SumsOfLoop const sums = sums_of_loop(kernel.body());
    // The first CTA takes all parts, or each its share of the columns.
    bool const shared = sums.columns >= min_share_columns * options.split && sums.columns % options.split == 0;
    double const others = sums.bytes * (options.split - 1);
    for (double const kept : {others, shared ? others / options.split : 0.0}) {
      if (!sums.alone || kept == 0 || kept > static_cast<double>(max_part_bytes)) continue;
      found.split = options.split;
      found.cluster = options.split;
      found.part_bytes = kept;
      break;
    }
  }
  bool const shifts = !on_gpu || executor.target->has(Ability::wgmma);
  add(found, kernel.body(), 1, {tensors, static_cast<double>(share), found.split, options.stages, shifts});
  found.seconds = seconds_of(found, executor);
  return found;
}

std::string Estimate::str() const { return fmt::format("{:.2f} us, {} blocks", seconds * 1e6, blocks); }

}  // namespace tegula::analysis
