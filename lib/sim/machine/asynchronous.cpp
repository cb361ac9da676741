// Asynchronous operations: issue, the steps they take on their own, groups and waits.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sim/machine/state.hpp"

namespace tegula::sim::machine {

void State::enqueue(WarpState& w, Mechanism mechanism, std::uint32_t id) {
  Operation const& op = operations[id];
  queue(w, mechanism).members.push_back({id, op.lanes, GroupQueue::uncommitted});
  for (std::uint32_t record : {op.source, op.result, op.operands}) records[record].committed = false;
  w.touched.write(object_of_warp + static_cast<std::uint64_t>(w.number));
}

std::uint32_t State::new_operation(WarpState& w, OpKind kind, Lanes lanes, ActionSite const& site,
                                   Effect const& effect) {
  std::uint32_t id = 0;
  if (free_operations.empty()) {
    id = static_cast<std::uint32_t>(operations.size());
    operations.emplace_back();
  } else {
    id = free_operations.back();
    free_operations.pop_back();
  }
  Operation& op = operations[id];
  op = {};
  op.kind = kind;
  op.warp = static_cast<std::uint16_t>(w.number);
  op.lanes = lanes;
  op.serial = ++w.operations;
  op.site = site;
  op.effect = effect;
  in_flight.push_back(id);
  return id;
}

void State::free_operation(std::uint32_t id) { free_operations.push_back(id); }

void State::check_copy(WarpState const& w, Lanes lanes, Footprint const& shared, Footprint const& global,
                       std::uint32_t alignment, std::uint32_t bytes, ActionSite const& site) {
  if (std::popcount(lanes) != 1 && first(ReportKind::misuse, site, {})) {
    add(ReportKind::misuse,
        fmt::format("{} lanes issue the copy, so it runs as many times; elect one lane", std::popcount(lanes)), {},
        side(w, lanes, "copy", site));
  }
  auto const aligned = [&](Footprint const& place, std::uint32_t to, char const* remedy) {
    std::uint64_t const address = place.empty() ? 0 : place.begin()->begin;
    if (address % to == 0 || !first(ReportKind::misaligned, site, {})) return;
    add(ReportKind::misaligned,
        fmt::format("byte {} of {} is not aligned to {} bytes, as this copy needs; {}", address,
                    spaces[place.space()]->buffer.name, to, remedy),
        {}, side(w, lanes, "copy of " + describe(place.space(), place.begin()->begin, place.begin()->end), site));
  };
  aligned(shared, alignment, "align the buffer and round up its stage size");
  std::uint32_t const unit = std::min(alignment, 16u);  // 4 or 8 for st.async
  aligned(global, unit, "prove the start a multiple of that, or do not use the copy engine");
  if (bytes % unit != 0 && first(ReportKind::misaligned, site, {})) {
    add(ReportKind::misaligned, fmt::format("{} bytes are not a multiple of {}", bytes, unit), {},
        side(w, lanes, "copy", site));
  }
}

GroupQueue& State::queue(WarpState& w, Mechanism mechanism) {
  if (mechanism == Mechanism::bulk_group) return w.bulk;
  return mechanism == Mechanism::cp_group ? w.cp : w.wgmma;
}

bool State::may_advance(Operation const& op) const {
  if (op.done) return false;
  if (op.kind != OpKind::wgmma && op.kind != OpKind::cp_arrive) return true;
  for (std::uint32_t id : in_flight) {
    Operation const& other = operations[id];
    if (other.warp != op.warp || other.done || other.serial >= op.serial) continue;
    if (op.kind == OpKind::wgmma && other.kind == OpKind::wgmma) return false;  // one warp's wgmmas end in order
    // An earlier arrival has waited for all that a later one waits for.
    bool const of_cp = other.kind == OpKind::cp_async || other.kind == OpKind::cp_arrive;
    if (op.kind == OpKind::cp_arrive && of_cp && (other.lanes & op.lanes) != 0) return false;
  }
  return true;
}

void State::advance(std::uint32_t id) {
  Operation& op = operations[id];
  WarpState& w = *warps[op.warp];
  if (op.mbarrier < 0) operation_touch.write(object_of_warp + op.warp);
  if (op.kind == OpKind::copy_out && !op.source_read) {
    op.effect(Moment::read_source);
    op.source_read = true;
    records[op.source].performed = true;
    return;
  }
  if (op.kind != OpKind::cp_arrive) op.effect(Moment::write_result);
  op.source_read = op.done = true;
  for (std::uint32_t record : {op.source, op.result, op.operands}) records[record].performed = true;
  std::erase(in_flight, id);
  if (op.mbarrier < 0) return;

  Mbarrier& b = *mbarriers[static_cast<std::size_t>(op.mbarrier)];
  operation_touch.write(object_of(b.address));
  b.pending_time = std::max(b.pending_time, op.end_time);
  if (!b.state.live()) {
    if (first(ReportKind::dead_barrier, b.inval, op.site)) {
      add(ReportKind::dead_barrier,
          describe(b) + " is invalidated before a copy on it has ended; wait for the copy first",
          {"inval of " + describe(b), b.inval}, side(w, op.lanes, "copy", op.site), true);
    }
    return;
  }
  bool const copy = op.kind == OpKind::copy_in;
  MbarrierFault const result = copy ? count_bytes(op, b) : arrive_for_copies(op, b);
  if (result != MbarrierFault::none)
    fault(result, b, w, op.lanes, op.site,
          fmt::to_string(copy ? op.bytes : static_cast<std::uint32_t>(std::popcount(op.lanes))));
  else
    after_transition(b);
  free_operation(id);
}

void State::signal(std::uint32_t number, Operation const& op, Mbarrier const& b) {
  if (number == 0 || records[number].signal_time != 0) return;
  records[number].signal = b.slot;
  records[number].signal_time = b.state.phase() + 1;
  records[number].mbarrier = op.mbarrier;
}

MbarrierFault State::count_bytes(Operation const& op, Mbarrier& b) {
  WarpState const& w = *warps[op.warp];
  signal(op.source, op, b);
  signal(op.result, op, b);
  signal(op.operands, op, b);
  b.counted_bytes = true;
  b.counted_site = op.site;
  // The bytes of st.async are counted with release semantics of the cluster's scope.
  if (records[op.result].proxy == Proxy::generic && b.address.cta != w.cta)
    b.remote_pending = {op.warp, op.lanes, w.clocks.time(), op.site};
  return b.state.complete(op.bytes);
}

MbarrierFault State::arrive_for_copies(Operation const& op, Mbarrier& b) {
  WarpState& w = *warps[op.warp];
  for (GroupQueue::Member const& member : w.cp.members) {
    Operation const& copy = operations[member.operation];
    if (copy.serial > op.serial || (member.lanes & op.lanes) == 0) continue;
    signal(copy.source, op, b);
    if (records[copy.result].signal_time != 0) continue;
    signal(copy.result, op, b);
    hand(w, copy.result);
  }
  constexpr std::size_t many = 4096;  // copies that only the mbarrier speaks for are forgotten at last
  if (w.cp.members.size() > many) {
    std::erase_if(w.cp.members, [&](GroupQueue::Member const& member) {
      bool const over = member.group == GroupQueue::uncommitted && operations[member.operation].serial < op.serial &&
                        (member.lanes & ~op.lanes) == 0;
      if (over) free_operation(member.operation);
      return over;
    });
  }
  b.last_arrival = op.site;
  return b.state.arrive(std::popcount(op.lanes));
}

void State::commit(WarpState& w, Mechanism mechanism, Lanes lanes, ActionSite const&) {
  GroupQueue& q = queue(w, mechanism);
  for (GroupQueue::Member& member : q.members) {
    if (member.group != GroupQueue::uncommitted || (member.lanes & lanes) == 0) continue;
    member.group = q.next;
    Operation const& op = operations[member.operation];
    for (std::uint32_t record : {op.source, op.result, op.operands}) records[record].committed = true;
  }
  q.groups.push_back({q.next++, lanes, lanes});
}

bool State::groups_done(WarpState const& w, Blocked const& blocked) const {
  GroupQueue const& q =
      const_cast<State*>(this)->queue(const_cast<WarpState&>(w), static_cast<Mechanism>(blocked.index));
  int youngest = blocked.pending;
  for (std::size_t i = q.groups.size(); i-- > 0;) {
    GroupQueue::Group const& group = q.groups[i];
    if ((group.lanes & blocked.lanes) == 0 || youngest-- > 0) continue;
    if (blocked.read && (group.unread_lanes & blocked.lanes) == 0) continue;  // known from an earlier wait
    for (GroupQueue::Member const& member : q.members) {
      if (member.group != group.number) continue;
      Operation const& op = operations[member.operation];
      if (!(blocked.read ? op.source_read : op.done)) return false;
    }
  }
  return true;
}

void State::pass_groups(WarpState& w, Blocked const& blocked) {
  GroupQueue& q = queue(w, static_cast<Mechanism>(blocked.index));
  w.touched.write(object_of_warp + static_cast<std::uint64_t>(w.number));
  auto const known = [&](std::uint32_t number) {
    if (number == 0) return;
    AccessRecord& record = records[number];
    if ((record.waited_lanes & blocked.lanes) == blocked.lanes) return;
    record.waited_lanes |= blocked.lanes;
    record.waited_time = w.clocks.time();
  };
  int youngest = blocked.pending;
  for (std::size_t i = q.groups.size(); i-- > 0;) {
    GroupQueue::Group& group = q.groups[i];
    if ((group.lanes & blocked.lanes) == 0 || youngest-- > 0) continue;
    if (blocked.read && (group.unread_lanes & blocked.lanes) == 0) continue;  // known from an earlier wait
    group.unread_lanes &= ~blocked.lanes;
    if (!blocked.read) group.lanes &= ~blocked.lanes;
    for (GroupQueue::Member const& member : q.members) {
      if (member.group != group.number) continue;
      Operation const& op = operations[member.operation];
      known(op.source);
      if (blocked.read) continue;
      known(op.result);
      known(op.operands);
    }
    if (group.lanes != 0) continue;
    std::erase_if(q.members, [&](GroupQueue::Member const& member) {
      if (member.group != group.number) return false;
      free_operation(member.operation);
      return true;
    });
    q.groups.erase(q.groups.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

namespace {

double bytes_of(Footprint const& place) {
  std::uint64_t bytes = 0;
  for (LaneBytes const& range : place) bytes += range.end - range.begin;
  return static_cast<double>(bytes);
}

}  // namespace

// --- what a warp does ------------------------------------------------------------------------------------------------

Turn Warp::copy_in(Lanes one, CopyIn const& copy, ActionSite site) {
  WarpState& w = begin(site, one);
  State& s = *state_;
  s.check_copy(w, one, copy.destination, copy.source, copy.alignment, copy.bytes, site);
  std::uint32_t source = 0;
  if (!copy.source.empty()) {
    source = s.new_record(w, one, site, Proxy::async, Mechanism::mbarrier, false);
    s.touch(w, one, copy.source, source);
  }
  std::uint32_t map = 0;
  if (!copy.tensor_map.empty()) {
    map = s.new_record(w, one, site, Proxy::generic, Mechanism::mbarrier, false);
    s.check_tensor_map(w, one, copy.tensor_map, map);
  }
  int const cluster = s.options.cluster;
  int const base = w.cta / cluster * cluster;
  std::uint32_t const targets = copy.multicast != 0 ? copy.multicast : 1u << (w.cta - base);
  Time end_time = 0;
  for (std::uint32_t rest = targets; rest != 0 && !s.stop; rest &= rest - 1) {
    int const rank = std::countr_zero(rest);
    if (rank >= cluster) {
      if (s.first(ReportKind::misuse, site, {})) {
        s.add(ReportKind::misuse, fmt::format("the multicast mask names rank {} of a cluster of {}", rank, cluster), {},
              s.side(w, one, "copy", site));
      }
      break;
    }
    int const cta = base + rank;
    MbarrierAddress address = copy.mbarrier;
    if (copy.multicast != 0) address.cta = cta;
    Mbarrier* b = s.use(w, one, address, site, true);
    if (b == nullptr) break;
    std::uint32_t const result = s.new_record(w, one, site, Proxy::async, Mechanism::mbarrier, true);
    s.records[result].mbarrier = s.number_of(*b);
    for (std::uint32_t record : {source, map}) s.records[record].mbarrier = s.records[result].mbarrier;
    Space const space = copy.multicast != 0 ? s.ctas[static_cast<std::size_t>(cta)].space : copy.destination.space();
    if (!copy.destination.empty()) {
      s.touch(w, one, Footprint(space, std::span(copy.destination.begin(), copy.destination.end())), result);
    }
    Effect effect = copy.effect;
    if (copy.multicast != 0) effect.payload += static_cast<std::uint64_t>(rank);
    std::uint32_t const id = s.new_operation(w, OpKind::copy_in, one, site, effect);
    Operation& op = s.operations[id];
    op.mbarrier = s.records[result].mbarrier;
    op.bytes = copy.bytes;
    op.phase = b->state.phase();
    op.source = source;
    op.result = result;
    op.operands = map;
    if (cta != w.cta) s.hand(w, result);
    if (rest == targets)
      s.time_operation(w, op, copy.bytes, 0);
    else
      op.read_time = op.end_time = end_time;  // multicast
    end_time = op.end_time;
  }
  return turn(w);
}

Turn Warp::peer_store(Lanes lanes, PeerStore const& store, ActionSite site) {
  WarpState& w = begin(site, lanes);
  State& s = *state_;
  Mbarrier* const b = s.use(w, lanes, store.mbarrier, site, true);
  if (b == nullptr) return turn(w);
  std::uint32_t const result = s.new_record(w, lanes, site, Proxy::generic, Mechanism::mbarrier, true);
  s.records[result].mbarrier = s.number_of(*b);
  Space const space = s.ctas[static_cast<std::size_t>(store.cta)].space;
  s.touch(w, lanes, Footprint(space, std::span(store.destination.begin(), store.destination.end())), result);
  std::uint32_t const id = s.new_operation(w, OpKind::copy_in, lanes, site, store.effect);
  Operation& op = s.operations[id];
  op.mbarrier = s.records[result].mbarrier;
  op.bytes = store.bytes;
  op.phase = b->state.phase();
  op.result = result;
  op.read_time = w.now;
  op.end_time = w.now + static_cast<Time>(s.costs != nullptr ? s.costs->peer_latency : 0);
  s.hand(w, result);
  return turn(w);
}

void State::hand(WarpState& w, std::uint32_t record) const {
  std::erase_if(w.handed, [&](std::uint32_t last) { return records[last].mbarrier == records[record].mbarrier; });
  w.handed.push_back(record);
}

Turn Warp::copy_out(Lanes one, CopyOut const& copy, ActionSite site) {
  WarpState& w = begin(site, one);
  State& s = *state_;
  s.check_copy(w, one, copy.source, copy.destination, copy.alignment, 0, site);
  std::uint32_t const source = s.new_record(w, one, site, Proxy::async, Mechanism::bulk_group, false);
  s.touch(w, one, copy.source, source);
  std::uint32_t map = 0;
  if (!copy.tensor_map.empty()) {
    map = s.new_record(w, one, site, Proxy::generic, Mechanism::bulk_group, false);
    s.check_tensor_map(w, one, copy.tensor_map, map);
  }
  std::uint32_t const result = s.new_record(w, one, site, Proxy::async, Mechanism::bulk_group, true);
  s.records[result].atomic = copy.reduce;
  s.touch(w, one, copy.destination, result);
  std::uint32_t const id = s.new_operation(w, OpKind::copy_out, one, site, copy.effect);
  s.operations[id].source = source;
  s.operations[id].result = result;
  s.operations[id].operands = map;
  s.time_operation(w, s.operations[id], bytes_of(copy.source), 0);
  s.enqueue(w, Mechanism::bulk_group, id);
  return turn(w);
}

void Warp::bulk_commit(Lanes lanes, ActionSite site) {
  state_->commit(begin(site, lanes), Mechanism::bulk_group, lanes, site);
}

Turn Warp::bulk_wait(Lanes lanes, int pending, bool read, ActionSite site) {
  WarpState& w = begin(site, lanes);
  Blocked wait;
  wait.kind = Blocked::Kind::group;
  wait.lanes = lanes;
  wait.site = site;
  wait.index = static_cast<int>(Mechanism::bulk_group);
  wait.pending = pending;
  wait.read = read;
  state_->block(w, std::move(wait));
  return turn(w);
}

Turn Warp::cp_async(Lanes lanes, AsyncCopy const& copy, ActionSite site) {
  WarpState& w = begin(site, lanes);
  State& s = *state_;
  std::uint32_t const source = s.new_record(w, lanes, site, Proxy::generic, Mechanism::cp_group, false);
  s.touch(w, lanes, copy.source, source);
  std::uint32_t const result = s.new_record(w, lanes, site, Proxy::generic, Mechanism::cp_group, true);
  s.touch(w, lanes, copy.destination, result);
  std::uint32_t const id = s.new_operation(w, OpKind::cp_async, lanes, site, copy.effect);
  s.operations[id].source = source;
  s.operations[id].result = result;
  s.time_operation(w, s.operations[id], bytes_of(copy.destination), 0);
  s.enqueue(w, Mechanism::cp_group, id);
  return turn(w);
}

void Warp::cp_async_commit(Lanes lanes, ActionSite site) {
  state_->commit(begin(site, lanes), Mechanism::cp_group, lanes, site);
}

Turn Warp::cp_async_wait(Lanes lanes, int pending, ActionSite site) {
  WarpState& w = begin(site, lanes);
  Blocked wait;
  wait.kind = Blocked::Kind::group;
  wait.lanes = lanes;
  wait.site = site;
  wait.index = static_cast<int>(Mechanism::cp_group);
  wait.pending = pending;
  state_->block(w, std::move(wait));
  return turn(w);
}

Turn Warp::cp_async_arrive(Lanes lanes, MbarrierAddress address, bool noinc, ActionSite site) {
  WarpState& w = begin(site, lanes);
  State& s = *state_;
  Mbarrier* b = s.use(w, lanes, address, site, true);
  if (b == nullptr) return turn(w);
  s.check_observed(w, lanes, *b, site);
  for (Lanes rest = noinc ? 0 : lanes; rest != 0; rest &= rest - 1) {
    MbarrierFault const result = b->state.add_pending();
    if (result != MbarrierFault::none) s.fault(result, *b, w, lanes, site, "1");
  }
  std::uint32_t const id = s.new_operation(w, OpKind::cp_arrive, lanes, site, {});
  s.operations[id].mbarrier = s.number_of(*b);
  s.operations[id].phase = b->state.phase();
  s.time_operation(w, s.operations[id], 0, 0);
  return turn(w);
}

void Warp::wgmma_fence(ActionSite site) {
  WarpState& w = begin(site, all_lanes);
  w.wgmma_fence = w.clocks.time();
}

Turn Warp::wgmma(Wgmma const& op, ActionSite site) {
  WarpState& w = begin(site, all_lanes);
  State& s = *state_;
  ++w.wgmma_count;
  if (w.wgmma_fence == 0 && s.first(ReportKind::missing_wgmma_fence, site, {})) {
    s.add(ReportKind::missing_wgmma_fence, "no wgmma.fence before the first wgmma of this warp; add one", {},
          s.side(w, all_lanes, "wgmma", site));
  }
  std::uint32_t source = 0;
  if (!op.shared.empty()) {
    source = s.new_record(w, all_lanes, site, Proxy::async, Mechanism::wgmma_group, false);
    for (Footprint const& bytes : op.shared) s.touch(w, all_lanes, bytes, source);
  }
  std::uint32_t operands = 0;
  if (!op.a_registers.empty()) {
    operands = s.new_record(w, all_lanes, site, Proxy::async, Mechanism::wgmma_group, false);
    s.records[operands].shape = op.shape;
    s.touch_registers(w, op.a_registers, operands, true);
  }
  std::uint32_t const result = s.new_record(w, all_lanes, site, Proxy::async, Mechanism::wgmma_group, true);
  s.records[result].shape = op.shape;
  s.touch_registers(w, op.accumulators, result, op.accumulate);
  std::uint32_t const id = s.new_operation(w, OpKind::wgmma, all_lanes, site, op.effect);
  s.operations[id].source = source;
  s.operations[id].operands = operands;
  s.operations[id].result = result;
  s.time_operation(w, s.operations[id], 0, op.clocks);
  s.enqueue(w, Mechanism::wgmma_group, id);
  return turn(w);
}

void Warp::wgmma_commit(ActionSite site) {
  state_->commit(begin(site, all_lanes), Mechanism::wgmma_group, all_lanes, site);
}

Turn Warp::wgmma_wait(int pending, ActionSite site) {
  WarpState& w = begin(site, all_lanes);
  Blocked wait;
  wait.kind = Blocked::Kind::group;
  wait.site = site;
  wait.index = static_cast<int>(Mechanism::wgmma_group);
  wait.pending = pending;
  state_->block(w, std::move(wait));
  return turn(w);
}

}  // namespace tegula::sim::machine
