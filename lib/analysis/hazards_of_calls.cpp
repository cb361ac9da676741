// Summarises functions for their callers: the part of Hazards about calls.
#include "analysis/hazards.hpp"

#include <algorithm>

#include "analysis/call_graph.hpp"
#include "ir/core/call.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/shared_frame.hpp"

namespace tegula::analysis {

using namespace ir;

int warps_of(Function const& function) {
  if (function.warps > 0 || function.parent() == nullptr) return std::max(function.warps, 1);
  int max = 1;
  for (auto const& other : function.parent()->functions()) max = std::max(max, other->warps);
  return max;
}

bool runs_in_partitions(Function const& function) {
  if (function.is_kernel() || function.parent() == nullptr) return false;
  bool found = false;
  for (auto const& caller : function.parent()->functions())
    walk_pre_order(caller->body(), [&](Op& op) {
      if (op.is<CallOp>() && op.as<CallOp>().callee.view() == function.name()) {
        for (Op const* at = op.parent_op(); at != nullptr; at = at->parent_op())
          found = found || at->is<WarpSpecializeOp>();
        found = found || runs_in_partitions(*caller);
      }
      return Walk::advance;
    });
  return found;
}

CallSummary Hazards::summary() {
  CallSummary result;
  start();
  exposed_ = &result.first;
  State state(1);
  block(function_.body(), state);
  exposed_ = nullptr;
  result.meets = true;
  for (Pending const& pending : state) {
    if (pending.access == nullptr)
      result.meets = false;
    else if (!pending.open && pending.known < Level::group)
      result.last.push_back(pending.access);
  }
  return result;
}

CallSummary const& Hazards::summary_of(Op const& call) {
  auto const [slot, fresh] = calls_.try_emplace(&call);
  CallSummary& summary = slot->second;
  Function const* const callee = callee_of(call);
  if (!fresh || callee == nullptr) return summary;
  Hazards inside(*callee, uniformity_, replica_uniformity_);
  CallSummary const found = inside.summary();
  std::int64_t const base = callee_offset(call).value_or(0);
  auto const taken = [&](std::vector<Access const*> const& list) {
    std::vector<Access const*> result;
    for (Access const* access : list) {
      Access here = *access;
      here.op = &call;
      here.waited_by = nullptr;
      here.completion = Completion::none;
      here.begin += base;
      here.end += base;
      here.slice = accesses_.slice_at(call, access->slice);
      if (here.slice.whole) {
        here.holders = Access::Holders::every;
        here.elected = elected_around(call);
      }
      result.push_back(&accesses_.keep(here));
    }
    return result;
  };
  summary.first = taken(found.first);
  summary.last = taken(found.last);
  summary.meets = found.meets;
  return summary;
}

void Hazards::call(Op const& op, State& state) {
  CallSummary const& summary = summary_of(op);
  for (Access const* current : summary.first) access(*current, op, state);
  if (stopped()) return;
  if (summary.meets) meet(Level::group, op, state);
  for (Access const* current : summary.last) {
    if (proxies_ && current->proxy == Proxy::async) continue;
    Pending pending;
    pending.access = current;
    add(state, pending);
  }
}

}  // namespace tegula::analysis
