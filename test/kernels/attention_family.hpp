// Checks the family of attention (samples/attention_kernels.hpp) against float64, on any executor.
#pragma once

#include "../../samples/support/attention.hpp"
#include "support/catch.hpp"
#include "support/executors.hpp"

namespace tegula::test {

/// Runs a kernel over host tensors on an executor; a simulation must be clean.
class RunOn {
 public:
  explicit RunOn(Executor on) : on_(on) {}

  template <class Kernel, class... X>
  void operator()(Kernel const& kernel, X&&... arguments) const {
    if (on_ == Executor::host) launch(host_stream(), kernel, passed(arguments)...);
    if (on_ == Executor::tiles) clean(simulate(kernel, passed(arguments)...));
    if (on_ == Executor::warps) clean(simulate(kernel, passed(arguments)..., schedule::seed(5)));
    if (on_ == Executor::device) {
      samples::TimedRun timed{device::best()};
      timed(kernel, arguments...);
    }
  }
  template <class Kernel, class... X>
  void once(Kernel const& kernel, X&&... arguments) const {
    if (on_ != Executor::device) return (*this)(kernel, arguments...);
    samples::TimedRun timed{device::best()};
    timed.once(kernel, arguments...);
  }

 private:
  template <class X>
  static auto passed(X& argument) {
    if constexpr (requires { argument.window(); })
      return argument.window();
    else
      return argument;
  }
  static void clean(simulation const& found) {
    INFO(found.report);
    CHECK(found.clean);
  }

  Executor on_;
};

/// Checks one kernel after another with blocks for heads of d; lengths are not multiples of the blocks, some are 0
/// or 1.
template <int d>
void check_attention_family(Executor on) {
  INFO("on " << name(on) << ", heads of " << d);
  RunOn const run(on);
  auto const right = [](char const* kernel, samples::Checked const& found) {
    INFO(kernel);
    CHECK(found.results.failure() == "");
  };
  constexpr int wide = d <= 64 ? 128 : 64;  // larger heads leave fewer registers
  constexpr int queries = d <= 64 ? 64 : 32;
  for (std::int64_t const tokens : {1, 300}) {
    right("attention_with_lse", samples::check_lse<wide, wide, d>(run, 2, tokens));
    right("causal attention backward",
          samples::check_backward<queries, wide, wide, 64, d, true>(run, 2, tokens - tokens / 3));
    right("attention backward",
          samples::check_backward<queries, wide, wide, 64, d, false>(run, 2, tokens - tokens / 3));
    constexpr int rows = d <= 64 ? 128 : 64;
    right("causal attention backward by sums",
          samples::check_backward_by_sums<rows, 128, d, true>(run, 2, tokens - tokens / 3));
    right("attention backward by sums",
          samples::check_backward_by_sums<rows, 128, d, false>(run, 2, tokens - tokens / 3));
  }
  for (int const window : {1, 70, 400})
    right("window_attention", samples::check_window<wide, wide, d>(run, 2, 300, window));
  right("bias_attention", samples::check_bias<64, 64, d>(run, 2, 140, 304));
  right("bias_attention, rows apart by no multiple of 16 bytes", samples::check_bias<64, 64, d>(run, 1, 70, 65));
  right("ragged_attention", samples::check_ragged<wide, wide, d>(run, 2, {130, 0, 1, 200}));
  right("ragged_attention, first sequences empty", samples::check_ragged<wide, wide, d>(run, 1, {0, 0, 5}));
  right("paged_attention", samples::check_paged<64, 64, d>(run, 1, 2, 70, {150, 0, 1}));
  right("paged_attention, one query", samples::check_paged<64, 64, d>(run, 2, 4, 1, {64, 65}));
  right("e4m3_attention", samples::check_e4m3<wide, wide, d>(run, 2, 140, 304));
}

}  // namespace tegula::test
