#if TEGULA_HAS_CUDA_HEADER

#include "runtime/cuda/graph.hpp"

#include "runtime/cuda/driver.hpp"

namespace tegula::runtime::cuda {

Graph::Graph(stream const& order, std::function<void()> const& work) : order_(order) {
  ContextScope const scope(order.where().number());
  CUgraph graph = nullptr;
  driver().StreamBeginCapture(order.handle(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  try {
    work();
  } catch (...) {
    if (driver().StreamEndCapture.raw(order.handle(), &graph) == CUDA_SUCCESS) driver().GraphDestroy.raw(graph);
    throw;
  }
  driver().StreamEndCapture(order.handle(), &graph);
  CUgraphExec executable = nullptr;
  CUresult const result = driver().GraphInstantiateWithFlags.raw(&executable, graph, 0);
  driver().GraphDestroy.raw(graph);
  check(result, "cuGraphInstantiateWithFlags");
  executable_ = executable;
}

Graph::~Graph() {
  give_back([&] { driver().GraphExecDestroy(static_cast<CUgraphExec>(executable_)); });
}

void Graph::launch(stream const& order) const {
  ContextScope const scope(order.where().number());
  driver().GraphLaunch(static_cast<CUgraphExec>(executable_), order.handle());
}

bool is_captured(stream const& order) {
  ContextScope const scope(order.where().number());
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  // It fails on the legacy default stream while another one is captured; the launch then says so.
  return driver().StreamIsCapturing.raw(order.handle(), &status) == CUDA_SUCCESS &&
         status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

}  // namespace tegula::runtime::cuda

#endif
