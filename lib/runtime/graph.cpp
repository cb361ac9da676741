#include "tegula/runtime/graph.hpp"

#include <memory>
#include <vector>

#include "runtime/cuda/graph.hpp"
#include "runtime/prepared_state.hpp"
#include "support/options.hpp"

namespace tegula {
namespace {

/// Replays launches, on a CUDA device by a graph.
class PreparedGraph : public detail::PreparedState {
 public:
  PreparedGraph(device where, std::span<prepared const> launches) : launches_(launches.begin(), launches.end()) {
    support::Options const& environment = support::options();
    if (!where.is_cuda() || environment.simulate || environment.debug) return;
    stream const order(where);
    graph_ = std::make_unique<runtime::cuda::Graph>(order, [&] { run_each(order); });
  }
  void run(stream const& order) const override {
    if (graph_ && !runtime::cuda::is_captured(order))
      graph_->launch(order);
    else
      run_each(order);
  }
  void visit_code(
      std::function<void(std::shared_ptr<runtime::LoadedKernel const> const&)> const& visit) const override {
    for (prepared const& one : launches_)
      if (one.state() != nullptr) one.state()->visit_code(visit);
  }

 private:
  void run_each(stream const& order) const {
    for (prepared const& one : launches_) one(order);
  }

  std::vector<prepared> launches_;  // their tensor maps and code must live
  std::unique_ptr<runtime::cuda::Graph> graph_;
};

}  // namespace

prepared graph(device where, std::span<prepared const> launches) {
  return prepared(new PreparedGraph(where, launches));
}

}  // namespace tegula
