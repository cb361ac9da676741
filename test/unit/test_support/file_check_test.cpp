#include "support/file_check.hpp"

#include "support/catch.hpp"

using tegula::test::ContainsSubstring;
using tegula::test::file_check;

namespace {

void passes(char const* input, char const* checks) {
  auto const result = file_check(input, checks);
  INFO(result.message);
  CHECK(result.ok);
}

void fails(char const* input, char const* checks, char const* message) {
  auto const result = file_check(input, checks);
  CHECK_FALSE(result.ok);
  CHECK_THAT(result.message, ContainsSubstring(message));
}

}  // namespace

TEST_CASE("file_check: plain lines match in order, blanks by runs") {
  passes("a\n  b   c\nd", "// CHECK: a\n// CHECK: b c\n// CHECK: d");
  fails("b\na", "// CHECK: a\n// CHECK: b", "line 2: CHECK: 'b' is not found; searched from input line 2");
  fails("a", "nothing here", "no CHECK line");
  fails("a", "// CHECK:  ", "has no pattern");
}

TEST_CASE("file_check: a prefix inside a longer word is not a directive") {
  passes("a", "// MYCHECK: z\n// CHECK: a\n// CHECKED: z");
}

TEST_CASE("file_check: next and same") {
  passes("one two\nthree", "CHECK: one\nCHECK-SAME: two\nCHECK-NEXT: three");
  fails("one\n\nthree", "CHECK: one\nCHECK-NEXT: three", "2 lines further");
  fails("one three\n", "CHECK: one\nCHECK-NEXT: three", "0 lines further");
  fails("one\ntwo", "CHECK: one\nCHECK-SAME: two", "same line");
}

TEST_CASE("file_check: empty line") {
  passes("one\n\ntwo", "CHECK: one\nCHECK-EMPTY:\nCHECK-NEXT: two");
  fails("one\ntwo", "CHECK: one\nCHECK-EMPTY:", "no empty line");
}

TEST_CASE("file_check: not is checked between its neighbours and to the end") {
  passes("x\na\nb\nx", "CHECK: a\nCHECK-NOT: x\nCHECK: b");
  fails("a\nx\nb", "CHECK: a\nCHECK-NOT: x\nCHECK: b", "must not");
  fails("x\na", "CHECK-NOT: x\nCHECK: a", "must not");
  fails("a\nx", "CHECK: a\nCHECK-NOT: x", "must not");
  passes("a\ny", "CHECK: a\nCHECK-NOT: x");
}

TEST_CASE("file_check: dag lines match in any order and never the same text") {
  passes("b\na\nc", "CHECK-DAG: a\nCHECK-DAG: b\nCHECK: c");
  fails("a\nb", "CHECK-DAG: a\nCHECK-DAG: a", "is not found");
  fails("x\na\nb", "CHECK-NOT: x\nCHECK-DAG: b\nCHECK-DAG: a", "must not");
  fails("c\na\nb", "CHECK-DAG: b\nCHECK-DAG: a\nCHECK: c", "is not found");
}

TEST_CASE("file_check: labels bound the blocks between them") {
  passes("@f\n one\n@g\n two", "CHECK-LABEL: @f\nCHECK: one\nCHECK-LABEL: @g\nCHECK: two");
  fails("@f\n@g\n one", "CHECK-LABEL: @f\nCHECK: one\nCHECK-LABEL: @g", "'one' is not found");
  passes("@f\n@g\n one", "CHECK-LABEL: @f\nCHECK-NOT: one\nCHECK-LABEL: @g\nCHECK: one");
}

TEST_CASE("file_check: count") {
  passes("wait\nwait\nwait", "CHECK-COUNT-3: wait");
  fails("wait\nwait", "CHECK-COUNT-3: wait", "is not found");
  passes("wait\nwait\nend", "CHECK-COUNT-2: wait\nCHECK-NOT: wait\nCHECK: end");
  fails("wait", "CHECK-COUNT-x: wait", "malformed count");
}

TEST_CASE("file_check: expressions and captures") {
  passes("%12 = add %3", "CHECK: [[R:%[0-9]+]] = add %{{[0-9]}}");
  passes("%v = add\nuse %v", "CHECK: %[[V:[a-z]+]] = add\nCHECK: use %[[V]]");
  fails("%v = add\nuse %w", "CHECK: %[[V:[a-z]+]] = add\nCHECK: use %[[V]]", "is not found");
  passes("swap x y x", "CHECK: swap [[A:[xy]]] [[B:(x|y)]] [[A]]");
  fails("swap x y y", "CHECK: swap [[A:[xy]]] [[B:(x|y)]] [[A]]", "is not found");
  passes("a.b(c)*", "CHECK: a.b(c)*");
  fails("aXb", "CHECK: a.b", "is not found");
  fails("a", "CHECK: [[UNSET]]", "UNSET is used before it is set");
  fails("a", "CHECK: {{[}}", "malformed regular expression");
}

TEST_CASE("file_check: another prefix") {
  CHECK(file_check("ld.global", "// PTX: ld.global\n// CHECK: none", "PTX").ok);
}
