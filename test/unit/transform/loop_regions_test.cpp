// Tests the five parts of a pipelined loop, each by itself.
#include "transform/common/loop_regions.hpp"

#include "ir/core/walk.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::transform;

namespace {

/// Copies by two stages; %upper stands for the bound.
ir::Module copy_loop(std::string const& upper = "%n = add %m, %zero : i64") {
  auto parsed = ir::parse(
      "tegula-ir 1\n\n"
      "kernel @k(%x: in tensor<?xf32>, %y: out tensor<?xf32>, %m: i64) {\n"
      "  %zero = constant {value = 0 : i64} : i64\n"
      "  %one = constant {value = 1 : i64} : i64\n  " +
      upper +
      "\n  for %i = %zero to %n step %one {\n"
      "    %a = load %x, %i : tile<8xf32>\n"
      "    store %y, %a, %i\n"
      "    yield\n"
      "  }\n"
      "  return\n"
      "}\n");
  INFO(parsed.diagnostics.str());
  REQUIRE(parsed.ok());
  return std::move(parsed.module);
}

template <class OpStruct>
std::vector<ir::Op*> all(ir::Module& module) {
  std::vector<ir::Op*> found;
  ir::walk_pre_order(module.kernel(), [&](ir::Op& op) {
    if (op.is<OpStruct>()) found.push_back(&op);
    return ir::Walk::advance;
  });
  return found;
}

template <class OpStruct>
std::vector<ir::Op*> all(ir::Module& module, ir::LoopRegion region) {
  auto found = all<OpStruct>(module);
  std::erase_if(found, [&](ir::Op* op) { return op->as<OpStruct>().region != region; });
  return found;
}

/// Runs loads so many turns before stores.
std::vector<StagedOp> loads_ahead(ir::Module& module, int distance) {
  return {{all<ir::StoreOp>(module).front(), distance}, {all<ir::LoadOp>(module).front(), 0}};
}

ir::Module pipelined(int distance, Tail tail, std::string const& upper = "%n = add %m, %zero : i64") {
  ir::Module module = copy_loop(upper);
  LoopPipeline pipeline(*all<ir::ForOp>(module).front(), loads_ahead(module, distance));
  REQUIRE(pipeline.error().empty());
  pipeline.rewrite(tail);
  REQUIRE(ir::verify(module).str() == "");
  return module;
}

}  // namespace

TEST_CASE("loop regions: the ops of one lane before and after a loop are listed", "[B3][B24]") {
  ir::Module module;
  ir::Builder builder(module.add_function("f", ir::FunctionKind::kernel).body());
  for (ir::LoopRegion const region : {ir::LoopRegion::pre_prologue, ir::LoopRegion::post_epilogue})
    elected(builder, region, [](ir::Builder& inside) { inside.op(ir::FenceMbarrierInitOp{}, {}, {}); });
  auto const elects = all<ir::ElectOp>(module);
  REQUIRE(elects.size() == 2);
  CHECK(ir::print(*elects[0]).find("elect {region = pre_prologue} {") == 0);
  CHECK(ir::print(*elects[1]).find("elect {region = post_epilogue} {") == 0);
  CHECK(elects[0]->block().size() == 2);
}

TEST_CASE("loop regions: the prologue starts the first iterations, as many as the distance, each under a test",
          "[B3][B24]") {
  for (int const distance : {1, 3}) {
    ir::Module module = pipelined(distance, Tail::epilogue);
    auto const tests = all<ir::IfOp>(module, ir::LoopRegion::prologue);
    REQUIRE(tests.size() == static_cast<std::size_t>(distance));
    for (ir::Op const* test : tests) {
      CHECK(test->block(0).front().is<ir::LoadOp>());
      CHECK(test->block(0).size() == 2);
    }
  }
}

TEST_CASE("loop regions: the main loop runs both stages, the early one by the distance ahead", "[B3][B24]") {
  ir::Module module = pipelined(2, Tail::epilogue);
  auto const loops = all<ir::ForOp>(module, ir::LoopRegion::main);
  REQUIRE(loops.size() == 1);
  ir::Block const& body = loops[0]->block();
  CHECK(body.argument_count() == 3);  // the index and the tiles of the last two turns
  CHECK(body.front().is<ir::StoreOp>());
  CHECK(body.front().operand(1) == body.argument(2));
  CHECK(body.back().operand(1) == body.argument(1));
  CHECK(body.back().operand(0)->defining_op()->is<ir::LoadOp>());
}

TEST_CASE("loop regions: the epilogue ends the last iterations and does not start any", "[B3][B12][B24]") {
  ir::Module module = pipelined(2, Tail::epilogue);
  auto const turns = all<ir::IfOp>(module, ir::LoopRegion::epilogue);
  REQUIRE(turns.size() == 2);
  for (ir::Op const* turn : turns)
    for (ir::Op const& op : turn->block(0)) CHECK_FALSE(op.is<ir::LoadOp>());
  CHECK(all<ir::LoadOp>(module).size() == 3);
  CHECK(all<ir::StoreOp>(module).size() == 3);
}

TEST_CASE("loop regions: without an epilogue the main loop runs to the end and its early stage is under a test",
          "[B13][B24]") {
  ir::Module module = pipelined(2, Tail::predicated);
  REQUIRE(all<ir::ForOp>(module).size() == 1);
  CHECK(all<ir::ForOp>(module)[0]->operand(1)->name() == "n");
  CHECK(all<ir::StoreOp>(module).size() == 1);
  REQUIRE(all<ir::LoadOp>(module).size() == 3);
  CHECK(all<ir::LoadOp>(module)[2]->parent_op()->is<ir::IfOp>());
}

TEST_CASE("loop regions: a trip count that is known to suffice does not need tests", "[B24]") {
  ir::Module const known = pipelined(2, Tail::epilogue, "%n = constant {value = 2 : i64} : i64");
  CHECK(ir::print(known).find("if ") == std::string::npos);
  ir::Module const shorter = pipelined(2, Tail::epilogue, "%n = constant {value = 1 : i64} : i64");
  CHECK(ir::print(shorter).find("if ") != std::string::npos);
}

TEST_CASE("loop regions: stages that need a later value are refused with the reason", "[B24]") {
  ir::Module module = copy_loop();
  ir::Op *const load = all<ir::LoadOp>(module).front(), *const store = all<ir::StoreOp>(module).front();
  ir::Op& loop = *all<ir::ForOp>(module).front();
  CHECK(LoopPipeline(loop, {{load, 1}, {store, 0}}).error() == "store of stage 0 reads %a of stage 1");
  CHECK(LoopPipeline(loop, {{load, 0}}).error() == "store has effects but no stage");
}
