// Products of rows that are no multiples of 16 bytes: threads copy the pieces that cover the rows ahead of their use,
// and shift them. Right on the host, as tiles and warp by warp, whatever lies around the rows.
#include "kernels/odd_rows.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

using Four = std::array<std::int64_t, 4>;

AccessPath const* load_of(KernelFacts const& facts, char const* memory) {
  for (AccessPath const& row : facts.loads)
    if (row.memory == memory) return &row;
  return nullptr;
}

/// Returns the facts of a product for tensors whose rows are no multiples of 16 bytes.
template <class K>
KernelFacts odd_facts(K const& kernel) {
  CompileOptions options;
  options.facts = {{true, false}, {true, false}, {true, false}};
  return facts(kernel, options);
}

}  // namespace

TEST_CASE("pieces: left and right operands of 16-bit elements, for depths of no iteration, one and several") {
  for (Executor const executor : executors_without_device)
    for (std::int64_t const depth : {0, 1, 63, 65, 331}) {
      check_odd_product<bf16, false, false>(executor, Four{1, 70, 67, depth});
      check_odd_product<f16, false, true>(executor, Four{1, 70, 67, depth});
    }
}

TEST_CASE("pieces: operands of several batches, that lie transposed") {
  for (Executor const executor : executors_without_device) {
    check_odd_product<bf16, true, false>(executor, Four{3, 67, 65, 129});
    check_odd_product<bf16, true, true>(executor, Four{2, 131, 66, 70});
    check_odd_product<bf16, false, true, 128, 64, 32>(executor, Four{2, 129, 3, 101});
  }
}

TEST_CASE("pieces: elements of 8 and of 32 bits") {
  for (Executor const executor : executors_without_device) {
    check_odd_product<e4m3, false, true>(executor, Four{1, 69, 70, 195});
    check_odd_product<e4m3, false, true>(executor, Four{2, 64, 65, 333}, {1, 3}, {2, 1});
    check_odd_product<float, false, true, 64, 64, 32>(executor, Four{1, 66, 61, 103});
  }
}

TEST_CASE("pieces: views begin at any element, with NaN around their rows") {
  for (Executor const executor : executors_without_device)
    for (std::int64_t const begin : {1, 2, 5, 7}) {
      check_odd_product<bf16, false, false>(executor, Four{1, 65, 64, 128}, {begin, begin}, {8 - begin, 3});
      check_odd_product<bf16, false, true>(executor, Four{2, 33, 71, 77}, {4, begin}, {begin, 8});
    }
}

TEST_CASE("pieces: warps that multiply copy for themselves where none are specialised, and CTAs divide the loop") {
  for (Executor const executor : executors_without_device) {
    CompileOptions options;
    options.specialization = Choice::off;
    check_odd_product<bf16, false, false>(executor, Four{1, 70, 67, 331}, {}, {}, options);
    options = {};
    options.split = 2;
    check_odd_product<bf16, false, true>(executor, Four{1, 70, 67, 515}, {}, {}, options);
  }
}

TEST_CASE("pieces: facts name the copies, and the product stays with warpgroups") {
  auto const check = [](KernelFacts const& found) {
    INFO(found.str());
    for (char const* memory : {"in0", "in1"}) {
      AccessPath const* const row = load_of(found, memory);
      REQUIRE(row != nullptr);
      CHECK(row->bytes == 16);
      CHECK(row->reason.find("cp.async") != std::string::npos);
    }
    for (DotPath const& dot : found.dots) CHECK(dot.path == Path::wgmma);
    for (RingDepth const& ring : found.rings) CHECK(ring.used >= 2);
    REQUIRE(found.rings.size() == 2);
    CHECK(found.rings[0].memory == "in0");
    CHECK(found.rings[1].memory == "in1");
    return found.spill_bytes;
  };
  CHECK(check(odd_facts(odd_product<bf16, false, false>)) <= 0);
  CHECK(check(odd_facts(odd_product<bf16, false, true, 128, 128>)) <= 0);
  (void)check(odd_facts(odd_product<bf16, false, false, 128, 256>));  // values of 128 sums a thread may spill
}
