// Tests functions that one module declares and another defines.
#include "ir/module/link.hpp"

#include "ir/core/equal.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "support/catch.hpp"
#include "support/module.hpp"

using namespace tegula;
using namespace tegula::test;
using test::ContainsSubstring;

namespace {

std::string const kernel =
    "kernel @k(%x: in tensor<?xf32>, %y: out tensor<?xf32>) {\n"
    "  %o = constant {value = 0 : i64} : i64\n"
    "  %v = load %x, %o : tile<64xf32>\n"
    "  %w = call %v {callee = @outer} : tile<64xf32>\n"
    "  store %y, %w, %o\n"
    "  return\n}\n";
std::string const declared = "function @outer(%v: tile<64xf32>) -> (tile<64xf32>) noinline\n" + kernel;
std::string const inner =
    "function @inner(%v: tile<64xf32>) -> (tile<64xf32>) {\n  %w = add %v, %v : tile<64xf32>\n  return %w\n}\n";
std::string const library = inner +
                            "function @outer(%v: tile<64xf32>) -> (tile<64xf32>) noinline {\n"
                            "  %w = call %v {callee = @inner} : tile<64xf32>\n  return %w\n}\n"
                            "function @other() {\n  return\n}\n";

}  // namespace

TEST_CASE("link: a declaration prints, reads back and is reported as undefined", "[F9]") {
  ir::Module const module = module_of(declared);
  CHECK(ir::undefined_functions(module) == "@outer");
  ir::ParseResult const again = ir::parse(ir::print(module));
  REQUIRE(again.ok());
  CHECK(ir::equal(again.module, module));
  CHECK(ir::print(again.module) == ir::print(module));
}

TEST_CASE("link: a library's body replaces the declaration, with only the functions that it calls", "[F9]") {
  ir::Module module = module_of(declared);
  support::Diagnostics const found = ir::link(module, module_of(library));
  INFO(found.str());
  REQUIRE(found.empty());
  CHECK(ir::verify(module).empty());
  CHECK(ir::undefined_functions(module).empty());
  CHECK(module.functions().size() == 3);
  CHECK(module.find("other") == nullptr);
  CHECK_FALSE(ir::is_declaration(*module.find("outer")));
  CHECK(module.find("inner")->body().size() == 2);
}

TEST_CASE("link: a mismatch is refused with both sides, and changes nothing", "[F9]") {
  ir::Module module = module_of(declared);
  std::string const before = ir::print(module);
  CHECK_THAT(ir::link(module, module_of(inner)).str(),
             ContainsSubstring("link: @outer is declared, but the library does not define it; it has @inner"));
  CHECK_THAT(
      ir::link(module, module_of("function @outer(%v: tile<32xf32>) -> (tile<32xf32>) {\n  return %v\n}\n")).str(),
      ContainsSubstring("link: @outer is declared as `function @outer(%0: tile<64xf32>) -> (tile<64xf32>)`, but "
                        "the library has `function @outer(%0: tile<32xf32>) -> (tile<32xf32>)`"));
  CHECK(ir::print(module) == before);

  ir::Module own = module_of("function @inner() {\n  return\n}\n" + declared);
  CHECK_THAT(ir::link(own, module_of(library)).str(),
             ContainsSubstring("@inner is another function in the library, where @outer calls it"));
}
