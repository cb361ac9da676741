// Checks the table of environment variables against its readers and against the page on tools and environment.
#include "support/environment.hpp"

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::support;

namespace {

EnvironmentVariable const* find(std::string const& name) {
  for (EnvironmentVariable const& variable : environment_table())
    if (variable.name == name) return &variable;
  return nullptr;
}

std::string page_on_the_environment() {
  std::ifstream file(std::string(TEGULA_TEST_DIR) + "/../lib/doc/language/compiler.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("the value that stands for an unset variable changes no option") {
  for (EnvironmentVariable const& variable : environment_table()) {
    INFO(variable.name << "=" << variable.fallback);
    Options options;
    CHECK_NOTHROW(read_variable(variable, variable.fallback, options));
    CHECK(options == Options{});
  }
}

TEST_CASE("each variable reads the words of its grammar") {
  std::regex const word("(^|[ :])([a-z0-9-]+)(?=$| \\|)");
  for (EnvironmentVariable const& variable : environment_table()) {
    std::string const grammar(variable.grammar);
    bool const lists = grammar.find('{') != std::string::npos;
    if (lists || grammar.find('|') == std::string::npos || grammar.front() == '<') continue;
    int words = 0;
    for (std::sregex_iterator at(grammar.begin(), grammar.end(), word), end; at != end; ++at, ++words) {
      Options options;
      INFO(variable.name << "=" << at->str(2));
      CHECK_NOTHROW(read_variable(variable, at->str(2), options));
    }
    INFO(variable.name << ": " << grammar);
    CHECK(words >= 2);
  }
}

TEST_CASE("the page on tools and environment shows every variable, with values that parse") {
  std::string const page = page_on_the_environment();
  if (page.empty()) TEGULA_SKIP("there are no sources beside the tests");
  std::regex const shown("`(TEGULA_[A-Z_]+)(=([^` ]+))?`");
  std::set<std::string> names;
  for (std::sregex_iterator at(page.begin(), page.end(), shown), end; at != end; ++at) {
    std::string const name = at->str(1);
    EnvironmentVariable const* const variable = find(name);
    names.insert(name);
    if (!at->str(2).empty()) {
      INFO(at->str());
      REQUIRE(variable != nullptr);
      Options options;
      CHECK_NOTHROW(read_variable(*variable, at->str(3), options));
    }
  }
  for (EnvironmentVariable const& variable : environment_table()) {
    INFO(variable.name);
    CHECK(names.count(std::string(variable.name)) == 1);
  }
}
