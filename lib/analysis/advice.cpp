#include "analysis/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "abi/path_rows.hpp"
#include "analysis/advice_rules.hpp"

namespace tegula::analysis {
namespace {

using Kind = SlowSpot::Kind;
using ir::OpKind;

struct Rule {
  void (*find)(AdvisedLaunch& launch);
  bool on_gpus, on_hosts;  ///< launches that it examines
};

/// Lists the rules in the order in which they examine a launch: a later one sees the estimate without what an earlier
/// one has found.
constexpr Rule rules[] = {
    // memory
    {find_strided_elements, false, true},
    {find_slow_accesses, true, false},
    // latency of loads
    {find_waiting_loops, true, false},
    // tensor cores
    {find_slow_products, true, false},
    // units of functions
    {find_slow_functions, true, false},
    // issue slots
    {find_spills, true, false},
    {find_checks, true, false},
    {find_roundings, true, false},
    // processors without work
    {find_idle_processors, true, true},
};

/// Weighs what the rules have found.
class Judgement {
 public:
  explicit Judgement(AdvisedLaunch& launch) : launch_(launch) {}

  Advice judged() {
    Estimate planned = launch_.best;
    for (Loss const& loss : launch_.losses) loss.add(planned);
    double const now = seconds(planned);
    Advice result;
    result.seconds = now;
    find_limit(result);
    Estimate ideal = launch_.best;
    double const without_any = seconds(ideal);
    for (std::size_t i = 0; i < launch_.losses.size(); ++i) {
      Estimate others = launch_.best, alone = launch_.best;
      for (std::size_t j = 0; j < launch_.losses.size(); ++j)
        if (j != i) launch_.losses[j].add(others);
      launch_.losses[i].add(alone);
      SlowSpot spot = launch_.losses[i].spot;
      spot.gain = std::max(now - seconds(others), seconds(alone) - without_any) / now;
      // Of several of a kind, each helps by its part.
      bool const of_several =
          spot.gain >= launch_.losses[i].least / 3 && gain_of_kind(spot.kind, now) >= launch_.losses[i].least;
      if (spot.gain >= launch_.losses[i].least || of_several) result.slow.push_back(std::move(spot));
    }
    if (!launch_.grid.what.empty()) {
      launch_.grid.gain = 1 - seconds(spread(planned)) / now;
      constexpr double least = 0.15;  // of a tail, tiles of another size lose about as much
      if (launch_.grid.gain >= least) result.slow.push_back(launch_.grid);
    }
    if (!launch_.small.what.empty()) {
      Estimate larger = planned;
      larger.resident *= 8;
      launch_.small.gain = 1 - seconds(larger) / now;
      constexpr double least = 0.12;
      if (launch_.small.gain >= least) result.slow.push_back(launch_.small);
    }
    add_launch(result);
    std::stable_sort(result.slow.begin(), result.slow.end(),
                     [](SlowSpot const& a, SlowSpot const& b) { return a.gain > b.gain; });
    constexpr std::size_t most = 3;
    if (result.slow.size() > most) result.slow.resize(most);
    return result;
  }

 private:
  [[nodiscard]] double seconds(Estimate const& launch) const { return seconds_of(launch, launch_.executor); }

  /// Returns the launch as if its work were spread evenly over all multiprocessors.
  [[nodiscard]] Estimate spread(Estimate launch) const {
    Work const whole = launch;
    Work part;
    add(part, whole, launch_.even);
    static_cast<Work&>(launch) = part;
    for (Ring& ring : launch.rings) ring.trips *= launch_.even;
    return launch;
  }

  /// Returns the share of the time that the remedies of all losses of a kind save.
  [[nodiscard]] double gain_of_kind(Kind kind, double now) const {
    Estimate others = launch_.best;
    for (Loss const& loss : launch_.losses)
      if (loss.spot.kind != kind) loss.add(others);
    return 1 - seconds(others) / now;
  }

  void add_launch(Advice& result) const {
    if (result.limit != Advice::Limit::latency) return;
    constexpr double of_graph = 0.6;  // of a launch's latency, what stays in a graph
    double const saved = launch_.machine.launch_ns * 1e-9 * (1 - of_graph) / result.seconds;
    if (saved < min_gain) return;
    result.slow.push_back(
        {Kind::launch, launch_.about.where, "",
         fmt::format("a launch takes {:.1f} us before its first block works", launch_.machine.launch_ns * 1e-3),
         "capture launches that follow each other in a graph, or do their work in one kernel", saved});
  }

  void find_limit(Advice& result) const {
    double const clocks = launch_.machine.processors * launch_.machine.clocks_per_ns * 1e9;
    double const count = static_cast<double>(launch_.best.blocks);
    // Functions and products by lanes are the kernel's own work, whatever replaces them.
    Estimate own = launch_.best;
    for (Loss const& loss : launch_.losses)
      if (loss.spot.kind == Kind::function || (loss.spot.kind == Kind::product && by_lanes(loss.spot.where)))
        loss.add(own);
    struct Bound {
      Advice::Limit limit;
      double seconds;
      std::string rate;
    };
    double const memory = launch_.machine.memory_bytes_per_ns * 1e9, tensor = launch_.machine.product_bytes * clocks;
    double const issue = launch_.machine.arithmetic * clocks, functions = launch_.machine.functions * clocks;
    std::vector<Bound> bounds = {
        {Advice::Limit::memory, own.tensor_bytes / memory, fmt::format("{:.1f} TB/s", memory * 1e-12)}};
    if (launch_.about.target != nullptr) {
      double const latency =
          launch_.machine.launch_ns * 1e-9 + hopper_costs.start / (launch_.machine.clocks_per_ns * 1e9);
      bounds.push_back({Advice::Limit::tensor_cores, own.product_bytes * count / tensor, tensor_rate(tensor)});
      bounds.push_back({Advice::Limit::issue_slots, own.arithmetic * count / issue,
                        fmt::format("{:.1f} T instructions of a lane/s", issue * 1e-12)});
      bounds.push_back({Advice::Limit::functions, own.functions * count / functions,
                        fmt::format("{:.1f} T functions/s", functions * 1e-12)});
      bounds.push_back({Advice::Limit::latency, latency, ""});
    } else {
      bounds.front().rate = fmt::format("{:.0f} GB/s", memory * 1e-9);
      bounds.push_back({Advice::Limit::issue_slots, own.arithmetic * count / issue,
                        fmt::format("{:.0f} G operations/s", issue * 1e-9)});
      bounds.push_back({Advice::Limit::issue_slots, own.functions * count / functions,
                        fmt::format("{:.0f} G functions/s", functions * 1e-9)});
      bounds.push_back({Advice::Limit::issue_slots, own.product_bytes * count / tensor, tensor_rate(tensor)});
    }
    Bound const& most = *std::max_element(bounds.begin(), bounds.end(),
                                          [](Bound const& a, Bound const& b) { return a.seconds < b.seconds; });
    result.limit = most.limit;
    result.rate = most.rate;
    result.min_seconds = std::min(most.seconds, result.seconds);
  }

  [[nodiscard]] bool by_lanes(location where) const {
    return std::any_of(launch_.about.paths.dots.begin(), launch_.about.paths.dots.end(),
                       [&](DotPath const& row) { return row.path == Path::lanes && abi::same_line(row.where, where); });
  }

  /// Names the rate of the tensor cores for the elements of the largest product.
  [[nodiscard]] std::string tensor_rate(double bytes_a_second) const {
    WorkOfOp const* most = nullptr;
    for (WorkOfOp const& op : launch_.best.ops)
      if (op.kind == OpKind::DotOp && (most == nullptr || op.work.product_bytes > most->work.product_bytes)) most = &op;
    if (most == nullptr) return "";
    double const bytes = info(most->element).bits / 8.0 * (most->element == Element::f64 ? f64_factor : 1);
    double const rate = 2 * bytes_a_second / bytes;
    return rate < 1e12 ? fmt::format("{:.0f} GFLOP/s", rate * 1e-9) : fmt::format("{:.0f} TFLOP/s", rate * 1e-12);
  }

  AdvisedLaunch& launch_;
};

}  // namespace

Advice advice(Advised const& about) {
  AdvisedLaunch launch(about);
  for (Rule const& rule : rules)
    if (about.target != nullptr ? rule.on_gpus : rule.on_hosts) rule.find(launch);
  return Judgement(launch).judged();
}

}  // namespace tegula::analysis
