// Times kernels and their rivals near the device's highest clock, in turns.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tegula/runtime/stream.hpp"

namespace tegula::tuning {

struct Candidate {
  std::string name;
  std::function<void(int set)> launch;  ///< on the stream that is timed, with buffer set number `set`
  std::vector<double> seconds = {};     ///< per launch, one per round; filled by time_in_turns
  std::optional<double> clock = {};     ///< MHz right after the last round; filled by time_in_turns
  int launches = 1;                     ///< that a call of `launch` makes
};

/// Describes how samples are taken. A big chip that works without pause lowers its clock to stay under its power limit.
/// So every sample starts cool: idle, a few launches that are not timed, then as many as fill `busy_seconds`, between
/// two events.
struct CoolClock {
  double idle_seconds = 0.12;
  int warm_launches = 3;
  double busy_seconds = 0.012;
  int rounds = 5;
};

/// Makes each call of `launch` a graph of many launches, over all buffer sets: a thread may not keep up with short
/// ones. On a CUDA device. The candidate must have been launched before, so that no memory is allocated in the graph.
Candidate in_graph(stream const& order, Candidate const& candidate, int sets);

/// Takes one sample of every candidate per round, alternately forwards and backwards. Launches rotate over `sets`
/// buffer sets.
void time_in_turns(stream const& order, std::vector<Candidate>& candidates, int sets, CoolClock const& settings);

double median(std::vector<double> values);
/// Returns the factor by which `a` is faster than `b`, per round.
std::vector<double> ratios(Candidate const& a, Candidate const& b);

}  // namespace tegula::tuning
