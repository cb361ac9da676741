// Tests that loops with overlapping iterations give the same results, at every trip count and for any stages of their
// ops.
#include "support/module.hpp"
#include "transform/common/loop_regions.hpp"

#include "ir/core/walk.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "support/catch.hpp"
#include "support/host_tensor.hpp"

using namespace tegula;
using namespace tegula::test;
using transform::LoopPipeline;
using transform::StagedOp;
using transform::Tail;

namespace {

/// Carries two tiles, of which one is read before it is computed again, and a counter; uses values once and twice.
constexpr char text[] =
    "tegula-ir 1\n\n"
    "kernel @k(%x: in tensor<?xi32>, %y: out tensor<?xi32>, %z: out tensor<?xi32>, %lo: i64, %n: i64, %step: i64) {\n"
    "  %zero = constant {value = 0 : i64} : i64\n"
    "  %two = constant {value = 2 : i64} : i64\n"
    "  %eight = constant {value = 8 : i64} : i64\n"
    "  %start = constant {value = 3 : i32} : tile<8xi32>\n"
    "  %sum, %last, %count = for %i = %lo to %n step %step carry (%s = %start, %l = %start, %c = %zero) : tile<8xi32>, "
    "tile<8xi32>, i64 {\n"
    "    %at = mul %i, %eight : i64\n"
    "    %a = load %x, %at : tile<8xi32>\n"
    "    %k = cast %c : i32\n"
    "    %w = splat %k : tile<8xi32>\n"
    "    %b = mul %a, %w : tile<8xi32>\n"
    "    %d = add %s, %b : tile<8xi32>\n"
    "    %e = sub %d, %a : tile<8xi32>\n"
    "    %f = mul %e, %l : tile<8xi32>\n"
    "    store %y, %f, %at\n"
    "    %more = add %c, %two : i64\n"
    "    yield %d, %e, %more\n"
    "  }\n"
    "  %k2 = cast %count : i32\n"
    "  %w2 = splat %k2 : tile<8xi32>\n"
    "  %all = add %sum, %w2 : tile<8xi32>\n"
    "  store %z, %all, %zero\n"
    "  store %z, %last, %eight\n"
    "  return\n"
    "}\n";

ir::Op& loop_of(ir::Module& module) {
  ir::Op* found = nullptr;
  ir::walk(module.kernel(), [&](ir::Op& op) { found = op.is<ir::ForOp>() ? &op : found; });
  REQUIRE(found != nullptr);
  return *found;
}

std::vector<std::int64_t> results(ir::Module const& module, std::int64_t lower, std::int64_t upper, std::int64_t step) {
  HostTensor x(Element::i32, {160}), y(Element::i32, {160}), z(Element::i32, {16});
  for (std::int64_t i = 0; i < x.count(); ++i) x.set_number(i, static_cast<double>(i % 7 - 3));
  for (HostTensor* tensor : {&y, &z})
    for (std::int64_t i = 0; i < tensor->count(); ++i) tensor->set_number(i, 77);
  auto const number = [](std::int64_t value) { return sim::Argument(ir::make_constant(Element::i64, value)); };
  sim::Options options;
  options.grid = sim::Grid{1, 1, 1};
  auto const result =
      sim::run(module.kernel(), {x.view(), y.view(), z.view(), number(lower), number(upper), number(step)}, options);
  CHECK(result.str() == "");
  std::vector<std::int64_t> values;
  for (HostTensor const* tensor : {&y, &z})
    for (std::int64_t i = 0; i < tensor->count(); ++i) values.push_back(static_cast<std::int64_t>((*tensor)(i)));
  return values;
}

/// Draws random stages: an op at or after the ops it reads; carried values in the stage of their readers. Pure ops may
/// be left out where nothing carried is computed by them.
std::vector<StagedOp> random_order(ir::Op& loop, std::mt19937_64& random) {
  std::vector<StagedOp> ops;
  std::map<ir::Op const*, int> stage;
  int carried = -1;  // of the sum and of the ops after it
  for (ir::Op& op : loop.block()) {
    bool const arithmetic = !op.result_count() || !op.result()->type().is_tile();
    if (op.is<ir::YieldOp>() || (arithmetic && !op.is<ir::StoreOp>())) continue;
    if (op.is<ir::SplatOp>() && random() % 2 == 0) continue;
    int at = 0;
    for (ir::Value* operand : op.operands())
      if (operand->defining_op() != nullptr && stage.count(operand->defining_op()) != 0)
        at = std::max(at, stage.at(operand->defining_op()));
    if (!op.is<ir::SubOp>()) at += static_cast<int>(random() % 3);
    if (op.is<ir::SubOp>()) carried = at;
    if (op.is<ir::MulOp>() && carried >= 0) at = std::max(at, carried);
    stage[&op] = at;
    ops.push_back({&op, at});
  }
  std::vector<StagedOp> order;  // any merge of the stages' own orders
  while (!ops.empty()) {
    std::size_t const pick = random() % ops.size();
    int const wanted = ops[pick].stage;
    auto const first = std::find_if(ops.begin(), ops.end(), [&](StagedOp const& op) { return op.stage == wanted; });
    order.push_back(*first);
    ops.erase(first);
  }
  return order;
}

int count(ir::Module const& module, ir::OpKind kind, ir::LoopRegion region) {
  int result = 0;
  ir::walk(module.kernel(), [&](ir::Op& op) {
    auto const* const loop = op.dyn<ir::ForOp>();
    auto const* const branch = op.dyn<ir::IfOp>();
    result += op.kind() == kind &&
              ((loop != nullptr && loop->region == region) || (branch != nullptr && branch->region == region));
  });
  return result;
}

}  // namespace

TEST_CASE("loops cut into stages at random give the same values at every trip count", "[sim][B24][F1]") {
  std::mt19937_64 random(11);
  for (int round = 0; round < 60; ++round) {
    ir::Module module = module_of(text);
    ir::Op& loop = loop_of(module);
    LoopPipeline pipeline(loop, random_order(loop, random));
    INFO(ir::print(module) << pipeline.error());
    REQUIRE(pipeline.error().empty());
    pipeline.rewrite(round % 2 == 0 ? Tail::epilogue : Tail::predicated);
    INFO(ir::print(module));
    REQUIRE(ir::verify(module).str() == "");
    CHECK(count(module, ir::OpKind::ForOp, ir::LoopRegion::main) == 1);
    std::int64_t const step = 1 + round % 3;
    for (std::int64_t trips = 0; trips <= 9; ++trips) {
      std::int64_t const lower = round % 2, upper = lower + trips * step - (trips > 0 && step > 1 ? 1 : 0);
      CHECK(results(module, lower, upper, step) == results(module_of(text), lower, upper, step));
    }
  }
}

TEST_CASE("a loop whose copies alone run ahead has an epilogue, or predicated ops instead", "[sim][B13][B24]") {
  for (Tail const tail : {Tail::epilogue, Tail::predicated}) {
    ir::Module module = module_of(text);
    ir::Op& loop = loop_of(module);
    std::vector<StagedOp> order;
    for (ir::Op& op : loop.block())
      if (op.is<ir::LoadOp>() || op.is<ir::StoreOp>()) order.push_back({&op, op.is<ir::LoadOp>() ? 0 : 2});
    LoopPipeline pipeline(loop, order);
    REQUIRE(pipeline.error().empty());
    pipeline.rewrite(tail);
    CHECK(count(module, ir::OpKind::IfOp, ir::LoopRegion::prologue) == 2);
    CHECK(count(module, ir::OpKind::ForOp, ir::LoopRegion::main) == 1);
    // The loaded tile is carried, so the two turns of the epilogue stand one after the other.
    CHECK(count(module, ir::OpKind::IfOp, ir::LoopRegion::epilogue) == (tail == Tail::epilogue ? 2 : 0));
    for (std::int64_t const trips : {0, 1, 2, 3, 5})
      CHECK(results(module, 0, trips, 1) == results(module_of(text), 0, trips, 1));
  }
}
