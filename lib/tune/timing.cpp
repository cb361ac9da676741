#include "tune/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>

#include "runtime/cuda/graph.hpp"
#include "tegula/runtime/timer.hpp"
#include "tune/sm_clock.hpp"

namespace tegula::tuning {
namespace {

/// Launches each candidate with a rotation of its own.
class Rotation {
 public:
  Rotation(Candidate& candidate, int sets) : candidate_(candidate), sets_(sets) {}
  void run(int launches) {
    for (int i = 0; i < launches; ++i) {
      candidate_.launch(next_);
      next_ = (next_ + 1) % sets_;
    }
  }

 private:
  Candidate& candidate_;
  int sets_;
  int next_ = 0;
};

}  // namespace

Candidate in_graph(stream const& order, Candidate const& candidate, int sets) {
  constexpr int launches = 64;
  auto const graph = std::make_shared<runtime::cuda::Graph>(order, [&] {
    for (int i = 0; i < launches; ++i) candidate.launch(i % sets);
  });
  return {candidate.name, [graph](int) { graph->launch(); }, {}, {}, launches};
}

void time_in_turns(stream const& order, std::vector<Candidate>& candidates, int sets, CoolClock const& settings) {
  timer clock(order);
  std::vector<Rotation> rotations;
  std::vector<int> launches;
  for (Candidate& candidate : candidates) {
    candidate.seconds.clear();
    Rotation& rotation = rotations.emplace_back(candidate, sets);
    rotation.run(settings.warm_launches);
    clock.start();
    rotation.run(2);
    clock.stop();
    launches.push_back(
        static_cast<int>(std::clamp(std::ceil(settings.busy_seconds / (clock.seconds() / 2)), 1.0, 5000.0)));
  }
  for (int round = 0; round < settings.rounds; ++round)
    for (std::size_t turn = 0; turn < candidates.size(); ++turn) {
      std::size_t const i = round % 2 == 0 ? turn : candidates.size() - 1 - turn;
      order.synchronize();
      std::this_thread::sleep_for(std::chrono::duration<double>(settings.idle_seconds));
      rotations[i].run(settings.warm_launches);
      clock.start();
      rotations[i].run(launches[i]);
      clock.stop();
      candidates[i].seconds.push_back(clock.seconds() / launches[i] / candidates[i].launches);
      candidates[i].clock = sm_clock(order.where().number());
    }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<double> ratios(Candidate const& a, Candidate const& b) {
  std::vector<double> result;
  for (std::size_t i = 0; i < std::min(a.seconds.size(), b.seconds.size()); ++i)
    result.push_back(b.seconds[i] / a.seconds[i]);
  return result;
}

}  // namespace tegula::tuning
