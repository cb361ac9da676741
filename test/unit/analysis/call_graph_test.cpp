#include "analysis/call_graph.hpp"

#include "support/module.hpp"

using namespace tegula;

namespace {

/// Makes a module of functions: "a: b c" = a calls b and c.
ir::Module graph(std::vector<std::pair<std::string, std::vector<std::string>>> const& functions) {
  std::string text = "tegula-ir 1\n";
  for (auto const& [name, callees] : functions) {
    text += (name.front() == 'k' ? "kernel @" : "function @") + name + "() {\n";
    for (std::string const& callee : callees) text += "  call {callee = @" + callee + "}\n";
    text += "  return\n}\n";
  }
  return test::module_of(text);
}

std::string names(std::vector<ir::Function*> const& functions) {
  std::string text;
  for (ir::Function const* function : functions) text += function->name() + " ";
  return text;
}

}  // namespace

TEST_CASE("call graph: callees come first in a chain, a diamond and a forest", "[F10]") {
  auto const chain = graph({{"c", {}}, {"b", {"c"}}, {"k", {"b"}}});
  CHECK(names(analysis::callees_first(chain)) == "c b k ");

  auto const diamond = graph({{"k", {"b", "c"}}, {"b", {"d"}}, {"c", {"d", "d"}}, {"d", {}}});
  CHECK(names(analysis::callees_first(diamond)) == "d b c k ");

  auto const forest = graph({{"k1", {"a"}}, {"a", {}}, {"k2", {"a"}}, {"x", {"y"}}, {"y", {}}});
  CHECK(names(analysis::callees_first(forest)) == "a k1 k2 y x ");
  CHECK(names(analysis::unreached_functions(forest)) == "x y ");
}
