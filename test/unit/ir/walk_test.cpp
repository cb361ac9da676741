// Walks and rewrites.
#include "ir/core/walk.hpp"

#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::ir;

namespace {

constexpr char text[] =
    "tegula-ir 1\n"
    "kernel @k(%o: out tensor<?xi64>, %n: i64, %c: bool) {\n"
    "  %a = add %n, %n : i64\n"
    "  for %i = %n to %a step %n {\n"
    "    %b = mul %i, %i : i64\n"
    "    if %c {\n"
    "      %d = sub %b, %i : i64\n"
    "      yield\n"
    "    } else {\n"
    "      yield\n"
    "    }\n"
    "    yield\n"
    "  }\n"
    "  return\n"
    "}\n";

struct Read {
  ParseResult parsed = parse(text);
  Function& kernel = parsed.module.kernel();
};

}  // namespace

TEST_CASE("walk: each order visits every op once") {
  Read read;
  std::string post, pre, backward;
  walk(read.kernel, [&](Op& op) { post += std::string(op.info().mnemonic) + " "; });
  walk_pre_order(read.kernel, [&](Op& op) {
    pre += std::string(op.info().mnemonic) + " ";
    return Walk::advance;
  });
  walk_backward(read.kernel.body(), [&](Op& op) {
    backward += std::string(op.info().mnemonic) + " ";
    return Walk::advance;
  });
  CHECK(post == "add mul sub yield yield if yield for return ");
  CHECK(pre == "add for mul if sub yield yield yield return ");
  CHECK(backward == "return for yield if yield yield sub mul add ");
}

TEST_CASE("walk: the visited op may be erased") {
  Read read;
  walk_backward(read.kernel.body(), [](Op& op) {
    if (op.info().has(terminator) || op.block_count() != 0) return Walk::advance;
    bool used = false;
    for (int i = 0; i < op.result_count(); ++i) used = used || !op.result(i)->unused();
    if (!used) op.erase();
    return Walk::skip;
  });
  std::string left;
  walk(read.kernel, [&](Op& op) { left += std::string(op.info().mnemonic) + " "; });
  CHECK(left == "add yield yield if yield for return ");
  walk(read.kernel, [](Op& op) {
    if (op.is<IfOp>()) op.erase();
  });
  walk_pre_order(read.kernel, [](Op& op) {
    if (!op.is<ForOp>()) return Walk::advance;
    op.erase();
    return Walk::skip;
  });
  CHECK(verify(read.parsed.module).empty());
  CHECK(read.kernel.body().size() == 2);
}

TEST_CASE("rewrite: replace passes uses and names on") {
  Read read;
  Op& sum = read.kernel.body().front();
  Value* const twice = Builder::before(sum).same(MulOp{}, {sum.operand(0), sum.operand(0)});
  replace(sum, twice);
  CHECK(twice->name() == "a");
  CHECK(twice->uses().size() == 1);
  CHECK(verify(read.parsed.module).empty());
}

TEST_CASE("rewrite: erase_with_operands erases values that only the op used") {
  Read read;
  Op& sum = read.kernel.body().front();
  Builder builder = Builder::before(sum);
  Value* const a = builder.same(NegOp{}, {sum.operand(0)});
  Value* const b = builder.same(MulOp{}, {a, a});
  Value* const c = builder.same(AddOp{}, {a, b});
  auto const before = read.kernel.body().size();
  erase_with_operands(*c->defining_op());
  CHECK(read.kernel.body().size() == before - 3);
  CHECK(verify(read.parsed.module).empty());
}

TEST_CASE("replacing a value keeps the order of its uses, for any number of uses") {
  Read read;
  Value& from = *read.kernel.parameter(1);
  Op& sum = *from.uses()[0].user;
  REQUIRE(sum.is<AddOp>());
  Value& to = *sum.result();
  Op& last = read.kernel.body().back();
  for (int i = 0; i < 20000; ++i) Builder::before(last).same(MulOp{}, {&from, &from});
  std::vector<Use> const uses = from.uses();
  std::vector<Use> expected = to.uses();
  expected.insert(expected.end(), uses.begin(), uses.end());
  from.replace_all_uses_with(to);
  CHECK(from.unused());
  CHECK(to.uses() == expected);
  CHECK(sum.operand(0) == &to);
  to.replace_all_uses_with(from);
  CHECK(from.uses() == expected);
}
