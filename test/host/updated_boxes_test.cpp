// Tests atomics that change whole boxes, on the host and in both simulators, and what becomes of them on a GPU.
#include <algorithm>

#include "kernels/updated_boxes.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

Path path_of_sums(KernelFacts const& found) {
  INFO(found.str());
  auto const sums = std::ranges::find(found.indexed, AccessPath::Kind::atomic, &AccessPath::kind);
  REQUIRE(sums != found.indexed.end());
  return sums->path;
}

}  // namespace

TEST_CASE("atomics change overlapping boxes, also across borders, in any order of blocks", "[F29]") {
  for (Executor const on : executors_without_device) check_boxes(on);
}

TEST_CASE("the copy engine adds the results of products, as they lie and transposed", "[F29]") {
  KernelFacts const straight = facts(product_in_parts<64, 32, 64, false>);
  CHECK(path_of_sums(straight) == Path::tma);
  KernelFacts const turned = facts(product_in_parts<128, 32, 64, true>);
  CHECK(path_of_sums(turned) == Path::tma);
  CHECK(turned.bank_conflicts() == 0);
}

TEST_CASE("results that no product gives are added through pointers", "[F29]") {
  KernelFacts const found = facts(changed_boxes<1, int>);
  CHECK(path_of_sums(found) == Path::pointer);
}
