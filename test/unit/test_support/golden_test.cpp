#include "support/golden.hpp"

#include "support/catch.hpp"

#include <cstdio>

using namespace tegula::test;

TEST_CASE("a missing golden file fails and says how to write it") {
  auto const result = match_golden("no_such_folder/none.txt", "text");
  CHECK_FALSE(result.ok);
  CHECK_THAT(result.message, ContainsSubstring("--update-golden"));
}
