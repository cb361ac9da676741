// Writes a profile in the Chrome trace format.
#include <fmt/format.h>

#include <map>

#include "profile/picture.hpp"
#include "support/json.hpp"
#include "tegula/profile/profile.hpp"

namespace tegula {
namespace {

using support::Json;
using support::text_of;

}  // namespace

std::string Profile::trace() const {
  constexpr double us = 1e-3;
  std::string text = "{\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[";
  bool first = true;
  auto const add = [&](Json const& event) {
    text += first ? "\n" : ",\n";
    first = false;
    text += text_of(event);
  };
  // Threads of one process have names and numbers of their own, so that no two CTAs of a processor share one.
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::int64_t> threads;
  std::map<std::uint32_t, bool> processors;
  std::vector<std::int64_t> thread_of;
  for (ProfileRow const& row : rows) {
    if (processors.emplace(row.processor, true).second) {
      add({{"ph", "M"},
           {"name", "process_name"},
           {"pid", row.processor},
           {"args",
            {{"name", processor_word.empty() ? kernel : fmt::format("{} {}", processor_word, row.processor)}}}});
      add({{"ph", "M"},
           {"name", "process_sort_index"},
           {"pid", row.processor},
           {"args", {{"sort_index", row.processor}}}});
    }
    std::uint64_t const track = std::uint64_t{row.cta} << 32 | row.warp;
    auto const [at, fresh] = threads.try_emplace({row.processor, track}, static_cast<std::int64_t>(threads.size()) + 1);
    thread_of.push_back(at->second);
    if (!fresh) continue;
    add({{"ph", "M"},
         {"name", "thread_name"},
         {"pid", row.processor},
         {"tid", at->second},
         {"args", {{"name", profiling::track_text(*this, row)}}}});
    add({{"ph", "M"},
         {"name", "thread_sort_index"},
         {"pid", row.processor},
         {"tid", at->second},
         {"args", {{"sort_index", at->second}}}});
  }
  for (ProfileEvent const& event : events) {
    ProfileRow const& row = rows[static_cast<std::size_t>(event.row)];
    ProfileName const& name = names[static_cast<std::size_t>(event.name)];
    Json out = {{"name", label(event.name)},
                {"cat", kernel},
                {"pid", row.processor},
                {"tid", thread_of[static_cast<std::size_t>(event.row)]},
                {"ts", event.start * us}};
    Json arguments = {{"launch", row.launch}};
    if (event.value) arguments["value"] = *event.value;
    if (!name.file.empty()) arguments["line"] = fmt::format("{}:{}", name.file, name.line);
    switch (event.state) {
      case ProfileEvent::State::whole:
        out["ph"] = "X";
        out["dur"] = (event.stop - event.start) * us;
        arguments["clocks"] = event.clocks;
        arguments["ns without records"] = event.duration;
        break;
      case ProfileEvent::State::no_stop:
        out["ph"] = "X";
        out["dur"] = (event.stop - event.start) * us;
        arguments["half"] = "start without stop";
        break;
      case ProfileEvent::State::no_start:
        out["ph"] = "i";
        out["s"] = "t";
        arguments["half"] = "stop without start";
        break;
    }
    out["args"] = std::move(arguments);
    add(out);
  }
  text += "\n],\n\"otherData\":";
  Json other = {{"kernel", kernel},
                {"device", device},
                {"dropped warps", dropped_rows},
                {"dropped slots", dropped_slots},
                {"malformed slots", malformed_slots},
                {"record clocks", record_clocks},
                {"clocks per ns", clocks_per_ns}};
  return text + text_of(other) + "}\n";
}

}  // namespace tegula
