// Tests accesses at indices that run, on the host and in both simulators, and the vectors that a GPU makes of them.
#include "kernels/running_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("elements at indices that run come and go right, at borders and masks too") {
  for (Executor const on : executors_without_device) check_running(on);
}

TEST_CASE("indices that run make vectors of up to 16 bytes") {
  auto const widths = [](KernelFacts const& facts, MemoryAccessFacts::Kind kind) {
    std::vector<int> result;
    for (MemoryAccessFacts const& access : facts.accesses)
      if (access.kind == kind) result.push_back(access.bytes);
    return result;
  };
  using Kind = MemoryAccessFacts::Kind;
  CHECK(widths(gpu_facts(looked_up<float>, 4), Kind::gather) == std::vector{16});
  CHECK(widths(gpu_facts(looked_up<bf16>, 4), Kind::gather) == std::vector{16});
  CHECK(widths(gpu_facts(shuffled_groups<float>, 3), Kind::gather) == std::vector{16});
  CHECK(widths(gpu_facts(shuffled_groups<float>, 3), Kind::scatter) == std::vector{16});
  CHECK(widths(gpu_facts(shuffled_groups<f16>, 3), Kind::scatter) == std::vector{16});
  CHECK(widths(gpu_facts(added_rows<float>, 4), Kind::atomic) == std::vector{16});
  CHECK(widths(gpu_facts(added_rows<bf16>, 4), Kind::atomic) == std::vector{16});
  CHECK(widths(gpu_facts(added_rows<int>, 4), Kind::atomic) == std::vector{4});
  CHECK(widths(gpu_facts(picks<float, int>, 4), Kind::gather) == std::vector{4});
  CHECK_THAT(gpu_text(added_rows<float>, 4), ContainsSubstring("atom.relaxed.gpu.global.add.v4.f32"));
  CHECK_THAT(gpu_text(added_rows<bf16>, 4), ContainsSubstring("atom.relaxed.gpu.global.add.noftz.v8.bf16"));
  CHECK_THAT(gpu_text(looked_up<float>, 4), ContainsSubstring("ld.global.nc.v4.b32"));
}
