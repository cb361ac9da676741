#include "analysis/launch_program.hpp"

#include "analysis/effects.hpp"
#include "ir/text/text.hpp"
#include "support/catch.hpp"
#include "support/module.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("launch program: the slice of grid and requirements, each value once") {
  auto const module = unverified(
      "kernel @gemm(%A: in tensor<?x?xf32>, %C: out tensor<?x?xf32> {unit_inner}, %n: i32) {\n"
      "  %m = extent %C : i64\n"
      "  %c128 = constant {value = 128 : i64} : i64\n"
      "  %g = ceil_div %m, %c128 : i64\n"
      "  %w = cast %n : i64\n"
      "  grid %g, %w, %g\n"
      "  %k = extent %A {axis = 1} : i64\n"
      "  %ok = compare %k, %c128 {predicate = le} : bool\n"
      "  require %ok {message = \"gemm: k\"} loc(\"gemm.cpp\":7)\n"
      "  %unused = mul %m, %m : i64\n"
      "  return\n}\n");
  LaunchProgram const program = analysis::launch_program(module.kernel());
  CHECK(analysis::to_string(program) ==
        "0: extent of parameter 1, axis 0\n1: constant 128\n2: ceil_div 0, 1\n3: scalar of parameter 2\n"
        "4: extent of parameter 0, axis 1\n5: le 4, 1\ngrid #2 #3 #2\nrequire #5: gemm: k\n");
  CHECK(program.requirements[0].file == "gemm.cpp");
  CHECK(program.requirements[0].line == 7);

  auto const parameters = analysis::parameters_of(module.kernel());
  REQUIRE(parameters.size() == 3);
  CHECK(parameters[1] == ParameterInfo{ParameterKind::tensor, Direction::out, Element::f32, 2, {true, false}});
  CHECK(parameters[2] == ParameterInfo{ParameterKind::scalar, Direction::in, Element::i32, 0, {}});
}

TEST_CASE("launch program: 32-bit arithmetic is made to wrap") {
  auto const module =
      unverified("kernel @k(%n: i32) {\n  %s = mul %n, %n : i32\n  %w = cast %s : i64\n  grid %w\n  return\n}\n");
  CHECK(analysis::to_string(analysis::launch_program(module.kernel())) ==
        "0: scalar of parameter 0\n1: mul 0, 0\n2: constant 2147483648\n3: constant 4294967295\n4: add 1, 2\n5: and 4, "
        "3\n6: sub 5, 2\n"
        "grid #6 1 1\n");
}

TEST_CASE("launch program: a grid may use the number of multiprocessors, not its own extents") {
  auto const module = unverified(
      "kernel @k(%x: in tensor<?xf32>) {\n  %n = extent %x : i64\n  %p = multiprocessors : i64\n"
      "  %g = min %n, %p : i64\n  grid %g\n  return\n}\n");
  CHECK(analysis::to_string(analysis::launch_program(module.kernel())) ==
        "0: extent of parameter 0, axis 0\n1: multiprocessors\n2: min 0, 1\ngrid #2 1 1\n");
  auto const circular = unverified("kernel @k() {\n  %g = grid_extent : i64\n  grid %g\n  return\n}\n");
  CHECK_THROWS_WITH(analysis::launch_program(circular.kernel()),
                    "grid: grid_extent cannot be evaluated before the launch");
}

TEST_CASE("launch program: a value unknown before the launch is refused by name") {
  auto const module = unverified("kernel @k() {\n  %b = block_index : i64\n  grid %b loc(\"k.cpp\":3)\n  return\n}\n");
  CHECK_THROWS_WITH(analysis::launch_program(module.kernel()),
                    "grid: block_index cannot be evaluated before the launch");
}

TEST_CASE("effects: seen through blocks and calls") {
  auto const module = unverified(
      "function @reads(%t: in tensor<?xf32>, %i: i64) -> (tile<4xf32>) {\n"
      "  %v = load %t, %i : tile<4xf32>\n  return %v\n}\n"
      "function @writes(%t: inout tensor<?xf32>, %i: i64) {\n"
      "  %v = call %t, %i {callee = @reads} : tile<4xf32>\n  store %t, %v, %i\n  return\n}\n"
      "kernel @k(%t: inout tensor<?xf32>, %i: i64, %c: bool) {\n"
      "  %a = call %t, %i {callee = @reads} : tile<4xf32>\n"
      "  if %c {\n    call %t, %i {callee = @writes}\n    yield\n  } else {\n    yield\n  }\n"
      "  return\n}\n");
  std::string text;
  for (ir::Op const& op : module.kernel().body()) {
    auto const effects = analysis::effects_of(op);
    text += std::string(op.info().mnemonic) + (effects.reads ? " reads" : "") + (effects.writes ? " writes" : "") +
            (analysis::removable(op) ? " removable" : "") + "\n";
  }
  CHECK(text == "call reads removable\nif reads writes\nreturn\n");
}
