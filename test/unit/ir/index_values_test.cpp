// Tests which integers count as indices.
#include "ir/values/index_values.hpp"

#include "ir/core/walk.hpp"
#include "ir/text/text.hpp"
#include "support/catch.hpp"
#include "support/module.hpp"

using namespace tegula;

namespace {

/// Names the values of the last function that are indices, in the order of its text.
std::string indices_of(std::string const& text) {
  auto const module = test::module_of(text);
  ir::Function& function = *module.functions().back();
  auto const found = ir::index_values(function);
  std::string names;
  ir::walk_pre_order(function.body(), [&](ir::Op& op) {
    for (int b = 0; b < op.block_count(); ++b)
      for (int i = 0; i < op.block(b).argument_count(); ++i)
        if (found.contains(op.block(b).argument(i))) names += op.block(b).argument(i)->name() + " ";
    for (int i = 0; i < op.result_count(); ++i)
      if (found.contains(op.result(i))) names += op.result(i)->name() + " ";
    return ir::Walk::advance;
  });
  return names;
}

}  // namespace

TEST_CASE("indices: offsets, bounds of loops and slices, and what they follow from", "[ir]") {
  CHECK(indices_of(R"(kernel @k(%n: i64, %c: out tensor<?xi64>, %x: in tensor<?xi64>) {
  %zero = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %end = mul %n, %n : i64
  %from = add %n, %one : i64
  %s = slice %x, %from, %n : tensor<?xi64>
  %hash = sub %n, %one : i64
  %small = compare %hash, %one {predicate = lt} : bool
  %either = select %small, %from, %end : i64
  for %i = %zero to %either step %one {
    %at = add %i, %one : i64
    %v = load %s, %at : tile<1xi64>
    %data = splat %hash : tile<1xi64>
    %sum = add %v, %data : tile<1xi64>
    store %c, %sum, %i
    yield
  }
  return
})") == "zero one end from either i at ");
}

TEST_CASE("indices: each carried value, each result of a branch and each argument of a call by itself", "[ir]") {
  CHECK(indices_of(R"(
function @f(%a: i64, %b: i64) -> (i64, i64) noinline {
  %c = add %a, %a : i64
  %d = add %b, %b : i64
  return %c, %d
}
kernel @k(%n: i64, %c: out tensor<?xi64>) {
  %zero = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %two = constant {value = 2 : i64} : i64
  %three = constant {value = 3 : i64} : i64
  %r0, %r1 = for %i = %zero to %two step %one carry (%at = %zero, %hash = %three) : i64, i64 {
    %next = add %at, %one : i64
    %square = mul %hash, %hash : i64
    yield %next, %square
  }
  %yes = compare %r1, %one {predicate = lt} : bool
  %q0, %q1 = if %yes : i64, i64 {
    %x = add %r0, %one : i64
    %y = add %r1, %three : i64
    yield %x, %y
  } else {
    yield %r0, %r1
  }
  %p0, %p1 = call %q0, %q1 {callee = @f} : i64, i64
  %v = splat %p1 : tile<1xi64>
  store %c, %v, %p0
  return
})") == "zero one two at r0 next q0 x p0 ");
}
