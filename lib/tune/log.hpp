// Keeps results of the tuner in a file: a line of JSON for each problem.
#pragma once

#include <string>
#include <vector>

#include "tegula/tune/tune.hpp"

namespace tegula::tuning {

/// Names what a result depends on besides the problem.
struct Place {
  std::string architecture;
  std::string device;
  std::string compiler;
  friend bool operator==(Place const&, Place const&) = default;
};
Place place_of(device where);

struct LogEntry {
  Place place;
  TuneResult result;
};

/// Reads all results, the oldest first; none if there is no file. Lines that do not parse, such as one that was cut
/// off, are left out.
std::vector<LogEntry> read_log(std::string const& path);

/// Adds a result in one write, so that several processes can share a log.
void add_to_log(std::string const& path, LogEntry const& entry);

}  // namespace tegula::tuning
