// Holds what a handle `prepared` shares: something that runs on a stream.
#pragma once

#include <functional>
#include <memory>

#include "runtime/reference_counted.hpp"
#include "runtime/prepared_launch.hpp"
#include "tegula/runtime/prepared.hpp"

namespace tegula {

struct detail::PreparedState : runtime::ReferenceCounted {
  PreparedState() = default;
  PreparedState(PreparedState const&) = delete;
  PreparedState& operator=(PreparedState const&) = delete;
  virtual ~PreparedState() = default;
  virtual void run(stream const& order) const = 0;
  /// Calls visit(code) for the code of each launch, in their order.
  virtual void visit_code(std::function<void(std::shared_ptr<runtime::LoadedKernel const> const&)> const&) const {}
};

namespace runtime {

/// Runs compiled code.
class PreparedCode : public detail::PreparedState {
 public:
  PreparedCode(std::shared_ptr<LoadedKernel const> kernel, std::span<Argument const> arguments,
               GridOverride const& grid, std::span<location const> require_sites)
      : launch_(std::move(kernel), arguments, grid, require_sites) {}
  void run(stream const& order) const override { launch_.run(order); }
  void visit_code(std::function<void(std::shared_ptr<LoadedKernel const> const&)> const& visit) const override {
    visit(launch_.shared_kernel());
  }

 private:
  PreparedLaunch launch_;
};

}  // namespace runtime
}  // namespace tegula
