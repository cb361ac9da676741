// Tests the family of attention on the host and in both simulators, and what becomes of each kernel on a GPU.
#include "kernels/attention_family.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Products run by wgmma, without spills; operands of products are copied by TMA.
template <class Kernel>
void check_facts(Kernel const& kernel) {
  KernelFacts const found = facts(kernel);
  INFO(found.str());
  CHECK(found.spill_bytes <= 0);  // -1 where there is no ptxas
  for (DotPath const& dot : found.dots) CHECK(dot.path == Path::wgmma);
  CHECK(std::ranges::count_if(found.loads, [](AccessPath const& load) { return load.path == Path::tma; }) >= 3);
}

}  // namespace

TEST_CASE("the family of attention is right on the host and in both simulators", "[sim][F27][F42]") {
  for (Executor const on : executors_without_device) check_attention_family<64>(on);
}

TEST_CASE("the family of attention keeps wgmma and TMA without spills", "[N14]") {
  using namespace samples;
  check_facts(attention_with_lse<128, 128, 64>);
  check_facts(window_attention<128, 128, 64>);
  check_facts(bias_attention<64, 64, 64>);
  check_facts(ragged_attention<128, 128, 64>);
  check_facts(paged_attention<64, 64, 64>);
  check_facts(attention_keys_backward<64, 128, 64>);
  check_facts(attention_queries_backward<128, 64, 64>);
  check_facts(attention_backward<64, 64, 64>);
  check_facts(e4m3_attention<128, 128, 64>);
  // Larger heads: blocks of 64, for one warpgroup.
  check_facts(attention_with_lse<64, 64, 128>);
  check_facts(window_attention<64, 64, 128>);
  check_facts(bias_attention<64, 64, 128>);
  check_facts(ragged_attention<64, 64, 128>);
  check_facts(paged_attention<64, 64, 128>);
  check_facts(attention_keys_backward<32, 64, 128>);
  check_facts(attention_queries_backward<64, 64, 128>);
  check_facts(attention_backward<32, 128, 128>);
  check_facts(e4m3_attention<64, 64, 128>);
}