// Implements ordinary accesses, fences, warp barriers, atomics and mbarrier actions.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/machine/state.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim::machine {

int Warp::cta() const { return state_->warps[static_cast<std::size_t>(number_)]->cta; }
Space Warp::shared() const { return state_->ctas[static_cast<std::size_t>(cta())].space; }
Space Warp::registers() const { return state_->warps[static_cast<std::size_t>(number_)]->register_space; }

WarpState& Warp::begin(ActionSite const& site, Lanes lanes) {
  WarpState& w = *state_->warps[static_cast<std::size_t>(number_)];
  if (w.blocked.kind != Blocked::Kind::none && !state_->stop) {
    throw InternalError(fmt::format("simulator: a step of warp {} went on after an action that waits ({}, then {})",
                                    number_, place_text(w.blocked.site), place_text(site)));
  }
  if (lanes == 0) throw InternalError("simulator: an action without lanes at " + place_text(site));
  w.clocks.tick();
  if (state_->costs == nullptr) ++w.now;
  w.last_site = site;
  return w;
}

Turn Warp::turn(WarpState& w) {
  w.visible = true;
  return Turn();
}

void Warp::read(Lanes lanes, Footprint const& bytes, ActionSite site) {
  WarpState& w = begin(site, lanes);
  state_->touch(w, lanes, bytes, state_->new_record(w, lanes, site, Proxy::generic, Mechanism::program_order, false));
}

void Warp::write(Lanes lanes, Footprint const& bytes, ActionSite site) {
  WarpState& w = begin(site, lanes);
  state_->touch(w, lanes, bytes, state_->new_record(w, lanes, site, Proxy::generic, Mechanism::program_order, true));
}

void Warp::give_up(Lanes lanes, Footprint const& bytes, ActionSite site) {
  WarpState& w = begin(site, lanes);
  state_->give_up(w, lanes, bytes, state_->new_record(w, lanes, site, Proxy::generic, Mechanism::program_order, true));
}

Turn Warp::atomic(Lanes lanes, Footprint const& bytes, AtomicOrder order, ActionSite site, bool of_cta) {
  WarpState& w = begin(site, lanes);
  State& s = *state_;
  std::uint32_t const record = s.new_record(w, lanes, site, Proxy::generic, Mechanism::program_order, true);
  s.records[record].atomic = true;
  s.records[record].of_cta = of_cta;
  s.touch(w, lanes, bytes, record);
  bool const releases = order == AtomicOrder::release || order == AtomicOrder::acq_rel;
  bool const acquires = order == AtomicOrder::acquire || order == AtomicOrder::acq_rel;
  // Word by word: all that is acquired first, so that each word's release publishes it.
  std::vector<std::uint64_t> words;
  for (LaneBytes const& range : bytes)
    for (std::uint64_t word = range.begin / 4; word * 4 < range.end; ++word)
      words.push_back(std::uint64_t{bytes.space()} << 40 ^ (word * 4));
  for (std::uint64_t const word : words) {
    w.touched.write(object_of_atomic ^ word);
    if (acquires) w.clocks.acquire(lanes, s.atomics[word]);
  }
  if (releases)
    for (std::uint64_t const word : words) w.clocks.release(lanes, s.atomics[word], s.slots);
  return turn(w);
}

void Warp::read_registers(std::uint64_t begin_, std::uint64_t end, ActionSite site) {
  WarpState& w = begin(site, all_lanes);
  std::uint32_t const record = state_->new_record(w, all_lanes, site, Proxy::generic, Mechanism::program_order, false);
  state_->touch_registers(w, Footprint(w.register_space, begin_, end), record, true);
}

void Warp::write_registers(std::uint64_t begin_, std::uint64_t end, ActionSite site) {
  WarpState& w = begin(site, all_lanes);
  std::uint32_t const record = state_->new_record(w, all_lanes, site, Proxy::generic, Mechanism::program_order, true);
  state_->touch_registers(w, Footprint(w.register_space, begin_, end), record, false);
}

void Warp::warp_sync(Lanes lanes, ActionSite site) {
  WarpState& w = begin(site, lanes);
  w.clocks.synchronise(lanes, state_->slots);
}

void Warp::fence_proxy_async(Lanes lanes, FenceSpace space, ActionSite site) {
  WarpState& w = begin(site, lanes);
  if (space != FenceSpace::global) w.clocks.fence(lanes, Plane::shared_async, state_->signalled);
  if (space != FenceSpace::shared) w.clocks.fence_all_known(lanes, Plane::global_async);
}

void Warp::fence_mbarrier_init(Lanes lanes, ActionSite site) {
  WarpState& w = begin(site, lanes);
  for (Mbarrier* b : state_->mbarriers) {
    if (b->init.warp != w.number || (b->init.lanes & lanes) == 0 || b->published) continue;
    b->published = true;
    w.clocks.acquire(b->init.lanes & lanes, b->init_slot, 1);
  }
}

void Warp::release_tensor_maps(Lanes lanes, ActionSite site) {
  WarpState& w = begin(site, lanes);
  state_->releases.push_back({static_cast<std::uint16_t>(w.number), lanes, w.clocks.time(), site});
}

void Warp::acquire_tensor_map(Lanes lanes, Footprint const& map, ActionSite site) {
  WarpState& w = begin(site, lanes);
  State& s = *state_;
  s.check_released(w, lanes, map, site);
  s.touch(w, lanes, map, s.new_record(w, lanes, site, Proxy::generic, Mechanism::program_order, false));
  for (LaneBytes const& range : map) {
    s.acquires.push_back(
        {map.space(), range.begin, range.end, {static_cast<std::uint16_t>(w.number), lanes, w.clocks.time(), site}});
  }
}

Turn Warp::wait_until(bool (*condition)(void*, std::uint64_t), void* context, std::uint64_t payload, ActionSite site) {
  WarpState& w = begin(site, all_lanes);
  Blocked wait;
  wait.kind = Blocked::Kind::condition;
  wait.site = site;
  wait.condition = condition;
  wait.context = context;
  wait.payload = payload;
  state_->block(w, std::move(wait));
  return turn(w);
}

// --- mbarrier --------------------------------------------------------------------------------------------------------

Turn Warp::mbarrier_init(Lanes one, MbarrierAddress address, std::int64_t count, ActionSite site) {
  WarpState& w = begin(site, one);
  State& s = *state_;
  CtaState& cta = s.ctas[static_cast<std::size_t>(address.cta)];
  if (address.offset % 8 != 0 || address.offset + 8u > s.options.shared_bytes) {
    if (s.first(ReportKind::misaligned, site, {})) {
      s.add(ReportKind::misaligned,
            fmt::format("an mbarrier at byte {}; it needs 8 bytes at a multiple of 8 in shared memory", address.offset),
            {}, s.side(w, one, "init", site), true);
    }
    return turn(w);
  }
  Mbarrier* b = s.find(address);
  if (b == nullptr) {
    std::size_t const used = s.mbarriers.size();
    if (used == s.mbarrier_storage.size()) s.mbarrier_storage.push_back(std::make_unique<Mbarrier>());
    b = s.mbarrier_storage[used].get();
    *b = {};
    b->address = address;
    b->slot = s.slots.make();
    s.signalled.push_back(b->slot);
    s.mbarriers.push_back(b);
    if (cta.mbarrier_at.empty()) cta.mbarrier_at.assign(s.options.shared_bytes / 8, -1);
    cta.mbarrier_at[address.offset / 8] = static_cast<std::int32_t>(used);
  } else if (b->state.live()) {
    s.fault(MbarrierFault::already_live, *b, w, one, site, {});
    return turn(w);
  } else {
    // A new object at the place of a dead one: new phases, so a new slot.
    b->slot = s.slots.make();
    s.signalled.push_back(b->slot);
    b->pending.clear();
    b->completed.clear();
    b->pending_time = b->completed_time = 0;
    b->observers.clear();
    b->users.clear();
    b->waited.clear();
    b->published = false;
    b->counted_bytes = b->counted_before = false;
    b->remote_pending = b->remote_release = {};
  }
  w.touched.write(object_of(b->address));
  MbarrierFault const result = b->state.init(count);
  if (result != MbarrierFault::none) {
    s.fault(result, *b, w, one, site, fmt::to_string(count));
    return turn(w);
  }
  std::uint32_t const record = s.new_record(w, one, site, Proxy::generic, Mechanism::program_order, true);
  s.touch(w, one, Footprint(cta.space, address.offset, address.offset + 8u), record);
  cta.live.insert(std::lower_bound(cta.live.begin(), cta.live.end(), address.offset), address.offset);
  b->init = {static_cast<std::uint16_t>(w.number), one, w.clocks.time(), site};
  b->init_slot = s.slots.make();
  b->last_arrival = {};
  return turn(w);
}

Turn Warp::mbarrier_inval(Lanes one, MbarrierAddress address, ActionSite site) {
  WarpState& w = begin(site, one);
  State& s = *state_;
  Mbarrier* b = s.use(w, one, address, site, false);
  if (b == nullptr) return turn(w);
  for (Instant const& user : b->users) {
    if (user.warp == w.number && user.lanes == one) continue;
    if (s.knows(w, one, user.warp, user.lanes, user.time, Plane::order, false) ||
        !s.first(ReportKind::dead_barrier, user.site, site))
      continue;
    s.add(ReportKind::dead_barrier,
          "nothing orders the use of " + s.describe(*b) +
              " before its inval; add a barrier of all its users before the inval",
          s.side(*s.warps[user.warp], user.lanes, "use of " + s.describe(*b), user.site),
          s.side(w, one, "inval", site));
  }
  if (!b->state.balanced() && s.first(ReportKind::unbalanced_at_exit, b->last_arrival, site)) {
    s.add(ReportKind::unbalanced_at_exit,
          fmt::format("{} is invalidated in the middle of a phase: {} of {} arrivals pending, {} bytes", s.describe(*b),
                      b->state.pending(), b->state.expected(), b->state.tx()),
          {}, s.side(w, one, "inval", site));
  }
  b->state.inval();
  b->inval = site;
  CtaState& cta = s.ctas[static_cast<std::size_t>(address.cta)];
  std::erase(cta.live, address.offset);
  std::uint32_t const record = s.new_record(w, one, site, Proxy::generic, Mechanism::program_order, true);
  s.touch(w, one, Footprint(cta.space, address.offset, address.offset + 8u), record);
  return turn(w);
}

Turn Warp::arrive(Lanes lanes, MbarrierAddress address, std::int64_t count, ActionSite site, Scope scope) {
  WarpState& w = begin(site, lanes);
  state_->arrive(w, lanes, address, site, scope, count, 0, false);
  return turn(w);
}

Turn Warp::arrive_expect_tx(Lanes lanes, MbarrierAddress address, std::int64_t bytes, ActionSite site, Scope scope) {
  WarpState& w = begin(site, lanes);
  state_->arrive(w, lanes, address, site, scope, 1, bytes, false);
  return turn(w);
}

Turn Warp::expect_tx(Lanes lanes, MbarrierAddress address, std::int64_t bytes, ActionSite site) {
  WarpState& w = begin(site, lanes);
  State& s = *state_;
  Mbarrier* b = s.use(w, lanes, address, site, false);
  for (Lanes rest = lanes; b != nullptr && rest != 0; rest &= rest - 1) {
    MbarrierFault const result = b->state.expect(bytes);
    b->counted_bytes = true;
    if (result != MbarrierFault::none) s.fault(result, *b, w, lanes, site, fmt::to_string(bytes));
  }
  return turn(w);
}

Turn Warp::arrive_drop(Lanes lanes, MbarrierAddress address, ActionSite site) {
  WarpState& w = begin(site, lanes);
  state_->arrive(w, lanes, address, site, Scope::cta, 1, 0, true);
  return turn(w);
}

Blocked State::wait_for(Lanes lanes, MbarrierAddress address, std::uint32_t parity, ActionSite const& site,
                        Scope scope) {
  Blocked wait;
  wait.kind = Blocked::Kind::mbarrier;
  wait.lanes = lanes;
  wait.site = site;
  wait.index = ctas[static_cast<std::size_t>(address.cta)].mbarrier_at[address.offset / 8];
  wait.parity = parity;
  wait.scope = scope;
  return wait;
}

Turn Warp::wait_parity(Lanes lanes, MbarrierAddress address, std::uint32_t parity, ActionSite site, Scope scope,
                       std::int64_t phase) {
  WarpState& w = begin(site, lanes);
  State& s = *state_;
  if (address.cta != w.cta && s.first(ReportKind::misuse, site, {})) {
    s.add(ReportKind::misuse, "a CTA cannot wait on an mbarrier of another CTA; wait on one of its own CTA", {},
          s.side(w, lanes, "wait", site), true);
  }
  Mbarrier* b = s.use(w, lanes, address, site, false);
  if (b == nullptr) return turn(w);
  Blocked wait = s.wait_for(lanes, address, parity, site, scope);
  if (phase >= -1) {
    wait.phase = phase + 1;
    s.note_wait(w, lanes, *b, wait.phase);
  } else {
    wait.phase = s.needed_phase(w, lanes, *b, parity, site);
  }
  s.block(w, std::move(wait));
  return turn(w);
}

Turn Warp::test_parity(Lanes lanes, MbarrierAddress address, std::uint32_t parity, ActionSite site, Scope scope) {
  WarpState& w = begin(site, lanes);
  State& s = *state_;
  Mbarrier* b = s.use(w, lanes, address, site, false);
  w.visible = true;
  if (b == nullptr || !b->state.passes(parity)) return Turn(false);
  Blocked wait = s.wait_for(lanes, address, parity, site, scope);
  wait.phase = s.needed_phase(w, lanes, *b, parity, site);
  if (b->state.phase() > 0) w.now = std::max(w.now, b->completed_time);
  s.pass_wait(w, wait);
  return Turn(true);
}

}  // namespace tegula::sim::machine
