#include "sim/machine/schedule.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "support/string_buffer.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim::machine {

std::string to_text(Schedule const& schedule) {
  support::StringBuffer text;
  switch (schedule.kind) {
    case Schedule::Kind::seed:
      text << "seed:" << schedule.value;
      break;
    case Schedule::Kind::latest:
      text << "latest";
      break;
    case Schedule::Kind::earliest:
      text << "earliest";
      break;
    case Schedule::Kind::timed:
      text << "timed";
      break;
    case Schedule::Kind::starve:
      text << "starve:" << schedule.value;
      break;
    case Schedule::Kind::choices: {
      text << "choices:";
      bool first = true;
      for (std::uint32_t choice : schedule.choices) {
        if (!first) text << ',';
        first = false;
        text << choice;
      }
      break;
    }
  }
  bool const runs_one = schedule.kind == Schedule::Kind::latest || schedule.kind == Schedule::Kind::earliest;
  if (runs_one && schedule.seeded) text << ':' << schedule.value;
  return std::move(text).str();
}

namespace {

/// Reads a whole text as one number.
bool number(std::string_view digits, auto& value) {
  auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc{} && end == digits.data() + digits.size();
}

/// Reads numbers with commas between them; nothing: the text is another.
std::optional<std::vector<std::uint32_t>> parse_choices(std::string_view text) {
  std::vector<std::uint32_t> choices;
  while (!text.empty()) {
    std::size_t const comma = text.find(',');
    std::uint32_t choice = 0;
    if (!number(text.substr(0, comma), choice)) return std::nullopt;
    choices.push_back(choice);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return std::nullopt;
  }
  return choices;
}

}  // namespace

Schedule parse_schedule(std::string_view text) {
  auto const refuse = [&]() -> Schedule {
    throw UserError(
        "schedule: '" + std::string(text) +
        "' is not one of seed:N, latest, latest:N, earliest, earliest:N, starve:WARP, choices:N,N,..., timed");
  };
  std::size_t const colon = text.find(':');
  std::string_view const word = text.substr(0, colon);
  bool const has_value = colon != std::string_view::npos;
  std::string_view const rest = has_value ? text.substr(colon + 1) : std::string_view{};
  Schedule schedule;
  if (word == "choices" && has_value) {
    auto choices = parse_choices(rest);
    if (!choices) return refuse();
    schedule.kind = Schedule::Kind::choices;
    schedule.choices = std::move(*choices);
    return schedule;
  }
  if (has_value && !number(rest, schedule.value)) return refuse();
  if (word == "seed" && has_value) return Schedule::seed(schedule.value);
  if (word == "starve" && has_value) return Schedule::starve(schedule.value);
  if (word == "latest") return has_value ? Schedule::latest(schedule.value) : Schedule::latest();
  if (word == "earliest") return has_value ? Schedule::earliest(schedule.value) : Schedule::earliest();
  if (word == "timed" && !has_value) return Schedule::timed();
  return refuse();
}

ScheduleChooser::ScheduleChooser(Schedule schedule)
    : schedule_(static_cast<Schedule&&>(schedule)),
      state_(schedule_.value * 0x9E3779B97F4A7C15u + 0x2545F4914F6CDD1Du) {}

std::uint64_t ScheduleChooser::draw(std::uint64_t bound) {
  state_ += 0x9E3779B97F4A7C15u;
  std::uint64_t x = state_;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return (x ^ (x >> 31)) % bound;
}

std::size_t ScheduleChooser::any_warp(std::vector<Candidate> const& candidates) {
  std::size_t warps = 0;  // warps stand first
  while (warps < candidates.size() && !candidates[warps].operation) ++warps;
  if (warps == 0) return candidates.size();
  return schedule_.seeded ? draw(warps) : 0;
}

std::size_t ScheduleChooser::choose(std::vector<Candidate> const& candidates) {
  std::size_t const count = candidates.size();
  switch (schedule_.kind) {
    case Schedule::Kind::seed:
      return draw(count);
    case Schedule::Kind::choices: {
      if (count == 1) return 0;  // no choice, not in the list
      std::size_t const choice = next_ < schedule_.choices.size() ? schedule_.choices[next_] : 0;
      ++next_;
      if (choice >= count) {
        throw UserError(fmt::format(
            "schedule: choice {} is {} but only {} agents can continue; the list belongs to another program", next_,
            choice, count));
      }
      return choice;
    }
    case Schedule::Kind::timed: {
      std::size_t first = 0;
      for (std::size_t i = 1; i < count; ++i) {
        Candidate const &a = candidates[i], &b = candidates[first];
        if (a.time != b.time ? a.time < b.time : a.key < b.key) first = i;
      }
      return first;
    }
    case Schedule::Kind::latest: {
      std::size_t const warp = any_warp(candidates);
      if (warp < count) return warp;
      return 0;
    }
    case Schedule::Kind::earliest: {
      for (std::size_t i = 0; i < count; ++i) {
        if (candidates[i].operation) return i;
      }
      return any_warp(candidates);
    }
    case Schedule::Kind::starve: {
      for (std::size_t i = 0; i < count; ++i) {
        if (candidates[i].operation) return i;
      }
      for (std::size_t i = 0; i < count; ++i) {
        if (candidates[i].id != schedule_.value) return i;
      }
      return 0;
    }
  }
  return 0;
}

}  // namespace tegula::sim::machine
