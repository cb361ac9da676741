// Tests kernels that read where they go with stated ranges, on the host and in both simulators.
#include <fmt/format.h>

#include "support/options.hpp"
#include "kernels/ranged_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("offsets of sequences and stated ranges lead to the right places") {
  for (Executor const on : executors_without_device) check_ranged_kernels(on);
}

TEST_CASE("a stated range is checked on the host and in the simulator of tiles") {
  Array<float, 1> x({1000}, 1);
  Array<float, 2> y({1, 256});
  for (int const wrong : {-8, 1 << 20, 12}) {
    Array<int, 1> offsets({1}, wrong);
    INFO(wrong);
    CHECK_THROWS_WITH(launch(host_stream(), moved<true>, x.view(), offsets.view(), y.view()),
                      ContainsSubstring(fmt::format(
                          "the loaded element is not in 0 .. 1048575, or not a multiple of 8: found {}", wrong)));
    simulation const found = simulate(moved<true>, x.view(), offsets.view(), y.view());
    CHECK_THAT(found.report, ContainsSubstring(fmt::format("or not a multiple of 8: found {}", wrong)));
  }
}

TEST_CASE("a GPU checks a stated range on request alone") {
  CHECK_THAT(gpu_text(moved<true>, 3), !ContainsSubstring("__assertfail"));
  CHECK_THAT(gpu_text(moved<true>, 3, true), ContainsSubstring("__assertfail"));
}

TEST_CASE("without checks a loaded scalar is clamped to its stated range") {
  Array<float, 1> x({1000});
  for (int i = 0; i < 1000; ++i) x[i] = static_cast<float>(i);
  Array<int, 1> offsets({3});
  offsets.values = {-500, 20, 1 << 25};
  Array<float, 2> y({3, 256});
  support::Options environment = support::options();
  environment.asserts = false;
  support::ScopedOptions const scope(environment);
  TEGULA_CHECK_RUN(Executor::warps, moved<true>, x, offsets, y);
  CHECK(y[0] == 0);
  CHECK(y[256] == 16);
  CHECK(y[512] == -7);
}

TEST_CASE("a stated multiple of a loaded offset widens accesses") {
  CHECK(gpu_facts(moved<false>, 3).narrowest_access() == 4);
  CHECK(gpu_facts(moved<true>, 3).narrowest_access() == 16);
}

TEST_CASE("loaded indices keep copies by TMA") {
  CHECK_THAT(gpu_text(experts, 4), ContainsSubstring("cp.async.bulk.tensor"));
  CHECK(!gpu_text(centred, 4).empty());
}
