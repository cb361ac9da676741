#include "tune/log.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include "compiler/cache_key.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "tegula/support/error.hpp"

namespace tegula::tuning {
namespace {

using support::Json;
using State = TunedKernel::State;

constexpr std::array<std::string_view, 6> state_names{"measured", "slower",  "estimated",
                                                      "refused",  "differs", "unknown"};

std::string_view name_of(State state) { return state_names[static_cast<std::size_t>(state)]; }

State state_named(std::string const& name) {
  for (std::size_t i = 0; i < state_names.size(); ++i)
    if (state_names[i] == name) return static_cast<State>(i);
  return State::unknown;
}

Json json_of(LogEntry const& entry) {
  Json kernels = Json::array();
  for (TunedKernel const& kernel : entry.result.kernels)
    kernels.push_back({{"label", kernel.label},
                       {"state", name_of(kernel.state)},
                       {"seconds", kernel.seconds},
                       {"identical", kernel.identical},
                       {"why", kernel.why}});
  return {{"kernel", entry.result.kernel},   {"architecture", entry.place.architecture},
          {"device", entry.place.device},    {"compiler", entry.place.compiler},
          {"problem", entry.result.problem}, {"best", entry.result.best},
          {"seconds", entry.result.seconds}, {"kernels", std::move(kernels)}};
}

LogEntry entry_of(Json const& line) {
  LogEntry entry;
  entry.place = {line.at("architecture"), line.at("device"), line.at("compiler")};
  entry.result.kernel = line.at("kernel");
  entry.result.problem = line.at("problem").get<std::vector<std::int64_t>>();
  entry.result.best = line.at("best");
  entry.result.seconds = line.at("seconds");
  entry.result.from_log = true;
  for (Json const& kernel : line.at("kernels"))
    entry.result.kernels.push_back({kernel.at("label"), state_named(kernel.at("state")), kernel.at("seconds"),
                                    kernel.at("identical"), kernel.at("why")});
  return entry;
}

bool sound(LogEntry const& entry) {
  return entry.result.best >= 0 && static_cast<std::size_t>(entry.result.best) < entry.result.kernels.size() &&
         entry.result.problem.size() <= TunedChoice::max_numbers;
}

[[noreturn]] void refuse(std::string const& path, int error) {
  throw UserError(
      fmt::format("tune: cannot write the log {}: {}; name a file that can be written", path, std::strerror(error)));
}

}  // namespace

Place place_of(device where) { return {where.architecture(), where.name(), compiler::compiler_version()}; }

std::vector<LogEntry> read_log(std::string const& path) {
  std::vector<LogEntry> entries;
  std::ifstream in(path, std::ios::binary);
  std::string line;
  while (std::getline(in, line)) {
    try {
      LogEntry entry = entry_of(Json::parse(line));
      if (sound(entry)) entries.push_back(std::move(entry));
    } catch (Json::exception const&) {
      continue;
    }
  }
  return entries;
}

void add_to_log(std::string const& path, LogEntry const& entry) {
  support::File const opened = support::open_to_append(path);
  int const file = opened.get();
  if (file < 0) refuse(path, errno);
  std::string line = support::text_of(json_of(entry)) + "\n";
  // A line that was cut off before must not swallow this one.
  off_t const end = ::lseek(file, 0, SEEK_END);
  char last = '\n';
  if (end > 0 && ::pread(file, &last, 1, end - 1) == 1 && last != '\n') line.insert(0, "\n");
  auto const written = ::write(file, line.data(), line.size());
  int const error = errno;
  if (written != static_cast<ssize_t>(line.size())) refuse(path, written < 0 ? error : ENOSPC);
}

}  // namespace tegula::tuning
