// Chooses the enabled agent that goes next. A schedule is a short text that replays a run exactly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::sim::machine {

/// Chooses how a run orders its agents.
///   seed:7             every enabled agent and every asynchronous operation equally likely
///   latest             an asynchronous operation completes only when no warp can go on; oldest first
///   earliest           an asynchronous operation completes as soon as it may
///   starve:3           warp 3 goes on only when nothing else can; operations as early as possible
///   choices:0,2,1      the given indices among the enabled agents, then index 0
///   timed              the agent that is first in virtual time
/// `latest` and `earliest` run one warp until it waits, lowest number first; `latest:5` and `earliest:5` draw the warp
/// from seed 5.
struct Schedule {
  enum class Kind : std::uint8_t { seed, latest, earliest, starve, choices, timed };
  Kind kind = Kind::seed;
  std::uint64_t value = 0;  // seed, or the starved warp
  bool seeded = false;      // latest and earliest: draw the warp from `value`
  std::vector<std::uint32_t> choices;

  static Schedule seed(std::uint64_t value) { return {Kind::seed, value, true, {}}; }
  static Schedule latest() { return {Kind::latest, 0, false, {}}; }
  static Schedule latest(std::uint64_t seed) { return {Kind::latest, seed, true, {}}; }
  static Schedule earliest() { return {Kind::earliest, 0, false, {}}; }
  static Schedule earliest(std::uint64_t seed) { return {Kind::earliest, seed, true, {}}; }
  static Schedule timed() { return {Kind::timed, 0, false, {}}; }
  static Schedule starve(std::uint64_t warp) { return {Kind::starve, warp, false, {}}; }
  static Schedule explicit_choices(std::vector<std::uint32_t> list) {
    return {Kind::choices, 0, false, static_cast<std::vector<std::uint32_t>&&>(list)};
  }

  friend bool operator==(Schedule const&, Schedule const&) = default;
};

std::string to_text(Schedule const&);
/// Reads the text that to_text writes. Throws UserError that prints the grammar.
Schedule parse_schedule(std::string_view);

/// Names an agent that can go on: a warp, or an asynchronous operation that may take its next step. `key` names it
/// across runs with the same past: the warp's number, or the issuing warp and the count of its operations.
struct Candidate {
  bool operation = false;
  std::uint32_t id = 0;
  std::uint64_t key = 0;
  std::uint64_t time = 0;  // virtual, when it goes on
};

/// Collects the synchronisation objects that one transition read and changed, as bits of a hash. Two transitions
/// commute if neither changes an object that the other touches.
struct Touch {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  void read(std::uint64_t object) { reads |= bit(object); }
  void write(std::uint64_t object) { writes |= bit(object); }
  [[nodiscard]] bool commutes(Touch const& other) const {
    return (writes & (other.reads | other.writes)) == 0 && (other.writes & reads) == 0;
  }

 private:
  static std::uint64_t bit(std::uint64_t object) { return std::uint64_t{1} << ((object * 0x9E3779B97F4A7C15u) >> 58); }
};

/// Decides at each point with enabled agents.
class Chooser {
 public:
  static constexpr std::size_t give_up = static_cast<std::size_t>(-1);
  Chooser() = default;
  Chooser(Chooser const&) = delete;
  Chooser& operator=(Chooser const&) = delete;
  virtual ~Chooser() = default;
  /// Returns the index of the candidate that goes on (candidates are never empty), or give_up to end the run unjudged.
  virtual std::size_t choose(std::vector<Candidate> const&) = 0;
  /// Receives the accesses of the chosen transition.
  virtual void executed(Touch const&) {}
};

/// Follows a Schedule.
class ScheduleChooser final : public Chooser {
 public:
  explicit ScheduleChooser(Schedule schedule);
  std::size_t choose(std::vector<Candidate> const&) override;

 private:
  std::uint64_t draw(std::uint64_t bound);
  std::size_t any_warp(std::vector<Candidate> const&);

  Schedule schedule_;
  std::uint64_t state_;
  std::size_t next_ = 0;
};

}  // namespace tegula::sim::machine
