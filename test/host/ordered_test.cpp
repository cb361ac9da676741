// Tests atomics with orders and scopes, on the host and in both simulators.
#include "kernels/ordered_kernels.hpp"
#include "kernels/ranged_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("atomics of every order and scope change their elements alone") {
  for (Executor const on : executors_without_device) check_ordered_changes(on);
}

TEST_CASE("the last block sums, blocks wait for flags and take turns at a lock", "[F29]") {
  for (Executor const on : executors_without_device) check_ordered_kernels(on);
}

TEST_CASE("the last block's sum is right in any order of blocks and warps", "[F29]") {
  std::int64_t const count = 256 * 5 + 1;
  for (int seed = 1; seed <= 6; ++seed) {
    Array<float, 1> x({count}, 1), partials({6}, -1), y({1}, -1);
    Array<int, 1> arrived({1}, 0);
    simulation const found = simulate(total<decltype(order::acq_rel)>, x.view(), partials.view(), arrived.view(),
                                      y.view(), schedule::seed(static_cast<std::uint64_t>(seed)));
    INFO(found.report);
    CHECK(found.clean);
    CHECK(y[0] == static_cast<float>(count));
  }
}

TEST_CASE("the simulator of tiles notices a missing order", "[F29]") {
  auto const report_of = [](auto const& kernel) {
    Array<float, 1> x({1000}, 1), partials({4}, -1), y({1}, -1);
    Array<int, 1> arrived({1}, 0);
    return simulate(kernel, x.view(), partials.view(), arrived.view(), y.view()).report;
  };
  CHECK_THAT(report_of(total<decltype(order::relaxed)>), ContainsSubstring("blocks run in any order"));
  CHECK_THAT(report_of(total<decltype(order::release)>), ContainsSubstring("blocks run in any order"));
  CHECK_THAT(report_of(total<decltype(order::acquire)>), ContainsSubstring("blocks run in any order"));
}

TEST_CASE("PTX states the order and the scope of atomics") {
  CHECK_THAT(gpu_text(total<decltype(order::acq_rel)>, 4), ContainsSubstring("atom.acq_rel.gpu.global.add.u32"));
  CHECK_THAT(gpu_text(running_rows, 3), ContainsSubstring("atom.acquire.gpu.global.or.b32"));
  CHECK_THAT(gpu_text(running_rows, 3), ContainsSubstring("atom.release.gpu.global.exch.b32"));
  CHECK_THAT(gpu_text(split_depth<3>, 5), ContainsSubstring("wgmma"));
  CHECK_THAT(gpu_text(locked, 3), ContainsSubstring("atom.acquire.gpu.global.cas.b32"));
  using System = decltype(scope::system);
  using Block = decltype(scope::block);
  CHECK_THAT(gpu_text(ordered_change<0, double, decltype(order::acq_rel), System>, 2),
             ContainsSubstring("atom.acq_rel.sys.global.add.f64"));
  CHECK_THAT(gpu_text(ordered_change<7, std::uint64_t, decltype(order::relaxed), Block>, 2),
             ContainsSubstring("atom.relaxed.cta.global.xor.b64"));
}
