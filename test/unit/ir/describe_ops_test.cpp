// Tests that the table of ops as JSON has each op with its operands and attributes.
#include "ir/text/describe_ops.hpp"

#include <algorithm>

#include "ir/core/op_info.hpp"
#include "support/catch.hpp"
#include "support/json.hpp"

using namespace tegula;

TEST_CASE("the table of ops as JSON has every op, in the order of OpKind") {
  support::Json const ops = support::Json::parse(ir::describe_ops());
  REQUIRE(ops.size() == ir::op_kind_count);
  for (std::size_t at = 0; at < ops.size(); ++at) {
    ir::OpInfo const& info = ir::op_info(static_cast<ir::OpKind>(at));
    INFO(info.mnemonic);
    CHECK(ops[at]["mnemonic"] == info.mnemonic);
    CHECK(ops[at]["operands"].size() == info.operands.size());
    CHECK(ops[at]["effects"].size() == static_cast<std::size_t>(info.effects.count));
    CHECK(ops[at]["executors"].empty() == (info.support == ir::nowhere));
  }
}

TEST_CASE("the table of ops as JSON has the bounds, defaults and effects of an op") {
  support::Json const ops = support::Json::parse(ir::describe_ops());
  auto const copy = std::find_if(ops.begin(), ops.end(), [](auto const& op) { return op["mnemonic"] == "tma_store"; });
  REQUIRE(copy != ops.end());
  CHECK((*copy)["family"] == "memory");
  CHECK(
      (*copy)["effects"][0] ==
      support::Json{
          {"access", "reads"}, {"space", "shared"}, {"operand", "source"}, {"proxy", "async"}, {"completion", "bulk"}});
  auto const flip = std::find_if(ops.begin(), ops.end(), [](auto const& op) { return op["mnemonic"] == "flip"; });
  REQUIRE(flip != ops.end());
  CHECK((*flip)["attributes"][0] ==
        support::Json{{"name", "axis"}, {"kind", "integer"}, {"default", 0}, {"min", 0}, {"max", 7}});
}
