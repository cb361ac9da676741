// Computes statistics, waits and names of a profile.
#include <algorithm>
#include <map>
#include <set>

#include "tegula/profile/profile.hpp"

namespace tegula {
namespace {

char const* phase_text(RecordKind kind) {
  switch (kind) {
    case RecordKind::user:
      return "";
    case RecordKind::fill:
      return "fill";
    case RecordKind::wait_empty:
      return "wait empty";
    case RecordKind::wait_full:
      return "wait full";
    case RecordKind::issue:
      return "issue";
    case RecordKind::wait_product:
      return "wait product";
    case RecordKind::compute:
      return "compute";
    case RecordKind::exchange:
      return "exchange";
    case RecordKind::epilogue:
      return "epilogue";
    case RecordKind::store:
      return "store";
    case RecordKind::wait_launch:
      return "wait for";
    case RecordKind::tile:
      return "tile";
  }
  return "";
}

double lasts(ProfileRow const& row) { return std::max(row.stop - row.start, 0.0); }

}  // namespace

std::string Profile::label(std::int32_t name) const {
  if (name < 0 || static_cast<std::size_t>(name) >= names.size()) return "?";
  ProfileName const& entry = names[static_cast<std::size_t>(name)];
  std::string const phase = phase_text(entry.kind);
  if (entry.name.empty() || phase.ends_with(entry.name)) return phase;  // "wait product" of no tensor known
  if (phase.empty() || entry.name.starts_with(phase)) return entry.name;
  return phase + " " + entry.name;
}

std::string Profile::role_name(std::int32_t role) const {
  bool const known = role >= 0 && static_cast<std::size_t>(role) < roles.size();
  return known ? roles[static_cast<std::size_t>(role)].name : std::string();
}

double Profile::duration() const {
  double end = 0;
  for (ProfileRow const& row : rows) end = std::max(end, row.stop);
  for (ProfileEvent const& event : events) end = std::max(end, event.stop);
  return end;
}

std::vector<ProfileStatistic> Profile::statistics() const {
  std::map<std::int32_t, double> time;  // by role
  for (ProfileRow const& row : rows) time[row.role] += lasts(row);
  struct Sample {
    std::vector<double> durations;
    std::int64_t halves = 0;
  };
  std::map<std::pair<std::int32_t, std::int32_t>, Sample> samples;
  for (ProfileEvent const& event : events) {
    Sample& sample = samples[{rows[static_cast<std::size_t>(event.row)].role, event.name}];
    if (event.state == ProfileEvent::State::whole)
      sample.durations.push_back(event.duration);
    else
      ++sample.halves;
  }
  std::vector<ProfileStatistic> result;
  for (auto& [key, sample] : samples) {
    ProfileStatistic statistic;
    statistic.role = key.first;
    statistic.name = key.second;
    statistic.halves = sample.halves;
    std::vector<double>& durations = sample.durations;
    statistic.count = static_cast<std::int64_t>(durations.size());
    if (!durations.empty()) {
      std::ranges::sort(durations);
      std::size_t const middle = durations.size() / 2;
      statistic.min = durations.front();
      statistic.max = durations.back();
      statistic.median =
          durations.size() % 2 == 1 ? durations[middle] : (durations[middle - 1] + durations[middle]) / 2;
      for (double const duration : durations) statistic.sum += duration;
      if (time[key.first] > 0) statistic.share = statistic.sum / time[key.first];
    }
    result.push_back(statistic);
  }
  std::ranges::stable_sort(result, [](ProfileStatistic const& a, ProfileStatistic const& b) {
    return a.role != b.role ? a.role < b.role : a.sum > b.sum;
  });
  return result;
}

std::vector<ProfileWait> Profile::waits() const {
  struct Side {
    double waited = 0;
    std::set<std::int32_t> rows;
  };
  struct Ring {
    std::string name;
    Side consumers, producers;
  };
  std::vector<Ring> rings;
  std::map<std::string, std::size_t> number;
  for (ProfileName const& name : names) {
    if (name.kind != RecordKind::wait_full && name.kind != RecordKind::wait_empty) continue;
    if (number.try_emplace(name.name, rings.size()).second) rings.push_back({name.name, {}, {}});
  }
  for (ProfileEvent const& event : events) {
    ProfileName const& name = names[static_cast<std::size_t>(event.name)];
    bool const full = name.kind == RecordKind::wait_full;
    if (!full && name.kind != RecordKind::wait_empty) continue;
    Ring& ring = rings[number[name.name]];
    Side& side = full ? ring.consumers : ring.producers;
    side.waited += event.duration;
    side.rows.insert(event.row);
  }
  auto const share = [&](Side const& side) {
    double time = 0;
    for (std::int32_t const row : side.rows) time += lasts(rows[static_cast<std::size_t>(row)]);
    return time > 0 ? 100 * side.waited / time : 0.0;
  };
  std::vector<ProfileWait> result;
  for (Ring const& ring : rings) result.push_back({ring.name, share(ring.consumers), share(ring.producers)});
  return result;
}

}  // namespace tegula
