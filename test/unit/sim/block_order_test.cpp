// Tests the order that atomics make between blocks, in the simulator of tiles: any order of blocks, waits, and errors.
#include "sim/block_order.hpp"
#include "sim/compare.hpp"
#include "sim_support.hpp"

using namespace tegula;
using test::ContainsSubstring;
using test::HostTensor;
using test::module_of;

namespace {

/// The last block sums what all have left; $ORDER is that of the count.
std::string total(std::string const& order, std::string const& scope = "device") {
  std::string text =
      R"(kernel @total(%x: in tensor<?xf32>, %p: inout tensor<?xf32>, %n: inout tensor<?xi32>, %y: out tensor<?xf32>) {
  %blocks = extent %p : i64
  grid %blocks
  %b = block_index : i64
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %one = constant {value = 1 : i32} : i32
  %v = load %x, %b : tile<1xf32>
  store %p, %v, %b
  %turn = atomic_update %n, %one, %0 {order = $ORDER, scope = $SCOPE} : i32
  %came = cast %turn : i64
  %end = sub %blocks, %1 : i64
  %last = compare %came, %end {predicate = eq} : bool
  if %last {
    %all = load %p, %0 : tile<32xf32>
    %sum = reduce %all : tile<1xf32>
    store %y, %sum, %0
    yield
  } else {
    yield
  }
  return
})";
  text.replace(text.find("$ORDER"), 6, order);
  text.replace(text.find("$SCOPE"), 6, scope);
  return text;
}

/// Each block waits for the flag of the one before, whatever their order.
constexpr auto chain = R"(kernel @chain(%y: inout tensor<?xi32>, %f: inout tensor<?xi32>) {
  %blocks = extent %f : i64
  grid %blocks
  %b = block_index : i64
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %none = constant {value = 0 : i32} : i32
  %one = constant {value = 1 : i32} : i32
  %before = sub %b, %1 : i64
  %follows = compare %b, %0 {predicate = gt} : bool
  if %follows {
    %seen = repeat carry (%old = %none) : i32 {
      %now = atomic_update %f, %none, %before {order = acquire} : i32 loc("chain.cpp":7)
      %again = compare %now, %none {predicate = eq} : bool
      yield %again, %now
    }
    yield
  } else {
    yield
  }
  %t = load %y, %before {pad = 0 : i32} : i32
  %u = add %t, %one : i32
  %v = splat %u : tile<1xi32>
  store %y, %v, %b
  %raised = atomic_update %f, %one, %b {combine = exchange, order = release} : i32
  return
})";

}  // namespace

TEST_CASE("the last block's sum is right in 100 orders of blocks", "[sim][F29]") {
  auto const module = module_of(total("acq_rel"));
  std::mt19937_64 random(1);
  HostTensor x(Element::f32, {24}), p(Element::f32, {24}), n(Element::i32, {1}), y(Element::f32, {1});
  x.fill(random), n.fill(random, 0, 0);
  auto const outcome = sim::explore_orders(module.kernel(), {x.view(), p.view(), n.view(), y.view()}, 100);
  INFO(outcome.text << outcome.first_report.str());
  CHECK(outcome.agree());
  CHECK(outcome.first_report.clean());
  double sum = 0;
  for (int i = 0; i < 24; ++i) sum += x(i);
  CHECK(std::abs(y(0) - sum) < 1e-5);
}

TEST_CASE("an order or a scope that does not reach is a race", "[sim][F29]") {
  auto const report = [](std::string const& order, std::string const& scope) {
    auto const module = module_of(total(order, scope));
    HostTensor x(Element::f32, {8}), p(Element::f32, {8}), n(Element::i32, {1}), y(Element::f32, {1});
    std::mt19937_64 random(2);
    x.fill(random), n.fill(random, 0, 0);
    return sim::run(module.kernel(), {x.view(), p.view(), n.view(), y.view()}).str();
  };
  CHECK(report("acq_rel", "system").empty());
  for (char const* order : {"relaxed", "acquire", "release"})
    CHECK_THAT(report(order, "device"), ContainsSubstring("loads element [0] of %p"));
  CHECK_THAT(report("acq_rel", "block"), ContainsSubstring("changes element [0] of %n"));
}

TEST_CASE("blocks that wait let others run, in any order of blocks", "[sim][F29]") {
  auto const module = module_of(chain);
  HostTensor y(Element::i32, {12}), f(Element::i32, {12});
  std::mt19937_64 random(3);
  f.fill(random, 0, 0);
  auto const outcome = sim::explore_orders(module.kernel(), {y.view(), f.view()}, 30);
  INFO(outcome.text << outcome.first_report.str());
  CHECK(outcome.agree());
  CHECK(outcome.first_report.clean());
  CHECK(outcome.first_report.blocks == 12);
  for (int i = 0; i < 12; ++i) CHECK(y(i) == i + 1);
}

TEST_CASE("blocks that wait for a value that none writes end in an error", "[sim]") {
  std::string text = chain;
  text.replace(text.find("%raised = atomic_update %f, %one"), 32, "%raised = atomic_update %f, %none");
  auto const module = module_of(text);
  HostTensor y(Element::i32, {4}), f(Element::i32, {4});
  std::mt19937_64 random(4);
  f.fill(random, 0, 0);
  CHECK_THROWS_WITH(sim::run(module.kernel(), {y.view(), f.view()}),
                    ContainsSubstring("waits at an atomic that acquires, for a value that no block writes"));
}
