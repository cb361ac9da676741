// Compares the tokenizer with what the reference tokenizer made of the same texts.
#include "minilm/tokenizer.hpp"

#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "support/catch.hpp"

using namespace tegula::test;
using minilm::FileError;
using minilm::Tokenizer;

namespace {

std::string const few = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";

}  // namespace

TEST_CASE("minilm: texts become the tokens of the reference tokenizer", "[N22]") {
  std::ifstream input(std::string(TEGULA_TEST_DIR) + "/minilm/data/tokens.json");
  nlohmann::json const all = nlohmann::json::parse(input);
  std::string lines;
  for (auto const& token : all.at("tokens")) lines += token.get<std::string>() + "\n";
  Tokenizer const tokenizer("recorded", lines);
  REQUIRE(all.at("cases").size() > 60);
  for (auto const& one : all.at("cases")) {
    std::string const text = one.at(0).get<std::string>();
    INFO(text);
    CHECK(tokenizer.encode(text, 256) == one.at(1).get<std::vector<int>>());
  }
}

TEST_CASE("minilm: pieces of words, and the cut of a long text", "[N22]") {
  Tokenizer const tokenizer("made", few + "un\n##able\n##a\n,\n");
  CHECK(tokenizer.size() == 9);
  CHECK(tokenizer.encode("Un, UNABLE unaable", 16) == std::vector<int>{2, 5, 8, 5, 6, 5, 7, 6, 3});
  CHECK(tokenizer.encode("Un, UNABLE unaable", 4) == std::vector<int>{2, 5, 8, 3});
  CHECK(tokenizer.encode("unb [MASK]un", 16) == std::vector<int>{2, 1, 4, 5, 3});
}

TEST_CASE("minilm: the tokenizer refuses texts and vocabularies that are damaged", "[N22]") {
  Tokenizer const tokenizer("made", few + "a\r\n");
  CHECK(tokenizer.encode("a", 8) == std::vector<int>{2, 5, 3});
  for (char const* text :
       {"ab\xFFq", "\xE2\x82", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80"})
    CHECK_THROWS_WITH(tokenizer.encode(text, 8), ContainsSubstring("text of UTF-8 is expected"));
  CHECK_THROWS_WITH(Tokenizer("v", few + "\nb\n"), ContainsSubstring("v: line 6 is empty; fetch the file again"));
  CHECK_THROWS_WITH(Tokenizer("v", few + "b\nb\n"), ContainsSubstring("v: line 7, b, stands there twice"));
  CHECK_THROWS_WITH(Tokenizer("v", few + "\xFF\n"), ContainsSubstring("v: line 6: text: byte 0 of it is 0xff"));
  CHECK_THROWS_WITH(Tokenizer("v", "[PAD]\n[UNK]\n"), ContainsSubstring("v: there is no token [CLS]"));
  CHECK_THROWS_AS(Tokenizer("no/such/vocab.txt"), FileError);
}
