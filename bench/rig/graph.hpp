// Replays launches of any library as one CUDA graph, so that the cost of a launch for the calling thread does not
// count.
#pragma once

#include <functional>

#include "tegula/runtime/stream.hpp"

namespace tegula::bench {

/// Holds launches that were captured on a stream. Their arguments' memory must outlive it.
class Graph {
 public:
  /// Captures everything that `launches` orders on the stream. Throws std::runtime_error if the driver refuses.
  Graph(stream const& order, std::function<void()> const& launches);
  ~Graph();
  Graph(Graph const&) = delete;
  Graph& operator=(Graph const&) = delete;

  void launch() const;

 private:
  stream order_;
  void* executable_ = nullptr;
};

}  // namespace tegula::bench
