// Tests the verifier on wrong IR that no text can express.
#include "ir/verify/verifier.hpp"

#include "ir/core/builder.hpp"
#include "support/catch.hpp"
#include "tegula/ir/module.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::ir;

namespace {

struct Kernel {
  Module module;
  Function& kernel = module.add_function("k", FunctionKind::kernel);
  Builder builder{kernel.body()};
  Value* n = kernel.add_parameter(Type::index(), {}, "n");

  void end() { builder.op(ReturnOp{}, std::initializer_list<Value*>{}, {}); }
  std::string found() const { return verify(module).str(); }
};

}  // namespace

TEST_CASE("verifier: a well-formed kernel has no findings") {
  Kernel k;
  k.builder.same(AddOp{}, {k.n, k.n});
  k.end();
  CHECK(k.found().empty());
}

TEST_CASE("verifier: an operand that is defined later or elsewhere is named") {
  Kernel k;
  Value* const late = k.builder.same(NegOp{}, {k.n});
  late->set_name("late");
  Value* const early = Builder::before(*late->defining_op()).same(AddOp{}, {late, k.n});
  k.end();
  CHECK(k.found() == "error: add: operand 0 (%late) is not visible here\n");
  early->defining_op()->set_operand(0, k.n);  // before `late` dies

  Kernel other;
  Value* const foreign = other.builder.same(NegOp{}, {other.n});
  Kernel mine;
  mine.builder.same(AddOp{}, {mine.n, foreign});
  mine.end();
  CHECK_THAT(mine.found(), test::ContainsSubstring("operand 1 (a i64) is not visible here"));
  mine.kernel.body().front().set_operand(1, mine.n);  // before `foreign` dies
}

TEST_CASE("verifier: missing operands, blocks and terminators are findings, not crashes") {
  Kernel k;
  Op& sum = k.builder.op(AddOp{}, {k.n, k.n}, {Type::index()});
  sum.set_operand(1, nullptr);
  CHECK_THAT(k.found(), test::ContainsSubstring("add: operand 1 is missing"));
  CHECK_THAT(k.found(), test::ContainsSubstring("@k: a block must end with return, not add"));
  sum.set_operand(1, k.n);
  Op& branch = k.builder.op(IfOp{}, {k.builder.constant(1, Type::scalar(Element::boolean))}, {});
  k.end();
  CHECK_THAT(k.found(), test::ContainsSubstring("if: 0 blocks but has 2"));
  branch.add_block();
  branch.add_block();
  CHECK_THAT(k.found(), test::ContainsSubstring("if: a block must end with yield"));
}

TEST_CASE("verifier: what a grid reads is judged only where it is well-formed") {
  Kernel k;
  Value* const extent = k.builder.value(make_op<ExtentOp>(std::int64_t{0}), {}, Type::index());
  Value* const sum = k.builder.same(AddOp{}, {k.n, k.n});
  k.builder.op(GridOp{}, {extent, sum}, {});
  sum->defining_op()->set_operand(1, nullptr);
  k.end();
  CHECK(k.found() == "error: extent: 0 operands but takes 1\nerror: add: operand 1 is missing\n");
  sum->defining_op()->set_operand(1, k.n);
}

TEST_CASE("verifier: a loop's block must take the counter and the carried values") {
  Kernel k;
  Op& loop = k.builder.op(ForOp{}, {k.n, k.n, k.n, k.n}, {Type::index()});
  Block& body = loop.add_block();
  body.add_argument(Type::index());
  Builder(body).op(YieldOp{}, {body.argument(0)}, {});
  k.end();
  CHECK(k.found() == "error: for: its block takes (i64) but must take (i64, i64)\n");
}

TEST_CASE("verifier: types that an op cannot have are refused") {
  Kernel k;
  k.builder.value(make_op<ConstantOp>(make_constant(Element::f32, 0.0)), {}, Type::tile(Element::f32, {4096, 8192}));
  k.builder.value(make_op<ConstantOp>(make_constant(Element::f32, 0.0)), {}, Type::tile(Element::f32, {0}));
  k.builder.value(make_op<ConstantOp>(make_constant(Element::f32, 0.0)), {}, Type::tile(Element::f32, {}));
  k.end();
  auto const found = verify(k.module);
  REQUIRE(found.size() == 3);
  CHECK(found[0].text == "constant: tile<4096x8192xf32>: more than 16777216 elements");
  CHECK(found[1].text == "constant: tile<0xf32>: extents are at least 1");
  CHECK(found[2].text == "constant: tile<f32>: at least one axis is needed");
}

TEST_CASE("verifier: findings name the op's source line and stop at twenty") {
  Kernel k;
  k.builder.set_where({"user.cpp", 12});
  for (int i = 0; i < 30; ++i) k.builder.value(AddOp{}, {k.n, k.n}, Type::scalar(Element::f32));
  k.end();
  auto const found = verify(k.module);
  CHECK(found.size() == 20);
  CHECK(support::to_string(found[0]) == "user.cpp:12: error: add: gives (i64) but its results are (f32)");
}

TEST_CASE("module handle: parse, print, verify, clone") {
  std::string const text = "tegula-ir 1\n\nkernel @k(%n: i64) {\n  grid %n\n  return\n}\n";
  auto handle = ModuleHandle::parse(text);
  CHECK(handle.print() == text);
  handle.verify();
  auto const copy = handle.clone();
  handle = ModuleHandle::parse("tegula-ir 1\nkernel @k(%n: f32) {\n  require %n\n  return\n}\n");
  CHECK(copy.print() == text);
  CHECK_THROWS_AS(handle.verify(), UserError);
  CHECK_THROWS_WITH(ModuleHandle::parse("tegula-ir 1\nkernel k"), "ir text: 2:8: expected @name, found k");
}
