#include "profile/clocks.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace tegula::profiling {
namespace {

constexpr double wrap = 4294967296.0;

/// Returns the difference of two 32-bit clocks that is nearest to the expected one.
std::int64_t nearest(std::uint32_t difference, double expected) {
  constexpr double bound = 4e15;  // malformed times stay representable
  double const wraps = std::round((std::clamp(expected, -bound, bound) - difference) / wrap);
  return static_cast<std::int64_t>(wraps) * (std::int64_t{1} << 32) + difference;
}

/// Returns b - a for times in ns.
double difference(std::uint64_t a, std::uint64_t b) {
  return b >= a ? static_cast<double>(b - a) : -static_cast<double>(a - b);
}

/// Holds the rows of one launch on one processor, whose clock counts on through all of them.
struct Group {
  std::vector<std::size_t> rows;
  std::vector<std::int64_t> starts;  ///< clocks since the first row's start
  std::vector<std::int64_t> lengths;
};

double median(std::vector<double>& values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

bool has_ended(ProfileRowHeader const& row) { return row.stop_time != 0 && row.stop_time >= row.start_time; }

Clocks line_up(std::span<ProfileRowHeader const> rows, double nominal) {
  Clocks result;
  result.rows.resize(rows.size());
  if (!(nominal > 0)) nominal = 1;
  std::map<std::pair<std::uint64_t, std::uint32_t>, Group> groups;
  std::uint64_t first = ~std::uint64_t{0};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    groups[{rows[i].launch, rows[i].processor}].rows.push_back(i);
    first = std::min(first, rows[i].start_time);
  }

  result.origin = rows.empty() ? 0 : first;

  double clocks = 0, time = 0;
  for (auto& [key, group] : groups) {
    std::ranges::sort(group.rows, {}, [&](std::size_t i) { return rows[i].start_time; });
    ProfileRowHeader const& origin = rows[group.rows.front()];
    double begin = 0, end = 0, until = 0;
    for (std::size_t const i : group.rows) {
      ProfileRowHeader const& row = rows[i];
      double const after = difference(origin.start_time, row.start_time);
      group.starts.push_back(nearest(row.start_clock - origin.start_clock, after * nominal));
      begin = std::min(begin, static_cast<double>(group.starts.back()));
      double const lasts = difference(row.start_time, row.stop_time);
      std::int64_t length = 0;
      if (has_ended(row))
        length = std::max<std::int64_t>(nearest(row.stop_clock - row.start_clock, lasts * nominal), 0);
      group.lengths.push_back(length);
      if (!has_ended(row) || after + lasts < until) continue;
      until = after + lasts;
      end = static_cast<double>(group.starts.back() + length);
    }
    clocks += end - begin;
    time += until;
  }
  // The timer counts in steps of up to a microsecond.
  constexpr double long_enough = 50'000;
  double const measured = time > 0 ? clocks / time : 0;
  bool const usable =
      time >= long_enough * static_cast<double>(groups.size()) && measured > nominal / 8 && measured < nominal * 8;
  result.clocks_per_ns = usable ? measured : nominal;

  for (auto& [key, group] : groups) {
    std::vector<double> origins;  // time of clock 0, as each pair of clock and timer has it
    for (std::size_t k = 0; k < group.rows.size(); ++k) {
      ProfileRowHeader const& row = rows[group.rows[k]];
      double const start = static_cast<double>(group.starts[k]);
      origins.push_back(difference(first, row.start_time) - start / result.clocks_per_ns);
      if (!has_ended(row)) continue;
      double const stop = start + static_cast<double>(group.lengths[k]);
      origins.push_back(difference(first, row.stop_time) - stop / result.clocks_per_ns);
    }
    double const origin = median(origins);
    for (std::size_t k = 0; k < group.rows.size(); ++k) {
      RowClock& clock = result.rows[group.rows[k]];
      double const start = static_cast<double>(group.starts[k]);
      clock.length = group.lengths[k];
      clock.start = origin + start / result.clocks_per_ns;
      clock.stop = clock.start + static_cast<double>(clock.length) / result.clocks_per_ns;
    }
  }
  return result;
}

}  // namespace tegula::profiling
