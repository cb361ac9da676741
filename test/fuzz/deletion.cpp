// Runs a kernel without each synchronising op, and sorts the ops that are not missed by their reasons.
#include "fuzz/deletion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "analysis/hazards.hpp"
#include "compiler/compile.hpp"
#include "fuzz/pipeline_case.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/families.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/other_operand.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verify_block.hpp"
#include "sim/block/simulate.hpp"
#include "support/host_tensor.hpp"
#include "support/mutate.hpp"
#include "tegula/support/error.hpp"

namespace tegula::fuzz {
namespace {

using test::HostTensor;

constexpr std::int64_t min_tiles_of_a_cta = 5;

enum class Values : std::uint8_t { small, growing, one, none, negative, half, twice };

/// Returns an extent of a tensor that is read.
std::int64_t extent_at(Values values, std::int64_t extent) {
  switch (values) {
    case Values::small:
    case Values::growing:
      return extent;
    case Values::one:
      return std::min<std::int64_t>(extent, 1);
    case Values::none:
    case Values::negative:
      return 0;
    case Values::half:
      return extent / 2;
    case Values::twice:
      return 2 * extent;
  }
  return extent;
}
/// Returns a scalar; integers go with the extents.
ir::Constant scalar_at(Values values, ir::Constant scalar) {
  if (scalar.element != Element::i64 || values == Values::small || values == Values::growing) return scalar;
  if (values == Values::half) return ir::make_constant(Element::i64, ir::to_int(scalar) / 2);
  if (values == Values::twice) return ir::make_constant(Element::i64, 2 * ir::to_int(scalar));
  if (values == Values::negative) return ir::make_constant(Element::i64, std::int64_t{-4});
  return ir::make_constant(Element::i64, std::int64_t{values == Values::one});
}

/// Describes how one launch differs from the case.
struct Launch {
  Values values = Values::small;
  std::int64_t ctas = 0;
  bool dependent = false;  ///< the grid before may still run
  /// The parameter that has values of its own, and those.
  std::optional<std::size_t> special = {};
  Values specially = Values::small;

  [[nodiscard]] Values of(std::size_t parameter) const { return special == parameter ? specially : values; }
};

bool has(ir::Module const& module, ir::OpKind kind) {
  auto const ops = test::detail::all_ops(module);
  return std::any_of(ops.begin(), ops.end(), [&](ir::Op const* op) { return op->kind() == kind; });
}

/// Holds the kernel's arguments in memory of their own.
class Arguments {
 public:
  Arguments(PipelineCase const& one, Launch const& launch) {
    for (std::size_t p = 0; p < one.parameters.size(); ++p) {
      Values const values = launch.of(p);
      test::RandomParameter const& parameter = one.parameters[p];
      if (!parameter.is_tensor) {
        arguments_.emplace_back(scalar_at(values, parameter.scalar));
        continue;
      }
      Extents extents;
      for (std::int64_t extent : parameter.extents)
        extents.push_back(parameter.written ? extent : extent_at(values, extent));
      bool const aligned = one.module.kernel().parameter_attributes()[p].facts.aligned_16;
      bool const twice = values == Values::twice && !parameter.written;  // strides then have the same divisors
      std::int64_t const gap = twice ? 2 * parameter.gap : parameter.gap;
      HostTensor& tensor = tensors_.emplace_back(parameter.element, extents, gap, aligned ? 0 : gap, parameter.inner);
      fill(tensor, p, launch.values == Values::growing);
      arguments_.emplace_back(tensor.view());
    }
  }

  [[nodiscard]] sim::Arguments const& views() const { return arguments_; }

 private:
  /// Draws small numbers; growing ones are up to 100 times as large at the end, so that maxima of rows rise from block
  /// to block.
  static void fill(HostTensor& tensor, std::size_t place, bool growing) {
    for (std::int64_t i = 0, count = tensor.count(); i < count; ++i) {
      std::uint64_t mixed = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15u + place * 0xD1B54A32D192ED03u;
      mixed = (mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9u;
      auto const small = static_cast<double>(static_cast<std::int64_t>((mixed >> 33) % 5) - 2);
      auto const scale = growing ? 1 + std::floor(99 * static_cast<double>(i) / static_cast<double>(count)) : 1;
      double const limit = tensor.element() == Element::i8 ? 127 : 240;
      tensor.set_number(i, std::clamp(small * scale, -limit, limit));
    }
  }

  std::deque<HostTensor> tensors_;  // stay where they are
  sim::Arguments arguments_;
};

sim::block::Options options_of(ir::Module const& module, Launch const& launch, std::uint32_t max_reports = 1) {
  sim::block::Options options;
  if (launch.ctas != 0) options.grid = sim::Grid{launch.ctas * module.kernel().cluster, 1, 1};
  options.dependent = launch.dependent;
  options.max_reports = max_reports;
  options.max_steps = 3'000'000;
  return options;
}

enum class Schedules : std::uint8_t { few, sweep };
std::vector<sim::machine::Schedule> few_schedules() {
  return {sim::machine::Schedule::latest(), sim::machine::Schedule::earliest()};
}

/// Returns the first report; empty: none. `steps` counts the ops that warps executed.
std::string error(PipelineCase const& one, ir::Module const& module, Launch const& launch, Schedules schedules,
                  std::uint64_t* steps = nullptr) {
  Arguments arguments(one, launch);
  try {
    sim::block::Simulation simulation(module.kernel(), arguments.views(), options_of(module, launch));
    if (schedules == Schedules::sweep) {
      auto const sweep = simulation.sweep(3);
      return sweep.clean() ? "" : sweep.str();
    }
    for (auto const& schedule : few_schedules()) {
      auto const result = simulation.run(schedule);
      if (steps != nullptr) *steps += static_cast<std::uint64_t>(result.values.steps);
      if (!result.clean()) return result.str();
    }
    return {};
  } catch (std::exception const& error) {
    return error.what();
  }
}

/// Pairs of accesses that are reported, under each of few schedules.
std::vector<std::size_t> reports(PipelineCase const& one, ir::Module const& module, Launch const& launch) {
  constexpr std::uint32_t max_reports = 1000;
  Arguments arguments(one, launch);
  sim::block::Simulation simulation(module.kernel(), arguments.views(), options_of(module, launch, max_reports));
  std::vector<std::size_t> result;
  for (auto const& schedule : few_schedules()) result.push_back(simulation.run(schedule).reports.size());
  return result;
}

bool clean_as_written(PipelineCase const& one, Launch const& launch) {
  Arguments arguments(one, launch);
  try {
    return sim::run(one.module.kernel(), arguments.views()).clean();
  } catch (UserError const&) {  // it requires other arguments
    return false;
  }
}

/// Returns the case with a grid of several tiles for each CTA, if blocks beyond its tensors do no harm; else as it is.
PipelineCase with_more_tiles(PipelineCase const& one, std::int64_t tiles) {
  PipelineCase more = one.clone();
  for (ir::Op* op : test::detail::all_ops(more.module))
    if (op->is<ir::GridOp>()) op->set_operand(0, ir::Builder::before(*op).index(tiles));
  return clean_as_written(more, {Values::small}) ? std::move(more) : one.clone();
}

/// Counts executions by op, at the launch and by the warp with the most.
std::map<ir::Op const*, std::int64_t> executions_of_a_warp(PipelineCase const& one, ir::Module const& module,
                                                           std::vector<Launch> const& launches) {
  std::map<ir::Op const*, std::int64_t> max;
  for (Launch const& launch : launches) {
    Arguments arguments(one, launch);
    sim::block::Executions executions;
    sim::block::Options options = options_of(module, launch);
    options.executions = &executions;
    (void)sim::block::Simulation(module.kernel(), arguments.views(), options).run(sim::machine::Schedule::seed(1));
    for (auto const& [of, count] : executions) max[of.first] = std::max<std::int64_t>(max[of.first], count);
  }
  return max;
}

/// Counts the uses of a ring until each of its slots has been taken three times.
std::int64_t uses_of_rings(ir::Module const& module) {
  std::int64_t max = 1;
  for (ir::Op const* op : test::detail::all_ops(module))
    if (op->is<ir::BufferAllocOp>() && op->result()->type().is_mbarrier())
      max = std::max(max, op->result()->type().elements());
  return 2 * max + 1;
}

/// Returns the products that add to what a fence orders, also through other fences and what loops carry.
std::set<ir::Op const*> products_behind(ir::Op const& fence) {
  std::set<ir::Op const*> products;
  std::set<ir::Value const*> seen;
  std::vector<ir::Value const*> open;
  for (int i = 0; i < fence.result_count(); ++i) open.push_back(fence.result(i));
  while (!open.empty()) {
    ir::Value const* const value = open.back();
    open.pop_back();
    if (!seen.insert(value).second) continue;
    for (ir::Use const& use : value->uses()) {
      ir::Op const& user = *use.user;
      if (ir::is_tensor_core_product(user)) products.insert(&user);
      if (user.is<ir::WgmmaFenceOp>()) open.push_back(user.result(use.index));
      ir::Op const* const around = user.is<ir::YieldOp>() ? user.parent_op() : &user;
      if (around == nullptr || !around->is<ir::ForOp>()) continue;
      ir::Loop const loop(*around);
      if (int const k = loop.carry_of(use); k >= 0) open.insert(open.end(), {loop.carried(k), loop.result(k)});
    }
  }
  return products;
}

ir::Op const* next_of(ir::Op const& op) {
  auto at = op.parent()->begin();
  while (&*at != &op) ++at;
  return ++at == op.parent()->end() ? nullptr : &*at;
}
ir::Op const* previous_of(ir::Op const& op) {
  ir::Op const* before = nullptr;
  for (ir::Op const& other : *op.parent()) {
    if (&other == &op) break;
    before = &other;
  }
  return before;
}

/// Tells whether an op of that kind stands in the region.
template <class OpStruct>
bool holds(ir::Op const& region) {
  bool found = false;
  for (int i = 0; i < region.block_count(); ++i)
    for (ir::Op const* op : test::detail::all_ops(region.block(i))) found = found || op->is<OpStruct>();
  return found;
}

/// Tells whether nothing is released between a wait and the next one; the next of a loop's last may be its first.
bool gives_nothing_back(ir::Op const& wait) {
  ir::Op const* const loop = wait.parent_op();
  ir::Op const* at = next_of(wait);
  while (at != nullptr && at != &wait && !at->is<ir::WgmmaWaitOp>()) {
    if (at->is<ir::MbarrierArriveOp>() || holds<ir::MbarrierArriveOp>(*at)) return false;
    at = next_of(*at);
    if (at == nullptr && loop != nullptr && loop->is<ir::ForOp>()) at = &wait.parent()->front();
  }
  return at != nullptr;
}

/// Takes ops out of one kernel.
class Remover {
 public:
  Remover(PipelineCase const& given, Behind const& behind) : case_(given.clone()) {
    module_ = compiler::lower(case_.module, case_.options);
    bool const persistent = has(module_, ir::OpKind::MultiprocessorsOp);
    if (persistent) {
      case_ = with_more_tiles(case_, std::max(min_tiles_of_a_cta, uses_of_rings(module_)));
      module_ = compiler::lower(case_.module, case_.options);
    }
    bool const dependent = has(module_, ir::OpKind::WaitDependenciesOp);
    for (Values const values : {Values::growing, Values::one, Values::none})
      launches_.push_back({values, persistent ? 1 : 0, dependent});
    launches_.push_back({Values::small, persistent ? 2 : 0, dependent});
    if (clean_as_written(case_, {Values::twice})) launches_.push_back({Values::twice, persistent ? 1 : 0, dependent});
    if (behind) behind(module_);
    ops_ = test::detail::all_ops(module_);
  }

  Deletions run(double max_computed) {
    Deletions result;
    if (!ir::has_block_ops(module_.kernel())) {
      result.refused = "it has no block ops";
      return result;
    }
    std::uint64_t steps = 0;
    for (Launch const& launch : launches_)
      if (std::string const found = error(case_, module_, launch, Schedules::few, &steps); !found.empty())
        throw InternalError("deletion: the kernel is not clean as the passes left it: " + found);
    if (static_cast<double>(steps) * elements_of_step(module_) > max_computed) {
      result.refused = "its launches compute too much to be run without each op";
      return result;
    }
    auto max = executions_of_a_warp(case_, module_, launches_);
    std::int64_t const enough = uses_of_rings(module_);
    result.module = ir::print(module_);
    mutations_ = test::mutations(module_);
    std::vector<test::Mutation const*> quiet;
    for (test::Mutation const& mutation : mutations_) {
      std::int64_t const executed = executions_of(*ops_[mutation.number], max);
      if (reported(mutation.module, Schedules::few))
        ++result.reported;
      else if (executed < enough)
        result.rare.push_back(text_of(mutation, executed));
      else
        quiet.push_back(&mutation);
    }
    std::set<ir::Op const*> unsettled;
    std::vector<std::pair<ir::Op const*, std::string>> commits;  // each by the wait that it is for
    for (test::Mutation const* mutation : quiet) {
      ir::Op const& which = *ops_[mutation->number];
      std::string const op = text_of(*mutation, max[&which]);
      auto reason = reason_of(*mutation, quiet);
      if (!reason && between_iterations_that_no_launch_has(*mutation, max)) reason = Reason::one_iteration;
      if (reason) {
        result.excused.push_back({*reason, op});
      } else if (reported(mutation->module, Schedules::sweep) || reported_specially(mutation->module)) {
        ++result.reported;
      } else if (which.is<ir::WgmmaCommitOp>()) {
        commits.emplace_back(wait_behind(which), op);
      } else if (exact(which)) {
        result.silent.push_back(op);
      } else {
        unsettled.insert(&which);
        result.unsettled.push_back(op);
      }
    }
    for (auto const& [wait, op] : commits) (unsettled.contains(wait) ? result.unsettled : result.silent).push_back(op);
    return result;
  }

 private:
  /// Counts the executions of an op; of a fence no more than those of the products that it is for. Where no launch has
  /// them, nothing tells whether it is needed.
  static std::int64_t executions_of(ir::Op const& op, std::map<ir::Op const*, std::int64_t>& max) {
    if (!op.is<ir::WgmmaFenceOp>()) return max[&op];
    std::set<ir::Op const*> const products = products_behind(op);
    std::int64_t most = products.empty() ? max[&op] : 0;
    for (ir::Op const* product : products) most = std::max(most, max[product]);
    return std::min(max[&op], most);
  }

  /// Tells whether the simulator reports the module; tries the launch of the previous report first.
  bool reported(ir::Module const& module, Schedules schedules) {
    auto const found = std::find_if(launches_.begin(), launches_.end(), [&](Launch const& launch) {
      return !error(case_, module, launch, schedules).empty();
    });
    if (found == launches_.end()) return false;
    std::rotate(launches_.begin(), found, found + 1);
    return true;
  }

  /// Tells whether the simulator reports the module where one parameter alone is small or large. Then loops over it end
  /// early, and those beside it do not. Launches that the kernel does not take are left out.
  bool reported_specially(ir::Module const& module) {
    if (special_launches_.empty())
      for (std::size_t p = 0; p < case_.parameters.size(); ++p) {
        test::RandomParameter const& parameter = case_.parameters[p];
        if (parameter.is_tensor ? parameter.written : parameter.scalar.element != Element::i64) continue;
        for (Values const values : {Values::none, Values::negative, Values::one, Values::half, Values::twice}) {
          if (values == Values::negative && parameter.is_tensor) continue;
          Launch launch = launches_.front();
          launch.values = Values::small, launch.special = p, launch.specially = values;
          if (clean_as_written(case_, launch) && error(case_, module_, launch, Schedules::few).empty())
            special_launches_.push_back(launch);
        }
      }
    return std::any_of(special_launches_.begin(), special_launches_.end(),
                       [&](Launch const& launch) { return !error(case_, module, launch, Schedules::few).empty(); });
  }

  /// Tells whether the pair that the analysis finds without the op lies in two iterations of a loop that has one at
  /// most, or begins in one that has none.
  bool between_iterations_that_no_launch_has(test::Mutation const& mutation,
                                             std::map<ir::Op const*, std::int64_t>& executions) const {
    if (!test::is_barrier(*ops_[mutation.number])) return false;
    analysis::Uniformity const uniformity(mutation.module), replicas(mutation.module, true);
    analysis::Hazards hazards(mutation.module.kernel(), uniformity, replicas);
    auto const found = hazards.first();
    if (!found) return false;
    auto const left = test::detail::all_ops(mutation.module);
    auto const as_given = [&](ir::Op const* op) {
      auto const place = static_cast<std::size_t>(std::find(left.begin(), left.end(), op) - left.begin());
      return ops_[place >= mutation.number ? place + 1 : place];
    };
    if (found->turn == nullptr) return executions[as_given(found->earlier->op)] == 0;
    ir::Op const& loop = *as_given(found->turn);
    return executions[&loop.block().front()] <= executions[&loop];
  }

  static std::string text_of(test::Mutation const& mutation, std::int64_t executed) {
    return fmt::format("{}, executed {} times", mutation.without, executed);
  }

  std::optional<Reason> reason_of(test::Mutation const& mutation, std::vector<test::Mutation const*> const& quiet) {
    ir::Op const& op = *ops_[mutation.number];
    auto const bounds = [&](ir::Op const& wait) {
      return wait.is<ir::WgmmaWaitOp>() && wait.result_count() == 0 && gives_nothing_back(wait);
    };
    if (bounds(op)) return Reason::bounds_products;
    // Without the commit in front of such a wait, the product joins the next group.
    if (op.is<ir::WgmmaCommitOp>() && next_of(op) != nullptr && bounds(*next_of(op))) return Reason::bounds_products;
    if (!lets_all_go_on(op)) return std::nullopt;
    std::vector<std::size_t> alike;
    for (test::Mutation const* other : quiet)
      if (is_alike(*ops_[other->number], op)) alike.push_back(other->number);
    if (reported(test::without(module_, alike), Schedules::few)) {
      std::erase(alike, mutation.number);
      bool const one_of_several = frees_staging(op) ||
                                  (releases(op) && !reported(test::without(module_, alike), Schedules::few)) ||
                                  (op.is<ir::WgmmaFenceOp>() && one_of_a_pair(mutation.number, alike));
      return one_of_several ? std::optional(Reason::each_other_orders) : std::nullopt;
    }
    // Another store's barrier stands after the same wait, and in front of the next use of this buffer.
    if (is_of_warpgroup(op) && frees_staging(op)) return Reason::others_order;
    if (analysis_proves(mutation)) return Reason::analysis_proves;
    return others_order(mutation) ? std::optional(Reason::others_order) : std::nullopt;
  }

  /// Tells whether an op is missed together with one of the others, which are not missed alone either. One fence after
  /// two accumulators orders both.
  bool one_of_a_pair(std::size_t number, std::vector<std::size_t> const& others) {
    return std::any_of(others.begin(), others.end(), [&](std::size_t other) {
      return reported(test::without(module_, {number, other}), Schedules::few);
    });
  }

  bool analysis_proves(test::Mutation const& mutation) const {
    ir::Op const& op = *ops_[mutation.number];
    analysis::Uniformity const uniformity(mutation.module), replicas(mutation.module, true);
    analysis::Hazards hazards(mutation.module.kernel(), uniformity, replicas);
    if (op.is<ir::FenceProxyAsyncOp>()) return !hazards.first_without_fence();
    return releases(op) && !has(module_, ir::OpKind::WarpSpecializeOp) && hazards.none();
  }

  /// Tells whether it is a warp_barrier ahead of an elected lane's arrival.
  static bool releases(ir::Op const& op) {
    ir::Op const* const next = op.is<ir::WarpBarrierOp>() ? next_of(op) : nullptr;
    return next != nullptr && next->is<ir::ElectOp>() && holds<ir::MbarrierArriveOp>(*next);
  }

  /// Tells whether the op is a barrier that all warps of a warpgroup execute, and no other ones.
  static bool is_of_warpgroup(ir::Op const& op) {
    return op.is<ir::BarrierOp>() && op.operand_count() > 0 && ir::constant_beside_warpgroup(*op.operand()).has_value();
  }

  /// Tells whether two ops are of one kind; barriers of a warpgroup and of more warps are two.
  static bool is_alike(ir::Op const& a, ir::Op const& b) {
    return a.kind() == b.kind() && is_of_warpgroup(a) == is_of_warpgroup(b);
  }

  /// Tells whether no warp waits for ever without any op of its kind.
  static bool lets_all_go_on(ir::Op const& op) {
    return is_of_warpgroup(op) || op.is<ir::FenceProxyAsyncOp>() || op.is<ir::WarpBarrierOp>() ||
           op.is<ir::WgmmaFenceOp>() || op.is<ir::BulkWaitOp>() || op.is<ir::BulkCommitOp>() ||
           op.is<ir::WgmmaWaitOp>() || op.is<ir::WgmmaCommitOp>();
  }

  /// Returns the next wait for products of the block; null where there is none.
  static ir::Op const* wait_behind(ir::Op const& commit) {
    ir::Op const* result = next_of(commit);
    while (result != nullptr && !result->is<ir::WgmmaWaitOp>()) result = next_of(*result);
    return result;
  }

  static bool exact(ir::Op const& op) {
    return !op.is<ir::BarrierOp>() && !op.is<ir::WarpBarrierOp>() && !op.is<ir::FenceProxyAsyncOp>() &&
           !op.is<ir::WgmmaWaitOp>();
  }

  /// Tells whether the op is part of the chain that lets one of several staging buffers be written again.
  bool frees_staging(ir::Op const& op) const {
    std::set<ir::Op const*> stagings;
    for (ir::Op const* store : ops_)
      if (store->is<ir::TmaStoreOp>())
        for (ir::Op const* buffer : analysis::buffers_of(*store->operand(1))) stagings.insert(buffer);
    if (stagings.size() < 2) return false;
    if (op.is<ir::BulkWaitOp>() || op.is<ir::BulkCommitOp>()) return true;
    ir::Op const* const before = op.is<ir::WarpBarrierOp>() || is_of_warpgroup(op) ? previous_of(op) : nullptr;
    return before != nullptr && before->is<ir::ElectOp>() && holds<ir::BulkWaitOp>(*before);
  }

  /// Tells whether the simulator reports more without all ops of a kind than without all but this one.
  bool others_order(test::Mutation const& mutation) const {
    std::vector<std::size_t> others;
    for (test::Mutation const& other : mutations_)
      if (other.number != mutation.number && is_alike(*ops_[other.number], *ops_[mutation.number]))
        others.push_back(other.number);
    std::vector<std::size_t> all = others;
    all.push_back(mutation.number);
    ir::Module const with = test::without(module_, others), none = test::without(module_, all);
    return std::any_of(launches_.begin(), launches_.end(), [&](Launch const& launch) {
      auto const before = reports(case_, with, launch), after = reports(case_, none, launch);
      return !std::equal(after.begin(), after.end(), before.begin(), std::less_equal<>());
    });
  }

  PipelineCase case_;
  ir::Module module_;
  std::vector<ir::Op*> ops_;
  std::vector<Launch> launches_;
  std::vector<Launch> special_launches_;
  std::vector<test::Mutation> mutations_;
};

}  // namespace

Deletions without_each_op(PipelineCase const& given, Behind const& behind, double max_computed) {
  try {
    return Remover(given, behind).run(max_computed);
  } catch (UserError const& error) {
    Deletions result;
    result.refused = error.what();
    return result;
  }
}

}  // namespace tegula::fuzz
