// Tests grids, orders of blocks, and the simulator's reports.
#include <fmt/format.h>

#include "sim/compare.hpp"
#include "sim_support.hpp"

using namespace tegula;
using test::ContainsSubstring;
using test::HostTensor;
using test::module_of;

namespace {

constexpr auto vadd = R"(kernel @vadd(%a: in tensor<?xf32>, %b: in tensor<?xf32>, %c: out tensor<?xf32>) {
  %0 = extent %c : i64
  %1 = constant {value = 64 : i64} : i64
  %2 = ceil_div %0, %1 : i64
  grid %2
  %3 = block_index : i64
  %4 = mul %3, %1 : i64
  %5 = load %a, %4 : tile<64xf32> loc("add.cpp":7)
  %6 = load %b, %4 : tile<64xf32> loc("add.cpp":7)
  %7 = add %5, %6 : tile<64xf32> loc("add.cpp":7)
  store %c, %7, %4 loc("add.cpp":8)
  return
})";

/// Stores the number of each block over the whole of %c.
constexpr auto last_block_wins = R"(kernel @last_block_wins(%c: out tensor<?xi64>, %n: i64) {
  grid %n
  %0 = constant {value = 0 : i64} : i64
  %1 = block_index : i64
  %2 = splat %1 : tile<4xi64>
  store %c, %2, %0 loc("race.cpp":12)
  return
})";

/// Copies the element to the left of each block's place: a load of another block's store.
constexpr auto shift = R"(kernel @shift(%x: inout tensor<?xf32>) {
  %0 = extent %x : i64
  %1 = constant {value = 1 : i64} : i64
  grid %0
  %2 = block_index : i64
  %3 = sub %2, %1 : i64
  %4 = load %x, %3 : tile<1xf32> loc("shift.cpp":3)
  store %x, %4, %2 loc("shift.cpp":4)
  return
})";

}  // namespace

TEST_CASE("100 seeded orders of blocks agree for a kernel without races", "[sim][F28]") {
  auto const module = module_of(vadd);
  std::mt19937_64 random(1);
  HostTensor a(Element::f32, {1000}), b(Element::f32, {1000}), c(Element::f32, {1000});
  a.fill(random), b.fill(random);
  auto const outcome = sim::explore_orders(module.kernel(), {a.view(), b.view(), c.view()}, 100);
  INFO(outcome.text);
  INFO(outcome.first_report.str());
  CHECK(outcome.orders == 100);
  CHECK(outcome.agree());
  CHECK(outcome.first_report.clean());
  CHECK(outcome.first_report.blocks == 16);
  for (int i = 0; i < 1000; ++i)
    CHECK(c(i) == static_cast<double>(static_cast<float>(a(i)) + static_cast<float>(b(i))));
}

TEST_CASE("a kernel that depends on the order of blocks is caught and the seed printed", "[sim][F28]") {
  auto const module = module_of(last_block_wins);
  HostTensor c(Element::i64, {4});
  sim::Options quiet;
  quiet.check_races = false;
  auto const outcome =
      sim::explore_orders(module.kernel(), {c.view(), ir::make_constant(Element::i64, std::int64_t{5})}, 100, quiet);
  REQUIRE_FALSE(outcome.agree());
  CHECK_THAT(outcome.text,
             ContainsSubstring(fmt::format("element [0] of %c depends on the order of blocks: schedule::seed({})",
                                           *outcome.differing_seed)));
  CHECK(c.integer(0) == 4);  // as after the ascending order
  // The seed replays it.
  quiet.schedule = sim::schedule::seed(*outcome.differing_seed);
  auto const replay = [&] {
    sim::run(module.kernel(), {c.view(), ir::make_constant(Element::i64, std::int64_t{5})}, quiet);
    return c.integer(0);
  };
  std::int64_t const first = replay();
  CHECK(first != 4);
  CHECK(replay() == first);
}

TEST_CASE("two blocks that store to one element are reported with both lines, under any order", "[sim]") {
  auto const module = module_of(last_block_wins);
  for (auto const order : {sim::schedule::ascending, sim::schedule::descending, sim::schedule::seed(3)}) {
    HostTensor c(Element::i64, {4});
    sim::Options options;
    options.schedule = order;
    auto const outcome =
        sim::run(module.kernel(), {c.view(), ir::make_constant(Element::i64, std::int64_t{3})}, options);
    REQUIRE(outcome.reports.size() == 1);
    auto const& report = outcome.reports[0];
    CHECK(report.kind == sim::ReportKind::write_race);
    CHECK(report.where.line() == 12);
    CHECK(report.other.line() == 12);
    CHECK(report.block != report.other_block);
    CHECK(report.times == 8);
    CHECK_THAT(outcome.str(), ContainsSubstring("race.cpp:12") && ContainsSubstring("element [0] of %c") &&
                                  ContainsSubstring("store %c") && ContainsSubstring(to_string(order)));
  }
}

TEST_CASE("a load of an element that another block stores is reported in either order", "[sim]") {
  auto const module = module_of(shift);
  for (auto const order : {sim::schedule::ascending, sim::schedule::descending}) {
    HostTensor x(Element::f32, {5});
    for (int i = 0; i < 5; ++i) x.set_number(i, i);
    sim::Options options;
    options.schedule = order;
    auto const outcome = sim::run(module.kernel(), {x.view()}, options);
    REQUIRE(outcome.reports.size() == 1);
    CHECK(outcome.reports[0].kind == sim::ReportKind::read_write_race);
    CHECK(outcome.reports[0].where.line() + outcome.reports[0].other.line() == 7);
  }
}

TEST_CASE("an in tensor that overlaps an out tensor races too; disjoint views of one array do not", "[sim]") {
  auto const module = module_of(vadd);
  HostTensor a(Element::f32, {256}), b(Element::f32, {128});
  auto part = [&](std::int64_t first) {
    auto view = a.view();
    view.data = static_cast<float*>(view.data) + first;
    view.extents = {128};
    return view;
  };
  CHECK(sim::run(module.kernel(), {part(0), b.view(), part(128)}).clean());
  auto const outcome = sim::run(module.kernel(), {part(0), b.view(), part(64)});
  REQUIRE(outcome.reports.size() == 1);
  CHECK(outcome.reports[0].kind == sim::ReportKind::read_write_race);
}

TEST_CASE("stores of one block to one element are in order and do not race", "[sim]") {
  auto const module = module_of(R"(kernel @twice(%c: inout tensor<?xi64>) {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : tile<4xi64>
  store %c, %1, %0
  %2 = load %c, %0 : tile<4xi64>
  %3 = add %2, %2 : tile<4xi64>
  store %c, %3, %0
  return
})");
  HostTensor c(Element::i64, {4});
  CHECK(sim::run(module.kernel(), {c.view()}).clean());
  CHECK(c.integer(3) == 2);
}

TEST_CASE("unwritten elements of an out tensor are reported on request", "[sim]") {
  auto const module = module_of(vadd);
  HostTensor a(Element::f32, {100}), b(Element::f32, {100}), c(Element::f32, {100});
  sim::Options options;
  options.report_unwritten = true;
  CHECK(sim::run(module.kernel(), {a.view(), b.view(), c.view()}, options).clean());
  options.grid = sim::Grid{1, 1, 1};  // one block of two
  auto const outcome = sim::run(module.kernel(), {a.view(), b.view(), c.view()}, options);
  REQUIRE(outcome.reports.size() == 1);
  CHECK(outcome.reports[0].kind == sim::ReportKind::unwritten);
  CHECK(outcome.reports[0].times == 36);
  CHECK_THAT(outcome.str(), ContainsSubstring("element [64] of %c is never written"));
}

TEST_CASE("a view beyond its memory is reported, not accessed", "[sim]") {
  auto const module = module_of(vadd);
  HostTensor a(Element::f32, {64}), b(Element::f32, {64}), c(Element::f32, {64});
  auto view = a.view();
  view.strides = {1000000};
  auto const outcome = sim::run(module.kernel(), {view, b.view(), c.view()});
  REQUIRE(outcome.reports.size() == 1);
  CHECK(outcome.reports[0].kind == sim::ReportKind::outside_memory);
  CHECK(outcome.reports[0].where.line() == 7);
  CHECK(outcome.reports[0].times == 63);
  CHECK_THAT(outcome.str(),
             ContainsSubstring("element [1] of %a lies outside the view's memory (4000000 bytes from its start"));
}

TEST_CASE("an index that wraps is reported with its line", "[sim]") {
  auto const module = module_of(R"(kernel @k(%n: i64, %c: out tensor<?xi64>) {
  %0 = mul %n, %n : i64 loc("index.cpp":5)
  %1 = splat %0 : tile<1xi64>
  store %c, %1, %0
  return
})");
  HostTensor c(Element::i64, {4});
  auto const outcome = sim::run(module.kernel(), {ir::make_constant(Element::i64, std::int64_t{1} << 33), c.view()});
  REQUIRE(outcome.reports.size() == 1);
  CHECK(outcome.reports[0].kind == sim::ReportKind::index_overflow);
  CHECK(outcome.reports[0].where.line() == 5);
}

TEST_CASE("data that wraps is not reported", "[sim]") {
  auto const module = module_of(R"(kernel @k(%n: i64, %c: out tensor<?xi64>) {
  %zero = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %r0, %r1 = for %i = %zero to %one step %one carry (%at = %zero, %hash = %n) : i64, i64 {
    %next = add %at, %one : i64
    %square = mul %hash, %n : i64
    yield %next, %square
  }
  %v = splat %r1 : tile<1xi64>
  store %c, %v, %zero
  store %c, %v, %r0
  return
})");
  HostTensor c(Element::i64, {2});
  auto const outcome =
      sim::run(module.kernel(), {ir::make_constant(Element::i64, (std::int64_t{1} << 33) + 1), c.view()});
  INFO(outcome.str());
  CHECK(outcome.clean());
  CHECK(c(0) == static_cast<double>(std::int64_t{1} << 34) + 1);
}

TEST_CASE("a loop whose step is not positive is reported and skipped", "[sim]") {
  auto const module = module_of(R"(kernel @k(%step: i64, %c: out tensor<?xi64>) {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 9 : i64} : i64
  %r = for %i = %0 to %1 step %step carry (%a = %0) : i64 {
    yield %i
  }
  %2 = splat %r : tile<1xi64>
  store %c, %2, %0
  return
})");
  HostTensor c(Element::i64, {1});
  auto const outcome = sim::run(module.kernel(), {ir::make_constant(Element::i64, std::int64_t{0}), c.view()});
  REQUIRE(outcome.reports.size() == 1);
  CHECK(outcome.reports[0].kind == sim::ReportKind::bad_step);
  CHECK(c.integer(0) == 0);
}

TEST_CASE("arguments that do not fit are refused by name", "[sim]") {
  auto const module = module_of(vadd);
  HostTensor a(Element::f32, {64}), h(Element::f16, {64}), m(Element::f32, {8, 8});
  CHECK_THROWS_WITH(sim::run(module.kernel(), {a.view(), a.view()}),
                    ContainsSubstring("vadd: 2 arguments but takes 3"));
  CHECK_THROWS_WITH(sim::run(module.kernel(), {a.view(), h.view(), a.view()}),
                    ContainsSubstring("argument 2 is tensor<?xf16> but the parameter is tensor<?xf32>"));
  CHECK_THROWS_WITH(sim::run(module.kernel(), {m.view(), a.view(), a.view()}),
                    ContainsSubstring("argument 1 is tensor<?x?xf32>"));
  CHECK_THROWS_WITH(sim::run(module.kernel(), {ir::make_constant(Element::f32, 1.0), a.view(), a.view()}),
                    ContainsSubstring("argument 1 is f32"));
  sim::Tensor negative = a.view();
  negative.extents[0] = -64;
  CHECK_THROWS_WITH(
      sim::run(module.kernel(), {negative, a.view(), a.view()}),
      ContainsSubstring("vadd: argument 1: extent -64 of axis 0 is negative; give 0 where there is nothing"));
  sim::Options options;
  options.grid = sim::Grid{1, -2, 1};
  CHECK_THROWS_WITH(sim::run(module.kernel(), {a.view(), a.view(), a.view()}, options),
                    ContainsSubstring("vadd: grid: extent -2 of axis 1 is negative; give 0 or more"));
}

TEST_CASE("an empty grid runs no block", "[sim]") {
  auto const module = module_of(vadd);
  HostTensor a(Element::f32, {0});
  auto const outcome = sim::run(module.kernel(), {a.view(), a.view(), a.view()});
  CHECK(outcome.blocks == 0);
  CHECK(outcome.clean());
}

TEST_CASE("float64 precision keeps digits that f32 and f16 lose", "[sim]") {
  auto const module = module_of(R"(kernel @k(%x: in tensor<?xf64>, %y: out tensor<?xf64>) {
  %0 = constant {value = 0 : i64} : i64
  %1 = load %x, %0 : tile<8xf64>
  %2 = cast %1 : tile<8xf16>
  %3 = exp %2 : tile<8xf16>
  %4 = cast %3 : tile<8xf64>
  store %y, %4, %0
  return
})");
  HostTensor x(Element::f64, {8}), y(Element::f64, {8});
  for (int i = 0; i < 8; ++i) x.set_number(i, 0.1 * i);
  sim::Options options;
  options.precision = sim::Precision::float64;
  REQUIRE(sim::run(module.kernel(), {x.view(), y.view()}, options).clean());
  for (int i = 0; i < 8; ++i) CHECK(y(i) == std::exp(0.1 * i));
  REQUIRE(sim::run(module.kernel(), {x.view(), y.view()}).clean());
  CHECK(y(7) != std::exp(0.7));
}

TEST_CASE("launch programs evaluate every operator", "[sim]") {
  HostTensor x(Element::f32, {10, 7});
  sim::Arguments const arguments = {x.view(), ir::make_constant(Element::i32, std::int64_t{-3})};
  LaunchProgram program;
  auto const step = [&](LaunchOp op, std::int32_t a = 0, std::int32_t b = 0, std::int32_t c = 0,
                        std::int64_t value = 0) {
    program.steps.push_back({op, a, b, c, value});
  };
  step(LaunchOp::extent, 0, 1);          // 0: 7
  step(LaunchOp::scalar, 1);             // 1: -3
  step(LaunchOp::constant, 0, 0, 0, 2);  // 2: 2
  step(LaunchOp::constant, 0, 0, 0, 0);  // 3: 0
  for (LaunchOp op : {LaunchOp::add, LaunchOp::sub, LaunchOp::mul, LaunchOp::div, LaunchOp::rem, LaunchOp::min,
                      LaunchOp::max, LaunchOp::ceil_div, LaunchOp::bit_and, LaunchOp::bit_or, LaunchOp::bit_xor,
                      LaunchOp::eq, LaunchOp::ne, LaunchOp::lt, LaunchOp::le, LaunchOp::gt, LaunchOp::ge})
    step(op, 0, 2);
  step(LaunchOp::div, 0, 3);
  step(LaunchOp::rem, 1, 3);
  step(LaunchOp::select, 3, 0, 1);
  step(LaunchOp::multiprocessors);
  CHECK(sim::evaluate(program, arguments) ==
        std::vector<std::int64_t>{7, -3, 2, 0, 9, 5, 14, 3, 1, 2, 7, 4, 2, 7, 5, 0, 1, 0, 0, 1, 1, 0, -3, -3, 4});
}

TEST_CASE("races of tensors that overlap with other elements are found by their bytes", "[sim][F28]") {
  // Block 0 stores one half of a number, block 1 stores or loads the number. Its address is the other half's.
  constexpr auto store_all = "%b = constant {value = 3 : i64} : tile<1xi64>\n    store %y, %b, %at";
  constexpr auto load_all = "%b = load %y, %at : tile<1xi64>\n    store %z, %b, %zero";
  struct Case {
    char const* line;
    bool own;  ///< the numbers begin after the halves
    bool races;
  };
  for (Case const& each : {Case{store_all, false, true}, {load_all, false, true}, {store_all, true, false}}) {
    auto const module =
        module_of(R"(kernel @k(%x: inout tensor<?xi32>, %y: inout tensor<?xi64>, %z: out tensor<?xi64>) {
  %2 = constant {value = 2 : i64} : i64
  grid %2
  %block = block_index : i64
  %at = constant {value = 1 : i64} : i64
  %half = constant {value = 3 : i64} : i64
  %zero = constant {value = 0 : i64} : i64
  %first = compare %block, %at {predicate = lt} : bool
  if %first {
    %a = constant {value = 7 : i32} : tile<1xi32>
    store %x, %a, %half
    yield
  } else {
    )" + std::string(each.line) +
                  R"(
    yield
  }
  return
})");
    INFO(each.line);
    HostTensor numbers(Element::i64, {8}), z(Element::i64, {1});
    sim::Tensor const all = numbers.view();
    sim::Tensor y = all, x = all;
    x.element = Element::i32;
    x.extents = {4};
    y.extents = {4};
    if (each.own) y.data = static_cast<std::byte*>(all.data) + 32;
    sim::Options options;
    options.report_unwritten = false;
    auto const result = test::simulate(module, {x, y, z.view()}, options);
    INFO(result.str());
    CHECK(result.clean() == !each.races);
    if (each.races) CHECK_THAT(result.str(), ContainsSubstring("which block (0, 0, 0) stores to too"));
  }
}

TEST_CASE("compare finds the first difference beyond the tolerance", "[sim]") {
  HostTensor a(Element::f32, {2, 3}), b = HostTensor::transposed(Element::f32, {2, 3});
  for (int i = 0; i < 6; ++i) a.set_number(i, i), b.set_number(i, i);
  CHECK(sim::compare(a.view(), b.view()).none());
  b.set_number(4, 4 + 0x1p-20);
  b.set_number(5, 6);
  auto const difference = sim::compare(a.view(), b.view());
  CHECK(difference.elements == 2);
  CHECK_THAT(difference.text, ContainsSubstring("element [1, 1] is 4 : f32"));
  CHECK(sim::compare(a.view(), b.view(), {2, 0}).elements == 1);
  CHECK(sim::compare(a.view(), b.view(), {0, 1}).none());
  a.set_number(0, NAN), b.set_number(0, NAN), a.set_number(1, INFINITY);
  CHECK(sim::compare(a.view(), b.view(), {0, 1e9}).elements == 1);
}
