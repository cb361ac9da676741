#include "analysis/uniformity.hpp"

#include "support/module.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Tells, for each fence in a kernel with that body, in the order of its text, whether all warps run its block alike.
std::vector<bool> alike(std::string const& body) {
  ir::Module const module = module_of(
      "kernel @k(%n: i64) warps = 12 {\n  %zero = constant {value = 0 : i64} : i64\n"
      "  %one = constant {value = 1 : i64} : i64\n" +
      body + "  return\n}\n");
  analysis::Uniformity const uniformity(module);
  std::vector<bool> found;
  ir::walk(module.kernel(), [&](ir::Op& op) {
    if (op.is<ir::FenceProxyAsyncOp>()) found.push_back(uniformity.is_uniform(*op.parent()));
  });
  return found;
}

}  // namespace

TEST_CASE("uniformity: a block is uniform under uniform loops and branches") {
  CHECK(alike("  fence_proxy_async\n") == std::vector{true});
  CHECK(alike("  for %i = %zero to %n step %one {\n    %c = compare %i, %one {predicate = lt} : bool\n    if %c {\n"
              "      fence_proxy_async\n      yield\n    } else {\n      yield\n    }\n    yield\n  }\n") ==
        std::vector{true});
  CHECK(alike("  %w = warp_index : i64\n  for %i = %zero to %w step %one {\n    fence_proxy_async\n    yield\n  }\n") ==
        std::vector{false});
  CHECK(
      alike("  %w = warp_index : i64\n  %c = compare %w, %one {predicate = lt} : bool\n  if %c {\n"
            "    for %i = %zero to %n step %one {\n      fence_proxy_async\n      yield\n    }\n    yield\n  } else {\n"
            "    yield\n  }\n  fence_proxy_async\n") == std::vector{false, true});
}

TEST_CASE("uniformity: the elected lane runs a block alone, for any path of other partitions") {
  CHECK(alike("  elect {\n    for %i = %zero to %n step %one {\n      fence_proxy_async\n      yield\n    }\n    "
              "yield\n  }\n") == std::vector{false});
  CHECK(alike("  warp_specialize {warps = [4, 8], replicas = [1, 1], registers = [0, 0]} (%p: i64) {\n"
              "    elect {\n      fence_proxy_async\n      yield\n    }\n    yield\n  } and (%c: i64) {\n"
              "    for %i = %zero to %n step %one {\n      fence_proxy_async\n      yield\n    }\n    yield\n  }\n") ==
        std::vector{false, true});
}
