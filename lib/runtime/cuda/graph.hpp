// Replays work of a stream as one CUDA graph, so that what a launch costs the calling thread does not count.
#pragma once

#include <functional>

#include "tegula/runtime/stream.hpp"

namespace tegula::runtime::cuda {

/// Holds work that was captured on a stream. The memory that it uses must outlive it.
class Graph {
 public:
  /// Captures everything that `work` orders on the stream, by Tegula or others. Throws DriverError if the driver
  /// refuses.
  Graph(stream const& order, std::function<void()> const& work);
  ~Graph();
  Graph(Graph const&) = delete;
  Graph& operator=(Graph const&) = delete;

  /// Starts it on the stream that it was captured on, or on another one of the device.
  void launch() const { launch(order_); }
  void launch(stream const& order) const;

 private:
  stream order_;
  void* executable_ = nullptr;
};

/// Tells whether work of a stream goes to a graph that is being captured. No graph can be launched there.
[[nodiscard]] bool is_captured(stream const& order);

}  // namespace tegula::runtime::cuda
