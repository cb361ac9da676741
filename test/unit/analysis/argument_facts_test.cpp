// Tests the facts of an argument, as text and back.
#include <random>

#include "analysis/value_facts_text.hpp"
#include "ir/text/text.hpp"
#include "support/catch.hpp"
#include "abi/tensor_facts.hpp"

using namespace tegula;
using analysis::ValueFacts;

TEST_CASE("argument facts: contiguity and alignment of a tensor go through text", "[F4]") {
  for (bool const unit_inner : {false, true})
    for (bool const aligned : {false, true}) {
      TensorFacts const facts{unit_inner, aligned};
      auto const read = parse_tensor_facts(to_string(facts));
      REQUIRE(read.has_value());
      CHECK(*read == facts);
    }
  CHECK(to_string(TensorFacts{true, true}) == "unit_inner, aligned_16");
  for (char const* const bad : {"unit_inner,", "unit_inner, ", "aligned_8", ", unit_inner", "unit_inner aligned_16"})
    CHECK_FALSE(parse_tensor_facts(bad).has_value());
}

TEST_CASE("argument facts: a parameter's description goes through the text of its function", "[F4]") {
  for (std::int64_t const multiple_of : {1, 16, 24})
    for (Direction const direction : {Direction::in, Direction::out, Direction::inout}) {
      ir::ParameterAttributes attributes;
      attributes.direction = direction;
      attributes.multiple_of = multiple_of;
      attributes.facts.aligned_16 = multiple_of == 16;
      attributes.facts.unit_inner_stride = multiple_of > 1;
      ir::Module module;
      module.add_function("k", ir::FunctionKind::kernel)
          .add_parameter(ir::Type::tensor(Element::f32, 2), attributes, "t");
      ir::ParseResult const read = ir::parse(ir::print(module));
      REQUIRE(read.ok());
      CHECK(read.module.kernel().parameter_attributes().front() == attributes);
    }
}

TEST_CASE("argument facts: divisibility, constancy and range go through text", "[F4]") {
  std::mt19937 engine(4);
  auto const random = [&] { return static_cast<std::int64_t>(engine()); };
  for (int round = 0; round < 500; ++round) {
    ValueFacts facts;
    for (auto axes = random() % 4; axes > 0; --axes)
      facts.axes.push_back({1 + random() % 256, random() % 1024, std::int64_t{1} << random() % 40});
    if (random() % 2 == 0) facts.min = -random();
    if (random() % 2 == 0) facts.max = random();
    auto const read = analysis::parse_value_facts(to_string(facts));
    REQUIRE(read.has_value());
    CHECK(*read == facts);
  }
  for (char const* const bad :
       {"", "contiguity [1]", "contiguity [1], divisibility [1, 2], constancy [1]",
        "contiguity [1], divisibility [1], constancy [1], from 0", "contiguity [1], divisibility [x], constancy [1]",
        "contiguity [1], divisibility [1], constancy [1];"})
    CHECK_FALSE(analysis::parse_value_facts(bad).has_value());
}

TEST_CASE("argument facts: facts found by the analysis read back equal", "[F4]") {
  ir::ParseResult const parsed = ir::parse(
      "tegula-ir 1\n"
      "kernel @k(%t: in tensor<?x?xf32> {multiple_of = 16}, %n: i64) {\n"
      "  %a = extent %t {axis = 1} : i64\n"
      "  %c32 = constant {value = 32 : i64} : i64\n"
      "  %m = mul %n, %c32 : i64\n"
      "  %i = iota {axis = 1} : tile<4x176xi64>\n"
      "  return\n}\n");
  REQUIRE(parsed.ok());
  analysis::AxisFacts const found(parsed.module);
  int seen = 0;
  for (ir::Op const& op : parsed.module.kernel().body()) {
    if (op.result_count() == 0) continue;
    ValueFacts const facts = found.facts(*op.result());
    auto const read = analysis::parse_value_facts(to_string(facts));
    REQUIRE(read.has_value());
    CHECK(*read == facts);
    CHECK(facts != ValueFacts());
    ++seen;
  }
  CHECK(seen == 4);
  CHECK(to_string(found.facts(*parsed.module.kernel().body().begin()->result())) ==
        "contiguity [1], divisibility [16], constancy [1], from 0 to 140737488355328");
}
