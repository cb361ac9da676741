// Compares the tokenizer with what the reference tokenizer made of the same texts in a small vocabulary.
#include "smollm/tokenizer.hpp"

#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "support/catch.hpp"

using namespace tegula::test;
using smollm::FileError;
using smollm::Tokenizer;

namespace {

struct Recorded {
  std::vector<std::string> tokens, merges;
  nlohmann::json cases;

  Recorded() {
    std::ifstream input(std::string(TEGULA_TEST_DIR) + "/smollm/data/tokens.json");
    nlohmann::json const all = nlohmann::json::parse(input);
    tokens = all.at("tokens").get<std::vector<std::string>>();
    merges = all.at("merges").get<std::vector<std::string>>();
    cases = all.at("cases");
  }
  [[nodiscard]] Tokenizer tokenizer() const {
    return {"recorded", {tokens.begin(), tokens.end()}, {merges.begin(), merges.end()}};
  }
};

}  // namespace

TEST_CASE("smollm: texts become the tokens of the reference tokenizer", "[N20]") {
  Recorded const recorded;
  Tokenizer const tokenizer = recorded.tokenizer();
  REQUIRE(recorded.cases.size() > 25);
  for (auto const& one : recorded.cases) {
    std::string const text = one.at(0).get<std::string>();
    INFO(text);
    std::vector<int> const found = tokenizer.encode(text);
    CHECK(found == one.at(1).get<std::vector<int>>());
    std::string back;
    for (int const token : found) back += tokenizer.decode(token);
    CHECK(back == text);
  }
}

TEST_CASE("smollm: the tokenizer refuses texts and vocabularies that are damaged") {
  Recorded recorded;
  Tokenizer const tokenizer = recorded.tokenizer();
  CHECK_THROWS_WITH(tokenizer.encode("ab\xFFq"), ContainsSubstring("text of UTF-8 is expected"));
  CHECK_THROWS_WITH(tokenizer.encode("\xE2\x82"), ContainsSubstring("text of UTF-8 is expected"));
  CHECK_THROWS_WITH(tokenizer.token("<|no|>"), ContainsSubstring("there is no token <|no|>"));
  CHECK(tokenizer.token("a") == tokenizer.encode("a").front());
  recorded.merges.push_back("a nothing");
  CHECK_THROWS_WITH(recorded.tokenizer(), ContainsSubstring("merge 600 does not join two tokens to a third"));
  recorded.merges.back() = "ab";
  CHECK_THROWS_AS(recorded.tokenizer(), FileError);
  recorded.merges.pop_back();
  recorded.tokens.push_back(recorded.tokens.front());
  CHECK_THROWS_WITH(recorded.tokenizer(), ContainsSubstring("stands there twice"));
}
