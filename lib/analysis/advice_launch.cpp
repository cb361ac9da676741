#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "abi/path_rows.hpp"
#include "analysis/advice_rules.hpp"
#include "analysis/kernel_paths.hpp"
#include "analysis/register_need.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/memory/shared_frame.hpp"
#include "ir/values/elementary.hpp"
#include "target/finding.hpp"

namespace tegula::analysis {

using ir::Op;
using ir::OpKind;

namespace {

constexpr double units_instructions = 8, quotient_instructions = 8;

bool same_remedy(SlowSpot const& a, SlowSpot const& b) {
  return a.remedy == b.remedy && a.memory == b.memory && abi::same_line(a.where, b.where);
}

std::optional<AccessPath::Kind> path_kind(OpKind kind) {
  if (kind == OpKind::LoadOp) return AccessPath::Kind::load;
  if (kind == OpKind::StoreOp) return AccessPath::Kind::store;
  if (kind == OpKind::GatherOp) return AccessPath::Kind::gather;
  if (kind == OpKind::ScatterOp) return AccessPath::Kind::scatter;
  if (kind == OpKind::AtomicUpdateOp) return AccessPath::Kind::atomic;
  return std::nullopt;
}

/// Finds the slowest row of the op's accesses in the table of paths; null: there is none.
AccessPath const* slowest_row(Advised const& about, WorkOfOp const& op, AccessPath::Kind kind) {
  auto const& rows = kind == AccessPath::Kind::load    ? about.paths.loads
                     : kind == AccessPath::Kind::store ? about.paths.stores
                                                       : about.paths.indexed;
  AccessPath const* found = nullptr;
  for (AccessPath const& row : rows) {
    if (row.kind != kind || row.parameter != op.parameter || !abi::same_line(row.where, op.where)) continue;
    bool const slower = found == nullptr || (row.path == Path::pointer && found->path == Path::tma) ||
                        (row.path == found->path && row.bytes < found->bytes);
    if (slower) found = &row;
  }
  return found;
}

ir::Type const& moved_by(Op const& access) {
  return access.is<ir::LoadOp>() ? access.result()->type() : access.in<ir::StoreOp>("tile")->type();
}

/// Finds the first access in the lowered IR that the op became; null: there is none.
Op const* access_of(Advised const& about, WorkOfOp const& op) {
  Op const* found = nullptr;
  ir::walk_pre_order(about.lowered->body(), [&](Op& access) {
    bool const same_kind = (access.is<ir::LoadOp>() && op.kind == OpKind::LoadOp) ||
                           (access.is<ir::StoreOp>() && op.kind == OpKind::StoreOp);
    if (found == nullptr && same_kind && moved_by(access).is_tile() && abi::same_line(access.where(), op.where) &&
        ir::parameter_behind(*access.in("tensor")).index() == op.parameter)
      found = &access;
    return ir::Walk::advance;
  });
  return found;
}

}  // namespace

AdvisedLaunch::AdvisedLaunch(Advised const& launch)
    : about(launch), executor{launch.target, launch.processors}, machine(machine_of(executor)), best(launch.estimate) {
  leave_out_assumptions();
}

/// Takes from the estimate what it assumes of accesses, and adds what it leaves out of functions.
void AdvisedLaunch::leave_out_assumptions() {
  if (about.target != nullptr) best.resident = resident();
  best.narrow = 0;
  double moved_of_all = 0;
  std::vector<double> moved(about.tensors.size());
  for (Ring& ring : best.rings) {
    ring.iteration.narrow = 0;
    ring.stages = 0;
  }
  for (WorkOfOp const& op : best.ops) {
    double const bytes = op.work.loaded_bytes + op.work.stored_bytes;
    moved_of_all += bytes;
    if (op.parameter >= 0) moved[static_cast<std::size_t>(op.parameter)] += bytes * static_cast<double>(best.blocks);
  }
  // A launch may access a part of a tensor alone.
  double touched = 0;
  for (std::size_t i = 0; i < moved.size(); ++i) touched += std::min(moved[i], bytes_of(about.tensors[i]));
  if (moved_of_all > 0) best.tensor_bytes = touched;
  if (about.target != nullptr) best.arithmetic -= contracted();
  for (std::size_t i = 0; about.target != nullptr && i < best.ops.size(); ++i)
    add_to(best, i, more_of_function(best.ops[i]));
}

double AdvisedLaunch::contracted() const {
  double products = 0, sums = 0;
  for (WorkOfOp const& op : best.ops) {
    if (!is_float(op.element)) continue;
    if (op.kind == OpKind::MulOp) products += op.work.arithmetic;
    if (op.kind == OpKind::AddOp || op.kind == OpKind::SubOp) sums += op.work.arithmetic;
  }
  return std::min(products, sums);
}

double AdvisedLaunch::resident() const {
  TargetInfo const& target = *about.target;
  ir::Function const& kernel = *about.lowered;
  int const threads = std::max(kernel.warps, 1) * target.lanes;
  int needed = std::min(registers_needed(kernel), target.registers_at_start(kernel.warps));
  if (has_roles()) needed = target.registers_at_start(kernel.warps);
  std::int64_t count = std::min<std::int64_t>(target.resident_ctas, target.resident_threads / threads);
  count = std::min<std::int64_t>(count, target.registers / std::max(needed * threads, 1));
  std::int64_t const shared = ir::frame_bytes(ir::shared_users(kernel));
  if (shared > 0) count = std::min(count, target.shared / shared);
  count = std::max<std::int64_t>(count, kernel.ctas);
  double const waiting = static_cast<double>(best.blocks) / std::max(about.processors, 1);
  return std::clamp(static_cast<double>(count), 1.0, std::max(std::ceil(waiting), 1.0));
}

bool AdvisedLaunch::has_roles() const {
  for (Op const& op : about.lowered->body())
    if (op.is<ir::WarpSpecializeOp>()) return true;
  return false;
}

std::string AdvisedLaunch::name_of(WorkOfOp const& op) const {
  return op.parameter < 0 ? std::string() : about.tensors[static_cast<std::size_t>(op.parameter)].name;
}

void AdvisedLaunch::lose(SlowSpot::Kind kind, location where, std::string memory, std::string what, std::string remedy,
                         std::function<void(Estimate&)> add, double least) {
  SlowSpot spot{kind, where, std::move(memory), std::move(what), std::move(remedy), 0};
  for (Loss& other : losses)
    if (same_remedy(other.spot, spot)) {
      other.add = [first = std::move(other.add), second = std::move(add)](Estimate& launch) {
        first(launch);
        second(launch);
      };
      other.spot = std::move(spot);
      return;
    }
  losses.push_back({std::move(spot), std::move(add), least});
}

void add_to(Estimate& launch, std::size_t i, Work const& more) {
  WorkOfOp const& op = launch.ops[i];
  add(launch, more, 1);
  if (op.ring < 0) return;
  Ring& ring = launch.rings[static_cast<std::size_t>(op.ring)];
  add(ring.iteration, more, 1 / std::max(ring.times * ring.trips, 1.0));
}

double bytes_of(AdvisedTensor const& tensor) {
  double bytes = tensor.extents.size() == 0 ? 0 : info(tensor.element).bits / 8.0;
  for (int axis = 0; axis < tensor.extents.size(); ++axis)
    if (tensor.strides[axis] != 0) bytes *= static_cast<double>(tensor.extents[axis]);
  return bytes;
}

Work more_of_function(WorkOfOp const& op) {
  Work more;
  if (op.work.functions == 0) return more;
  double const elements = op.work.functions;
  switch (ir::device_formula(op.kind)) {
    case ir::DeviceFormula::expansion:
      more.functions = -elements;
      more.arithmetic = elements * expansion_instructions;
      break;
    case ir::DeviceFormula::units:
      more.functions = elements;
      more.arithmetic = elements * units_instructions;
      break;
    case ir::DeviceFormula::exact:  // roots and quotients
      more.arithmetic = elements * quotient_instructions;
      break;
    case ir::DeviceFormula::native:
    case ir::DeviceFormula::coarse:
      break;
  }
  return more;
}

double turns(double blocks, double processors) { return std::max(std::ceil(blocks / processors), 1.0); }

std::string_view verb(OpKind kind) {
  if (kind == OpKind::LoadOp) return "load of";
  if (kind == OpKind::StoreOp) return "store to";
  if (kind == OpKind::GatherOp) return "gather from";
  if (kind == OpKind::ScatterOp) return "scatter to";
  return "atomic on";
}

LoweredAccess lowered_access(Advised const& about, WorkOfOp const& op) {
  LoweredAccess found;
  std::optional<AccessPath::Kind> const kind = path_kind(op.kind);
  if (!kind) return found;
  found.row = slowest_row(about, op, *kind);
  if (found.row == nullptr || found.row->path == Path::tma) return found;
  Op const* const access = access_of(about, op);
  if (access == nullptr) return found;
  found.tile = &moved_by(*access);
  found.narrow = why_narrow(*access, *found.tile, found.row->bytes);
  if (!access->is<ir::LoadOp>()) return found;
  auto const finding = target::Finding::from_data(access->as<ir::LoadOp>().by_pointer.view());
  found.rule = finding.rule();
  found.sentence = finding.empty() ? "" : finding.sentence();
  return found;
}

}  // namespace tegula::analysis
