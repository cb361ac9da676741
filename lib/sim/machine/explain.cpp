// Turns findings into reports: names, the two sides, and the sentence that says what is missing.
#include <fmt/format.h>

#include <bit>

#include "sim/machine/state.hpp"
#include "support/string_buffer.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::sim::machine {
namespace {

std::string op_at(AccessRecord const& record) {
  std::string text = record.site.op[0] != '\0' ? record.site.op : (record.write ? "write" : "read");
  return text + " at " + place_text(record.site);
}

std::string_view verb(AccessRecord const& record) {
  if (record.atomic) return "atomic access";
  return record.write ? "write" : "read";
}

/// Names the race of two accesses, of which one writes.
ReportKind race(AccessRecord const& earlier, AccessRecord const& later) {
  if (!earlier.write) return ReportKind::race_war;
  return later.write ? ReportKind::race_waw : ReportKind::race_raw;
}

std::string hex(std::uint64_t value) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[value & 15u]);
    value >>= 4;
  } while (value != 0);
  return "0x" + digits;
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  return (a ^ (b + 0x9E3779B97F4A7C15u + (a << 6) + (a >> 2))) * 0xBF58476D1CE4E5B9u;
}

std::uint64_t hash_site(ActionSite const& site) {
  return mix(mix(reinterpret_cast<std::uintptr_t>(site.file), site.line),
             mix(site.ir_line, reinterpret_cast<std::uintptr_t>(site.op)));
}

}  // namespace

std::string State::describe(Space space, std::uint64_t begin, std::uint64_t end) const {
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (name->space != space || begin < name->begin || begin >= name->end) continue;
    if (begin == name->begin && end == name->end) return name->text;
    return name->text + '+' + hex(begin - name->begin) + ".." + hex(end - name->begin);
  }
  return spaces[space]->buffer.name + ' ' + hex(begin) + ".." + hex(end);
}

std::string State::describe(Mbarrier const& b) const {
  CtaState const& cta = ctas[static_cast<std::size_t>(b.address.cta)];
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (name->space != cta.space || b.address.offset < name->begin || b.address.offset >= name->end) continue;
    std::string text = name->text;
    if (b.address.offset != name->begin) text += '+' + hex(b.address.offset - name->begin);
    if (ctas.size() > 1) text += fmt::format(" of CTA {}", b.address.cta);
    return text;
  }
  return fmt::format("mbarrier {} of CTA {}", hex(b.address.offset), b.address.cta);
}

std::string State::agent_text(int warp, Lanes lanes) const {
  if (warp == host_warp) return "the host";
  if (warp == preceding_grid) return "the preceding grid";
  std::string text = fmt::format("warp {}", warp);
  if (std::popcount(lanes) == 1) {
    text += fmt::format(" lane {}", std::countr_zero(lanes));
  } else if (lanes != all_lanes) {
    text += " lanes " + hex(lanes);
  }
  if (ctas.size() > 1) text += fmt::format(" of CTA {}", warps[static_cast<std::size_t>(warp)]->cta);
  return text;
}

Side State::side(AccessRecord const& record, std::uint32_t code, Space space, std::uint64_t begin,
                 std::uint64_t end) const {
  Lanes const lanes = code == every_lane ? record.lanes : lane(static_cast<int>(code));
  std::string text(verb(record));
  text += ' ' + describe(space, begin, end) + " by " + agent_text(record.warp, lanes);
  if (spaces[space]->kind != SpaceKind::registers) {
    text += record.proxy == Proxy::async ? " (async proxy" : " (generic proxy";
    text += record.asynchronous() ? ", asynchronous)" : ")";
  } else if (record.asynchronous()) {
    text += " (asynchronous)";
  }
  return {std::move(text), record.site};
}

Side State::side(WarpState const& w, Lanes lanes, std::string access, ActionSite const& site) const {
  return {std::move(access) + " by " + agent_text(w.number, lanes), site};
}

bool State::first(ReportKind kind, ActionSite const& earlier, ActionSite const& later) {
  if (stop) return false;
  return seen.insert(mix(mix(static_cast<std::uint64_t>(kind) + 1, hash_site(earlier)), hash_site(later))).second;
}

void State::add(ReportKind kind, std::string sentence, Side earlier, Side later, bool fatal) {
  Report& report = outcome.reports.emplace_back();
  report.kind = kind;
  report.sentence = std::move(sentence);
  report.earlier = std::move(earlier);
  report.later = std::move(later);
  report.step = outcome.steps;
  if (fatal || outcome.reports.size() >= options.max_reports) stop = true;
}

bool State::met_relaxed(AccessRecord const& earlier, WarpState const& w, Lanes observing) const {
  if (earlier.warp >= warps.size()) return false;
  WarpState const& other = *warps[earlier.warp];
  if (other.cta / options.cluster != w.cta / options.cluster || other.relaxed_time <= earlier.time) return false;
  Slot const slot = clusters[static_cast<std::size_t>(w.cta / options.cluster)].slot;
  return slot != no_slot && knows_slot(w, observing, slot, other.relaxed_use);
}

std::string State::missing_fence(AccessRecord const& earlier, AccessRecord const& later, Space space) const {
  std::string const word(verb(earlier));
  if (spaces[space]->kind == SpaceKind::global)
    return "no proxy fence between the generic " + word + " of global memory (" + op_at(earlier) + ") and the " +
           op_at(later) + "; add fence.proxy.async.global between them";
  return "no proxy fence between the generic " + word + " (" + op_at(earlier) + ") and the " + op_at(later) +
         "; add fence.proxy.async after the " + word +
         ", by the thread that issued it, before the barrier that publishes the bytes";
}

bool State::knows_some_lane(WarpState const& w, Lanes observing, int of, std::uint32_t time) const {
  WarpClocks const& clocks = warps[static_cast<std::size_t>(of)]->clocks;
  for (int i = 0; i < warp_lanes; ++i)
    if (clocks.lane_slot(i) != no_slot && knows_slot(w, observing, clocks.lane_slot(i), time)) return true;
  return false;
}

std::string State::missing_order(AccessRecord const& earlier, AccessRecord const& later, WarpState const& w,
                                 Lanes observing) const {
  std::string const before = op_at(earlier), after = op_at(later);
  if (earlier.warp == w.number)
    return "lanes of a warp are not in lock-step; add bar.warp.sync between the " + before + " and the " + after;
  if (earlier.warp == preceding_grid)
    return "the preceding grid may still run; add griddepcontrol.wait before the " + after;
  if (met_relaxed(earlier, w, observing))
    return "the cluster barrier between the " + before + " and the " + after +
           " does not order them: its arrive is relaxed; use barrier.cluster.arrive.release";
  // Another lane of its warp is known at that time: an arrive without a warp barrier.
  if (earlier.warp < warps.size() && knows_some_lane(w, observing, earlier.warp, earlier.time))
    return "one lane of " + agent_text(earlier.warp, all_lanes) + " signalled after the " + before +
           ", but the other lanes' accesses are not ordered before that; add bar.warp.sync before the one-lane arrive";
  return "nothing orders the " + before + " before the " + after +
         "; add a barrier between them, or an mbarrier arrive after the first and a wait before the second";
}

std::string State::missing_wait(AccessRecord const& earlier, AccessRecord const& later) const {
  std::string const before = op_at(earlier), after = op_at(later);
  if (earlier.signal_time != 0 || (earlier.mechanism == Mechanism::mbarrier && earlier.mbarrier >= 0)) {
    Mbarrier const& b = *mbarriers[static_cast<std::size_t>(earlier.mbarrier)];
    return "the " + before + (earlier.performed ? " is complete, but the " : " may still be in flight: the ") + after +
           " is not ordered after a wait on " + describe(b) +
           " for the phase that counts its bytes; add the mbarrier wait";
  }
  if (earlier.waited_lanes != 0)
    return agent_text(earlier.warp, earlier.waited_lanes) + " waited for the " + before +
           ", but nothing orders that wait before the " + after +
           "; add a barrier after the wait, or let the arrive follow the wait";
  if (!earlier.committed)
    return "the " + before + " was never committed to a group, so no wait before the " + after +
           " can cover it; add the commit_group after it";
  if (earlier.mechanism == Mechanism::bulk_group)
    return "the " + before + (earlier.write ? " may still write its result" : " may still read its source") +
           " at the " + after + "; add bulk wait_group" + (earlier.write ? "" : ".read") +
           " by the thread that issued it, and a barrier after it";
  if (earlier.mechanism == Mechanism::cp_group)
    return "the " + before + " may still be in flight at the " + after +
           "; add cp.async.wait_group by the threads that issued it, and a barrier after it";
  return "the " + before + " may still read its operands at the " + after +
         "; add wgmma.wait_group that covers it, before the buffer is released";
}

void State::conflict(AccessRef earlier_ref, AccessRef later_ref, WarpState const& w, Lanes observing, Order found,
                     Space space, std::uint64_t begin, std::uint64_t end) {
  AccessRecord const& earlier = records[record_of(earlier_ref)];
  AccessRecord const& later = records[record_of(later_ref)];
  ReportKind const kind = found == Order::unordered ? race(earlier, later) : ReportKind::missing_proxy_fence;
  if (!first(kind, earlier.site, later.site)) return;
  std::string sentence = found == Order::unfenced ? missing_fence(earlier, later, space)
                         : earlier.asynchronous() ? missing_wait(earlier, later)
                                                  : missing_order(earlier, later, w, observing);
  add(kind, std::move(sentence), side(earlier, lane_of(earlier_ref), space, begin, end),
      side(later, lane_of(later_ref), space, begin, end));
}

void State::register_conflict(AccessRef earlier_ref, AccessRef later_ref, bool fence, Space space, std::uint64_t begin,
                              std::uint64_t end) {
  AccessRecord const& earlier = records[record_of(earlier_ref)];
  AccessRecord const& later = records[record_of(later_ref)];
  ReportKind const kind = fence ? ReportKind::missing_wgmma_fence : race(earlier, later);
  if (!first(kind, earlier.site, later.site)) return;
  std::string sentence;
  if (fence) {
    sentence = "no wgmma.fence between the access to the registers (" + op_at(earlier) + ") and the " + op_at(later) +
               "; add wgmma.fence before the first wgmma that uses them";
  } else if (earlier.write) {
    sentence = "the accumulators of the " + op_at(earlier) + " are used at the " + op_at(later) +
               " before a wait covers them; add wgmma.wait_group between them";
  } else {
    sentence = "the registers that the " + op_at(earlier) + " reads are redefined by the " + op_at(later) +
               " before a wait covers it; add wgmma.wait_group between them and keep the operands alive until then";
  }
  add(kind, std::move(sentence), side(earlier, every_lane, space, begin, end),
      side(later, every_lane, space, begin, end));
}

}  // namespace tegula::sim::machine
