// Operands by name, and the view of loops.
#include "ir/core/loop.hpp"

#include "ir/core/walk.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "support/catch.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::ir;

namespace {

constexpr char text[] =
    "tegula-ir 1\n\n"
    "kernel @k(%o: out tensor<?xi64>, %n: i64, %c: bool) {\n"
    "  %a = add %n, %n : i64\n"
    "  %r, %s = for %i = %n to %a step %n carry (%x = %n, %y = %a) : i64, i64 {\n"
    "    %p = select %c, %x, %i : i64\n"
    "    yield %y, %p\n"
    "  }\n"
    "  %q = repeat carry (%z = %r) : i64 {\n"
    "    %m = sub %z, %n : i64\n"
    "    %l = compare %m, %s {predicate = lt} : bool\n"
    "    yield %l, %m\n"
    "  }\n"
    "  %t = splat %q : tile<4xi64>\n"
    "  store %o, %t, %a\n"
    "  return\n"
    "}\n";

struct Read {
  ParseResult parsed = parse(text);
  Function& kernel = parsed.module.kernel();

  template <class OpStruct>
  Op& find() {
    Op* found = nullptr;
    walk(kernel, [&](Op& op) {
      if (op.is<OpStruct>()) found = &op;
    });
    return *found;
  }
};

}  // namespace

TEST_CASE("operands: names give positions") {
  Read read;
  REQUIRE_FALSE(read.parsed.diagnostics.has_errors());
  Op& store = read.find<StoreOp>();
  CHECK(store.in<StoreOp>("tensor")->name() == "o");
  CHECK(store.in<StoreOp>("tile")->name() == "t");
  CHECK(store.in<StoreOp>("offsets", 0)->name() == "a");
  CHECK(store.all<StoreOp>("offsets").size() == 1);
  CHECK(store.in("tile") == store.in<StoreOp>("tile"));
  CHECK(store.all("offsets")[0]->name() == "a");
  CHECK(read.find<SplatOp>().operand()->name() == "q");
  CHECK(read.find<StoreOp>().in<StoreOp>("tile")->defined_by<SplatOp>() == &read.find<SplatOp>());
  CHECK(read.find<SplatOp>().operand()->defined_by<ForOp>() == nullptr);
  CHECK(read.kernel.parameter(0)->defined_by<ForOp>() == nullptr);
  CHECK(read.kernel.parameter(0)->uses()[0].is<StoreOp>("tensor"));
  CHECK_FALSE(read.kernel.parameter(0)->uses()[0].is<StoreOp>("tile"));
  CHECK_FALSE(read.kernel.parameter(0)->uses()[0].is<LoadOp>("tensor"));

  Op& select = read.find<SelectOp>();
  CHECK(select.lhs()->name() == "x");
  CHECK(select.rhs()->name() == "i");
  CHECK(read.find<CompareOp>().lhs()->name() == "m");
  CHECK(read.find<CompareOp>().in<BinaryDefaults>("rhs")->name() == "s");
}

TEST_CASE("operands: a name of another op is an internal error") {
  Read read;
  CHECK_THROWS_AS(read.find<StoreOp>().in<LoadOp>("tensor"), InternalError);
  CHECK_THROWS_AS(read.find<StoreOp>().in("scalar"), InternalError);
  CHECK_THROWS_AS(read.find<StoreOp>().lhs(), InternalError);
  CHECK_THROWS_AS(read.find<StoreOp>().operand(), InternalError);
}

TEST_CASE("loop: parts of a for") {
  Read read;
  Loop const loop(read.find<ForOp>());
  CHECK(loop.lower()->name() == "n");
  CHECK(loop.upper()->name() == "a");
  CHECK(loop.step()->name() == "n");
  CHECK(loop.counter()->name() == "i");
  REQUIRE(loop.count() == 2);
  CHECK(loop.init(1)->name() == "a");
  CHECK(loop.carried(1)->name() == "y");
  CHECK(loop.yielded(1)->name() == "p");
  CHECK(loop.result(1)->name() == "s");
  CHECK(loop.inits().size() == 2);
  CHECK(loop.inits()[0] == loop.init(0));
  CHECK(loop.all_yielded()[1] == loop.yielded(1));
  CHECK(loop.carry_of(*loop.carried(1)) == 1);
  CHECK(loop.carry_of(*loop.counter()) == -1);
  CHECK(loop.carry_of(*loop.lower()) == -1);
  CHECK(loop.carry_of(loop.init_use(1)) == 1);
  CHECK(loop.carry_of(loop.yield_use(0)) == 0);
  CHECK(loop.carry_of(Use{&loop.op(), 1}) == -1);
}

TEST_CASE("loop: parts of a repeat") {
  Read read;
  Loop const loop(read.find<RepeatOp>());
  REQUIRE(loop.count() == 1);
  CHECK(loop.init(0)->name() == "r");
  CHECK(loop.carried(0)->name() == "z");
  CHECK(loop.yielded(0)->name() == "m");
  CHECK(loop.result(0)->name() == "q");
  CHECK(loop.condition()->name() == "l");
  CHECK(loop.inits()[0] == loop.init(0));
  CHECK(loop.all_yielded().size() == 1);
  CHECK(loop.carry_of(*loop.carried(0)) == 0);
  CHECK(loop.carry_of(Use{&loop.yield(), 0}) == -1);
  CHECK_THROWS_AS(Loop(read.find<ForOp>()).condition(), InternalError);
  CHECK_THROWS_AS(loop.upper(), InternalError);
  CHECK_THROWS_AS(loop.counter(), InternalError);
  CHECK_THROWS_AS(Loop(read.find<StoreOp>()), InternalError);
}

TEST_CASE("loop: the for that a value counts for") {
  Read read;
  Loop const loop(read.find<ForOp>());
  REQUIRE(Loop::counted_by(*loop.counter()));
  CHECK(&Loop::counted_by(*loop.counter())->op() == &loop.op());
  CHECK_FALSE(Loop::counted_by(*loop.carried(0)));
  CHECK_FALSE(Loop::counted_by(*loop.result(0)));
  CHECK_FALSE(Loop::counted_by(*read.kernel.parameter(0)));
  CHECK_FALSE(Loop::counted_by(*Loop(read.find<RepeatOp>()).carried(0)));
}

TEST_CASE("loop: carried values are added and removed") {
  Read read;
  Loop const loop(read.find<ForOp>());
  Value* const added = loop.add_carry(loop.lower(), "w");
  loop.yield().add_operand(added);
  REQUIRE(loop.count() == 3);
  CHECK(loop.carried(2) == added);
  CHECK(loop.init(2) == loop.lower());
  CHECK_FALSE(verify(read.parsed.module).has_errors());
  loop.remove_carry(2);
  CHECK(print(read.parsed.module) == text);
}
