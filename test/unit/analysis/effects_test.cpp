// Tests which accesses to global memory may come later than they are written.
#include "analysis/effects.hpp"

#include "support/module.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Tells whether the access, the first op that `access` states, may come just ahead of the last store of a kernel with
/// these ops between them.
bool may_wait(std::string const& access, std::string const& between) {
  ir::Module const module = module_of(
      "kernel @k(%x: in tensor<?x?xf32>, %y: inout tensor<?x?xf32>, %z: inout tensor<?x?xf32>, %m: inout "
      "tensor<?xi32>, "
      "%n: i64) {\n"
      "  %zero = constant {value = 0 : i64} : i64\n"
      "  %one = constant {value = 1 : i64} : i64\n"
      "  %a = constant {value = 1 : f32} : tile<16x16xf32>\n"
      "  %at = constant {value = 0 : i32} : tile<16xi32>\n" +
      access + between + "  store %z, %a, %n, %zero\n  return\n}\n");
  ir::Op const* first = nullptr;
  ir::Op const* last = nullptr;
  for (ir::Op const& op : module.kernel().body()) {
    if (first == nullptr && (op.is<ir::LoadOp>() || op.is<ir::StoreOp>())) first = &op;
    if (op.is<ir::StoreOp>()) last = &op;
  }
  REQUIRE(first != nullptr);
  return analysis::may_wait_for(*first, *last);
}

std::string const load_x = "  %v = load %x, %zero, %zero : tile<16x16xf32>\n",
                  load_y = "  %v = load %y, %zero, %zero : tile<16x16xf32>\n",
                  store_y = "  store %y, %a, %zero, %zero\n";
std::string const again = "  %w = load %y, %n, %n : tile<16x16xf32>\n", other = "  store %z, %a, %zero, %n\n",
                  onto = "  store %y, %a, %n, %n\n";

/// Puts ops into a loop.
std::string loop(std::string const& body) { return "  for %i = %zero to %n step %one {\n" + body + "    yield\n  }\n"; }

}  // namespace

TEST_CASE("loads wait for what writes other memory, stores for what accesses other memory") {
  CHECK(may_wait(load_x, onto + other));  // nothing writes an in tensor
  CHECK(may_wait(load_y, ""));
  CHECK(may_wait(load_y, again + other));
  CHECK_FALSE(may_wait(load_y, onto));
  CHECK(may_wait(store_y, other));
  CHECK(may_wait(store_y, "  %w = load %x, %n, %n : tile<16x16xf32>\n"));
  CHECK_FALSE(may_wait(store_y, again));
  CHECK_FALSE(may_wait(store_y, onto));
}

TEST_CASE("what stands inside an op counts for loads and stores that wait") {
  CHECK(may_wait(load_y, loop(again)));
  CHECK(may_wait(load_y, loop(other)));
  CHECK_FALSE(may_wait(load_y, loop(onto)));
  CHECK_FALSE(may_wait(load_y, loop("  for %j = %zero to %n step %one {\n" + onto + "    yield\n  }\n")));
  CHECK_FALSE(may_wait(store_y, loop(again)));
}

TEST_CASE("atomics that order other accesses keep loads and stores in their places") {
  auto const atomic = [](std::string const& order) {
    return "  %old = atomic_update %m, %at, %at {scope = device" + order + "} : tile<16xi32>\n";
  };
  CHECK(may_wait(load_y, atomic("")));
  CHECK(may_wait(store_y, atomic("")));
  CHECK_FALSE(may_wait(load_y, atomic(", order = acq_rel")));
  CHECK_FALSE(may_wait(store_y, atomic(", order = acq_rel")));
}
