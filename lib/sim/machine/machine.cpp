// Implements set-up and the run loop.
#include "sim/machine/machine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/machine/state.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim::machine {

std::string Outcome::text() const {
  if (reports.empty()) return abandoned ? "abandoned" : "clean";
  std::string text;
  for (Report const& report : reports) {
    if (!text.empty()) text += "\n\n";
    text += report.text();
  }
  return text;
}

State::State(Options chosen) : options(chosen), costs(chosen.costs) {
  if (options.ctas < 1 || options.cluster < 1 || options.ctas % options.cluster != 0 || options.cluster > 16) {
    throw UserError(
        fmt::format("simulator: {} CTAs in clusters of {}; the cluster size is 1 to 16 and divides the number of CTAs",
                    options.ctas, options.cluster));
  }
  reset();
}

void State::reset() {
  slots.reset();
  preceding_slot = slots.make();
  for (WarpState* w : warps) {
    w->program.reset();
    w->task = {};
    w->body = nullptr;
  }
  warps.clear();
  active.clear();
  started_clusters = 0;
  names.clear();
  reads.reset();
  records.clear();
  records.resize(1);                    // none
  records.emplace_back().write = true;  // the host
  AccessRecord& before = records.emplace_back();
  before.write = true;
  before.warp = preceding_grid;
  before.site.op = "write of the preceding grid";
  mbarriers.clear();
  signalled.clear();
  operations.clear();
  free_operations.clear();
  in_flight.clear();
  acquires.clear();
  releases.clear();
  atomics.clear();
  outcome = {};
  seen.clear();
  stop = false;
  ctas.resize(static_cast<std::size_t>(options.ctas));
  clusters.assign(static_cast<std::size_t>(options.ctas / options.cluster), {});
  spaces.resize(ctas.size());
  for (std::size_t c = 0; c < ctas.size(); ++c) {
    CtaState& cta = ctas[c];
    for (NamedBarrier& b : cta.barriers) b = {};
    std::fill(cta.mbarrier_at.begin(), cta.mbarrier_at.end(), -1);
    cta.live.clear();
    cta.warps.clear();
    cta.remote.clear();
    cta.free_registers = 0;
    cta.running = 0;
    cta.units.reset();
    cta.space = static_cast<Space>(c);
    std::fill(cta.bytes.begin(), cta.bytes.end(), std::byte{0xA5});
    if (spaces[c] == nullptr) spaces[c] = std::make_unique<SpaceState>();
    SpaceState& space = *spaces[c];
    space.kind = SpaceKind::shared;
    space.owner = static_cast<int>(c);
    space.buffer.name = ctas.size() > 1 ? fmt::format("shared of CTA {}", c) : "shared";
    space.buffer.bytes = options.shared_bytes;
    space.shadow.reset(no_access);
  }
}

WarpState& State::add_warp(int cta) {
  if (cta < 0 || cta >= options.ctas) throw UserError(fmt::format("simulator: there is no CTA {}", cta));
  std::size_t const number = warps.size();
  if (number == warp_storage.size()) warp_storage.push_back(std::make_unique<WarpState>());
  WarpState& w = *warp_storage[number];
  WarpClocks clocks = std::move(w.clocks);  // keeps its storage
  w = {};
  w.clocks = std::move(clocks);
  w.clocks.reset(slots.make());
  w.number = static_cast<int>(number);
  w.cta = cta;
  w.registers = options.registers;
  CtaState& home = ctas[static_cast<std::size_t>(cta)];
  w.index = static_cast<int>(home.warps.size());
  home.warps.push_back(w.number);
  ++home.running;
  ClusterState& cluster = clusters[static_cast<std::size_t>(cta / options.cluster)];
  ++cluster.alive;
  warps.push_back(&w);
  w.register_space = static_cast<Space>(spaces.size());
  SpaceState& space = *spaces.emplace_back(std::make_unique<SpaceState>());
  space.kind = SpaceKind::registers;
  space.owner = w.number;
  space.buffer.name = "registers";
  space.buffer.bytes = UINT32_MAX;
  return w;
}

void State::start_clusters(std::size_t count, Time time) {
  for (; count != 0 && started_clusters < clusters.size(); ++started_clusters) {
    for (WarpState* w : warps) {
      if (static_cast<std::size_t>(w->cta / options.cluster) == started_clusters) {
        active.push_back(w);
        w->now = time;
      }
    }
    if (clusters[started_clusters].alive != 0) --count;
  }
  std::sort(active.begin(), active.end(), [](WarpState const* a, WarpState const* b) { return a->number < b->number; });
}

void State::collect() {
  candidates.clear();
  for (WarpState const* w : active) {
    if (!can_resume(*w)) continue;
    Time const time = costs != nullptr ? ready_time(*w) : 0;
    candidates.push_back({false, static_cast<std::uint32_t>(w->number), static_cast<std::uint64_t>(w->number), time});
  }
  for (std::uint32_t id : in_flight) {
    Operation const& op = operations[id];
    if (!may_advance(op)) continue;
    Time const time = op.kind == OpKind::copy_out && !op.source_read ? op.read_time : op.end_time;
    candidates.push_back({true, id, (std::uint64_t{op.warp} + 1) << 32 | op.serial, time});
  }
}

void State::step_warp(WarpState& w) {
  w.touched = {};
  w.visible = false;
  if (w.blocked.kind != Blocked::Kind::none) resume(w);
  while (!stop) {
    bool const running = w.program != nullptr ? w.program->step() : w.task.step();
    if (!running) {
      finish(w);
      return;
    }
    if (w.visible || w.blocked.kind != Blocked::Kind::none) return;
  }
}

void State::finish(WarpState& w) {
  w.finished = true;
  ClusterState& cluster = clusters[static_cast<std::size_t>(w.cta / options.cluster)];
  --cluster.alive;
  if (w.cluster_arrivals > cluster.generation) --cluster.arrived;  // the barrier counts warps that still run
  if (w.cluster_arrivals > w.cluster_waits && first(ReportKind::barrier_misuse, w.cluster_arrival, {}))
    add(ReportKind::barrier_misuse, "a warp that arrives at the cluster barrier ends without a wait there", {},
        side(w, all_lanes, "barrier.cluster.arrive", w.cluster_arrival), true);
  cluster.end_time = std::max(cluster.end_time, w.now);
  outcome.end_time = std::max(outcome.end_time, w.now);
  complete_cluster_if_ready(cluster);
  CtaState& cta = ctas[static_cast<std::size_t>(w.cta)];
  if (--cta.running == 0) check_cta_exit(cta);
  std::erase(active, &w);
  if (cluster.alive == 0) start_clusters(1, cluster.end_time);
}

void State::execute(Candidate const& candidate, Touch& touched) {
  if (candidate.operation) {
    operation_touch = {};
    advance(candidate.id);
    touched = operation_touch;
    return;
  }
  WarpState& w = *warps[candidate.id];
  step_warp(w);
  touched = w.touched;
  if (w.finished) touched.write(object_of_cluster);
}

void State::note_step(Candidate const& chosen, ActionSite const& started) {
  std::string line = fmt::format("{} ", outcome.steps);
  if (chosen.operation) {
    Operation const& op = operations[chosen.id];
    line += std::string(started.op) + " of " + agent_text(op.warp, op.lanes) + " at " + place_text(started);
    line += op.done ? ": ends" : ": has read its source";
  } else {
    WarpState const& w = *warps[chosen.id];
    line += agent_text(w.number, all_lanes) + ": " + w.last_site.op + " at " + place_text(w.last_site);
    if (w.finished)
      line += ", ends";
    else if (w.blocked.kind != Blocked::Kind::none)
      line += ", waits";
  }
  outcome.trace.push_back(std::move(line));
}

void State::run(Chooser& chooser) {
  Touch touched;
  start_clusters(options.resident > 0 ? static_cast<std::size_t>(options.resident) : clusters.size(), begin_time);
  while (!stop) {
    collect();
    if (candidates.empty()) break;
    std::size_t const choice = chooser.choose(candidates);
    if (choice == Chooser::give_up) {
      outcome.abandoned = true;
      return;
    }
    if (candidates.size() > 1) outcome.choices.push_back(static_cast<std::uint32_t>(choice));
    if (++outcome.steps > options.max_steps) {
      ActionSite const site = warps.empty() ? ActionSite{} : warps.front()->last_site;
      add(ReportKind::livelock, fmt::format("the kernel does not end within {} steps", options.max_steps), {},
          {"last action of warp 0", site}, true);
      return;
    }
    Candidate const chosen = candidates[choice];
    ActionSite const started = chosen.operation ? operations[chosen.id].site : ActionSite{};
    execute(chosen, touched);
    if (options.trace) note_step(chosen, started);
    chooser.executed(touched);
  }
  if (stop) return;
  bool const all_ended = std::all_of(warps.begin(), warps.end(), [](WarpState const* w) { return w->finished; });
  if (all_ended)
    check_exit();
  else
    deadlock();
}

Machine::Machine(Options options) : state_(std::make_unique<State>(options)) {}
Machine::~Machine() = default;
Machine::Machine(Machine&&) noexcept = default;
Machine& Machine::operator=(Machine&&) noexcept = default;

void Machine::reset() { state_->reset(); }
Options const& Machine::options() const { return state_->options; }
void Machine::begin_at(Time time) { state_->begin_time = time; }

int Machine::add_warp(int cta, Body body) {
  WarpState& w = state_->add_warp(cta);
  w.body = std::move(body);
  w.task = w.body(Warp(*state_, w.number));
  return w.number;
}

int Machine::add_warp(int cta, std::unique_ptr<Program> (*make)(void*, Warp), void* context) {
  WarpState& w = state_->add_warp(cta);
  w.program = make(context, Warp(*state_, w.number));
  return w.number;
}

Space Machine::add_buffer(Buffer buffer) {
  SpaceState& space = *state_->spaces.emplace_back(std::make_unique<SpaceState>());
  space.kind = SpaceKind::global;
  space.shadow.reset(buffer.preceding     ? make_ref(2, every_lane)
                     : buffer.initialised ? make_ref(1, every_lane)
                                          : no_access);
  space.buffer = std::move(buffer);
  return static_cast<Space>(state_->spaces.size() - 1);
}

int Machine::warp_count() const { return static_cast<int>(state_->warps.size()); }
Space Machine::shared(int cta) const { return state_->ctas.at(static_cast<std::size_t>(cta)).space; }
Space Machine::registers(int warp) const { return state_->warps.at(static_cast<std::size_t>(warp))->register_space; }

void Machine::name(Space space, std::uint64_t begin, std::uint64_t end, std::string text) {
  state_->names.push_back({space, begin, end, std::move(text)});
}

std::span<std::byte> Machine::shared_bytes(int cta) {
  std::vector<std::byte>& bytes = state_->ctas.at(static_cast<std::size_t>(cta)).bytes;
  if (bytes.empty()) bytes.assign(state_->options.shared_bytes, std::byte{0xA5});
  return bytes;
}

Outcome Machine::run(Schedule const& schedule) {
  ScheduleChooser chooser(schedule);
  return run(chooser, to_text(schedule));
}

Outcome Machine::run(Chooser& chooser, std::string schedule_text) {
  State& s = *state_;
  s.run(chooser);
  if (schedule_text.empty()) schedule_text = to_text(Schedule::explicit_choices(s.outcome.choices));
  s.outcome.schedule = schedule_text;
  for (Report& report : s.outcome.reports) report.schedule = schedule_text;
  return std::move(s.outcome);
}

}  // namespace tegula::sim::machine
