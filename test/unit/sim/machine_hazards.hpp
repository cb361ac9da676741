#pragma once
// A hazard is a pair of programs: planted it is reported, repaired it is silent under every kind of schedule.

#include "unit/sim/machine_support.hpp"

namespace tegula::test {

struct Hazard {
  ReportKind kind;
  char const* sentence;  // part of the report
  Options options = {};
  void (*build)(Machine&, bool planted) = nullptr;
};

inline void check_pair(Hazard const& hazard) {
  Options options = hazard.options;
  if (options.shared_bytes == Options{}.shared_bytes) options.shared_bytes = 65536;
  Simulation planted(options, [&](Machine& m) { hazard.build(m, true); });
  Sweep const found = planted.sweep(40, false);
  bool named = false;
  for (Outcome const& outcome : found.bad) {
    for (Report const& report : outcome.reports) {
      named = named || (report.kind == hazard.kind && report.sentence.find(hazard.sentence) != std::string::npos);
    }
  }
  {
    INFO("planted: " << (found.bad.empty() ? std::string("clean") : found.bad.front().text()));
    CHECK(named);
    CHECK(found.bad_runs > 0);
    // The schedule printed in the report finds it again.
    if (!found.bad.empty()) {
      Outcome const& first = found.bad.front();
      Outcome const again = planted.run(parse_schedule(first.schedule));
      CHECK(again.text() == first.text());
      Outcome const by_choices = planted.run(Schedule::explicit_choices(first.choices));
      CHECK(by_choices.reports.front().sentence == first.reports.front().sentence);
    }
  }
  Simulation repaired(options, [&](Machine& m) { hazard.build(m, false); });
  Sweep const silent = repaired.sweep(200);
  INFO("repaired: " << silent.text());
  CHECK(silent.clean());
  CHECK(silent.runs >= 200);
}

inline constexpr std::uint64_t kib = 1024;

/// Describes one copy of 1 KiB into the CTA's shared memory, from the first global buffer of the machine.
inline CopyIn load_1k(Warp w, Space from, std::uint64_t to, MbarrierAddress barrier) {
  CopyIn copy;
  copy.source = Footprint(from, 0, kib);
  copy.destination = Footprint(w.shared(), to, to + kib);
  copy.mbarrier = barrier;
  copy.bytes = kib;
  copy.alignment = 128;
  return copy;
}

inline CopyOut store_1k(Warp w, std::uint64_t from, Space to, std::uint64_t offset) {
  CopyOut copy;
  copy.source = Footprint(w.shared(), from, from + kib);
  copy.destination = Footprint(to, offset, offset + kib);
  copy.alignment = 128;
  return copy;
}

inline Space add_input(Machine& m) { return m.add_buffer({.name = "%in", .bytes = 64 * kib, .read_only = true}); }
inline Space add_output(Machine& m) { return m.add_buffer({.name = "%out", .bytes = 64 * kib, .initialised = false}); }

inline constexpr MbarrierAddress full_barrier{0, 0};
inline constexpr MbarrierAddress empty_barrier{0, 8};

}  // namespace tegula::test
