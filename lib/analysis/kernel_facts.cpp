#include "analysis/kernel_facts.hpp"

#include <algorithm>
#include <set>

#include "analysis/effects.hpp"
#include "analysis/kernel_paths.hpp"
#include "analysis/register_need.hpp"
#include "analysis/shared_buffers.hpp"
#include "layout/layout.hpp"
#include "target/matrix_access.hpp"
#include "ir/core/families.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/memory/source.hpp"

namespace tegula::analysis {
namespace {

using Kind = MemoryAccessFacts::Kind;

constexpr std::int64_t sector_bytes = 32;
constexpr int widest_bytes = 16;

/// Counts the elements that one instruction of a thread moves.
std::int64_t width_of(ir::Type const& tile, std::int64_t vector) {
  if (vector < 2 || tile.rank() == 0) return 1;
  return std::min<std::int64_t>(
      {vector, tile.layout()->contiguous(tile.rank() - 1), widest_bytes / bytes(tile.element())});
}

MemoryAccessFacts global_access(ir::Op const& op, Kind kind, ir::Type const& tile, std::int64_t vector) {
  layout::Layout const& layout = *tile.layout();
  int const size = bytes(tile.element());
  bool const unit_stride = ir::parameter_of(*op.in("tensor")).facts.unit_inner_stride;
  MemoryAccessFacts result;
  result.kind = kind;
  result.memory = name_of_memory(*op.in("tensor"));
  result.bytes = static_cast<int>(width_of(tile, vector)) * size;
  for (int warp = 0; warp < layout.warps(); ++warp) {
    std::set<std::vector<std::int64_t>> sectors, elements;
    for (int lane = 0; lane < layout.lanes(); ++lane)
      for (int reg = 0; reg < layout.registers(); ++reg) {
        Extents const at = layout.at(reg, lane, warp);
        std::vector<std::int64_t> place(at.begin(), at.end());
        elements.insert(place);
        if (unit_stride && !place.empty()) place.back() = place.back() * size / sector_bytes;
        sectors.insert(std::move(place));
      }
    auto const cost = static_cast<std::int64_t>(sectors.size());
    if (cost < result.cost) continue;
    result.cost = cost;
    result.min = (static_cast<std::int64_t>(elements.size()) * size + sector_bytes - 1) / sector_bytes;
  }
  return result;
}

/// Counts sectors as if no two accesses of a warp, of any thread, were to one.
MemoryAccessFacts indexed_access(ir::Op const& op, Kind kind, ir::Type const& tile, std::int64_t vector) {
  MemoryAccessFacts result;
  result.kind = kind;
  result.memory = name_of_memory(*op.in("tensor"));
  std::int64_t const width = width_of(tile, vector), size = bytes(tile.element());
  std::int64_t const of_warp = tile.layout()->registers() * std::int64_t{tile.layout()->lanes()};
  result.bytes = static_cast<int>(width * size);
  result.cost = of_warp / width;
  result.min = (of_warp * size + sector_bytes - 1) / sector_bytes;
  return result;
}

/// Describes an access to shared memory; a single element costs one wavefront.
MemoryAccessFacts shared_access(Kind kind, ir::Value const& view, ir::Type const& value) {
  MemoryAccessFacts result;
  result.kind = kind;
  result.memory = name_of_memory(view);
  result.bytes = bytes(value.element());
  result.cost = result.min = 1;
  if (value.layout() == nullptr) return result;
  std::string why;
  auto const plan =
      target::shared_plan(*value.layout(), *view.type().layout(), value.element(), kind == Kind::buffer_store, why);
  if (!plan) return result;  // refused when code is generated
  layout::BankCost const cost = target::bank_cost(*plan, bytes(value.element()));
  result.bytes = plan->matrices ? widest_bytes : plan->vectors.width * bytes(value.element());
  result.cost = cost.wavefronts;
  result.min = cost.min;
  return result;
}

/// Describes an op that moves a tile between threads through its scratch.
MemoryAccessFacts exchange(ir::Op const& op) {
  ir::ScratchAccesses const accesses = ir::scratch_accesses(op);
  MemoryAccessFacts result;
  result.kind = Kind::exchange;
  result.memory = std::string(op.info().mnemonic);
  result.bytes = std::min(accesses.written.bytes, accesses.read.bytes);
  result.cost = accesses.written.cost.wavefronts + accesses.read.cost.wavefronts;
  result.min = accesses.written.cost.min + accesses.read.cost.min;
  return result;
}

/// Tells whether an op moves a tile between threads through its scratch.
bool is_exchange(ir::Op const& op) {
  return ir::moves_elements(op) && op.result()->type().layout() != nullptr && ir::scratch_bytes(op) > 0;
}

/// Tells whether an op takes a thread's time while copies and products run.
bool is_work(ir::Op const& op) {
  for (int i = 0; i < op.result_count(); ++i)
    if (op.result(i)->type().is_tile() && !op.is(ir::Family::synchronisation) && !op.is<ir::ConstantOp>() &&
        !op.is<ir::SplatOp>())
      return true;
  return op.is<ir::StoreOp>() || op.is<ir::BufferStoreOp>() || op.is<ir::PeerStoreOp>();
}

/// Tells whether the wait, which leaves `pending` groups open, closes a group that was committed right before it.
template <class Commit>
bool closes_fresh_group(ir::Op const& wait, std::int64_t pending) {
  ir::Block const& block = *wait.parent();
  std::vector<ir::Op const*> before;
  for (ir::Op const& op : const_cast<ir::Block&>(block)) {
    if (&op == &wait) break;
    before.push_back(&op);
  }
  for (auto at = before.rbegin(); at != before.rend(); ++at) {
    if (is_work(**at)) return false;
    if ((*at)->is<Commit>() && pending-- == 0) return true;
  }
  return false;
}

/// Tells whether the mbarrier wait is for bytes that a copy right before it brings.
bool waits_for_fresh_copy(ir::Op const& wait) {
  std::vector<ir::Op const*> before;
  for (ir::Op const& op : const_cast<ir::Block&>(*wait.parent())) {
    if (&op == &wait) break;
    before.push_back(&op);
  }
  for (auto at = before.rbegin(); at != before.rend(); ++at) {
    if (is_work(**at)) return false;
    bool found = false;
    auto const look = [&](ir::Op const& op) {
      bool const loads = completion_of(op) == Completion::mbarrier || op.is<ir::CpAsyncArriveOp>();
      found = found || (loads && op.in("mbarrier") == wait.in<ir::MbarrierWaitOp>("mbarrier"));
    };
    look(**at);
    for (int i = 0; i < (*at)->block_count(); ++i)
      ir::walk_pre_order((*at)->block(i), [&](ir::Op& op) {
        look(op);
        return ir::Walk::advance;
      });
    if (found) return true;
  }
  return false;
}

bool in_a_loop(ir::Op const& op) {
  for (ir::Op const* at = op.parent_op(); at != nullptr; at = at->parent_op())
    if (ir::is_loop(*at)) return true;
  return false;
}

bool is_exposed(ir::Op const& op) {
  if (!in_a_loop(op)) return false;
  if (op.is<ir::WgmmaWaitOp>()) return closes_fresh_group<ir::WgmmaCommitOp>(op, op.as<ir::WgmmaWaitOp>().pending);
  if (op.is<ir::CpAsyncWaitOp>())
    return closes_fresh_group<ir::CpAsyncCommitOp>(op, op.as<ir::CpAsyncWaitOp>().pending);
  if (op.is<ir::BulkWaitOp>()) return closes_fresh_group<ir::BulkCommitOp>(op, op.as<ir::BulkWaitOp>().pending);
  return op.is<ir::MbarrierWaitOp>() && waits_for_fresh_copy(op);
}

}  // namespace

KernelFacts kernel_facts(ir::Function const& kernel) {
  KernelFacts facts;
  facts.warps = kernel.warps;
  facts.registers_estimated = registers_needed(kernel);
  ir::walk_pre_order(kernel.body(), [&](ir::Op& op) {
    if (is_exposed(op)) ++facts.exposed_waits;
    MemoryAccessFacts access;
    if (op.is<ir::LoadOp>() && op.result()->type().layout() != nullptr)
      access = global_access(op, Kind::load, op.result()->type(), op.as<ir::LoadOp>().vector);
    else if (op.is<ir::StoreOp>() && op.in<ir::StoreOp>("tile")->type().layout() != nullptr)
      access = global_access(op, Kind::store, op.in<ir::StoreOp>("tile")->type(), op.as<ir::StoreOp>().vector);
    else if (op.is<ir::GatherOp>() && op.result()->type().layout() != nullptr)
      access = indexed_access(op, Kind::gather, op.result()->type(), op.as<ir::GatherOp>().vector);
    else if (op.is<ir::ScatterOp>() && op.in<ir::ScatterOp>("tile")->type().layout() != nullptr)
      access = indexed_access(op, Kind::scatter, op.in<ir::ScatterOp>("tile")->type(), op.as<ir::ScatterOp>().vector);
    else if (op.is<ir::AtomicUpdateOp>() && op.result()->type().layout() != nullptr)
      access = indexed_access(op, Kind::atomic, op.result()->type(), op.as<ir::AtomicUpdateOp>().vector);
    else if (op.is<ir::BufferLoadOp>())
      access = shared_access(Kind::buffer_load, *op.operand(), op.result()->type());
    else if (op.is<ir::BufferStoreOp>() || op.is<ir::PeerStoreOp>())
      access = shared_access(Kind::buffer_store, *op.in("destination"), op.in("value")->type());
    else if (is_exchange(op))
      access = exchange(op);
    else
      return ir::Walk::advance;
    access.where = op.where();
    facts.accesses.push_back(std::move(access));
    return ir::Walk::advance;
  });
  return facts;
}

}  // namespace tegula::analysis
