#include "profile/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "support/counted.hpp"

namespace tegula {
namespace profiling {

using support::counted;

std::string time_text(double ns) {
  if (ns < 1000) return fmt::format("{:.1f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.2f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.2f} ms", ns / 1e6);
  return fmt::format("{:.2f} s", ns / 1e9);
}

char const* verdict(ProfileWait const& wait) {
  // A producer runs ahead until the ring is full and then waits in any case, so the consumers' wait decides.
  constexpr double small = 10;  // per cent
  if (wait.consumers >= small) return "producer bound";
  return wait.producers >= small ? "consumer bound" : "balanced";
}

std::vector<std::string> notes(Profile const& profile) {
  std::vector<std::string> lines;
  auto const add = [&](std::int64_t count, std::string_view one, std::string_view many, std::string_view rest) {
    if (count > 0) lines.push_back(counted(count, one, many).append(rest));
  };
  std::int64_t no_start = 0, no_stop = 0;
  for (ProfileEvent const& event : profile.events) {
    no_start += event.state == ProfileEvent::State::no_start;
    no_stop += event.state == ProfileEvent::State::no_stop;
  }
  std::int64_t const open = std::ranges::count_if(profile.rows, [](ProfileRow const& row) { return !row.ended; });
  add(profile.dropped_rows, "warp", "warps",
      " found no row in the buffer; give it more rows, or select fewer CTAs or warps");
  add(profile.unwritten_rows, "row was", "rows were", " claimed but not written: the kernel ended early");
  add(profile.dropped_slots, "slot", "slots", " did not fit; give each row more slots");
  add(profile.malformed_slots, "slot holds", "slots hold", " no record: something else wrote to the buffer");
  add(profile.uncertain_rows, "warp", "warps",
      " made no record for 2^32 clocks or more; some events may be out of place");
  add(no_start, "stop has", "stops have", " no start");
  add(no_stop, "start has", "starts have", " no stop");
  add(open, "warp", "warps", " did not reach the end");
  return lines;
}

std::string headline(Profile const& profile) {
  std::set<std::pair<std::uint64_t, std::uint32_t>> ctas;
  std::set<std::uint64_t> launches;
  for (ProfileRow const& row : profile.rows) {
    ctas.emplace(row.launch, row.cta);
    launches.insert(row.launch);
  }
  auto const size = [](auto const& list) { return static_cast<std::int64_t>(list.size()); };
  if (profile.processor_word.empty())
    return fmt::format("{} on {}: {}, {}, {}; {} of device memory", profile.kernel, profile.device,
                       counted(size(profile.rows), "kernel"), counted(size(profile.events), "event"),
                       time_text(profile.duration()), counted(profile.buffer_bytes, "byte"));
  return fmt::format(
      "kernel {} on {}: {}, {}, {}, {} in {}; {:.3f} clocks per ns, a record costs {:.0f}; {} of shared memory per "
      "CTA, "
      "{} of device memory",
      profile.kernel, profile.device, counted(size(launches), "launch", "launches"), counted(size(ctas), "CTA"),
      counted(size(profile.rows), "warp"), counted(size(profile.events), "event"), time_text(profile.duration()),
      profile.clocks_per_ns, profile.record_clocks, counted(profile.shared_bytes, "byte"), profile.buffer_bytes);
}

}  // namespace profiling

std::string Profile::str() const {
  using profiling::time_text;
  using support::counted;
  std::string text = profiling::headline(*this) + "\n";
  std::vector<ProfileStatistic> const all = statistics();
  std::size_t width = 4;
  for (ProfileStatistic const& s : all) width = std::max(width, label(s.name).size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    ProfileStatistic const& s = all[i];
    if (i == 0 || all[i - 1].role != s.role) {
      std::string const role = role_name(s.role);
      text += fmt::format("  {:<{}}  {:>8}  {:>10}  {:>10}  {:>10}  {:>10}  {:>7}\n",
                          role.empty() ? "all warps" : role + ":", std::max(width, std::size_t{12}), "count", "min",
                          "median", "max", "sum", "share");
    }
    text += fmt::format("  {:<{}}  {:>8}  {:>10}  {:>10}  {:>10}  {:>10}  {:>6.1f}%{}\n", label(s.name),
                        std::max(width, std::size_t{12}), s.count, time_text(s.min), time_text(s.median),
                        time_text(s.max), time_text(s.sum), 100 * s.share,
                        s.halves > 0 ? "  and " + counted(s.halves, "half", "halves") : std::string());
  }
  for (ProfileWait const& wait : waits())
    text += fmt::format("  ring {}: consumers waited {:.1f} % of their time, producers {:.1f} %: {}\n", wait.ring,
                        wait.consumers, wait.producers, profiling::verdict(wait));
  for (std::string const& note : profiling::notes(*this)) text += "  note: " + note + "\n";
  return text;
}

}  // namespace tegula
