// Tests that the reader of safetensors files gives what a file holds, and that damaged files give an error that names
// the damage.
#include "minilm/safetensors.hpp"

#include <cstring>
#include <set>

#include "minilm/random_model.hpp"
#include "minilm/sizes.hpp"
#include "support/catch.hpp"
#include "support/written_file.hpp"

using namespace tegula::test;
using minilm::FileError;
using minilm::Safetensors;
using minilm::SafetensorsWriter;

namespace {

std::string floats(std::initializer_list<float> values) {
  std::string result;
  for (float const value : values) SafetensorsWriter::put(result, value);
  return result;
}

std::string small() {
  SafetensorsWriter file;
  file.tensor("a", {2, 2}, "F32", floats({1, 2, 3, 4})).tensor("b", {3}, "I16", std::string(6, 'q'));
  return file.tensor("none", {0, 4}, "F32", "").tensor("c", {}, "F32", floats({0.5F})).bytes();
}

/// Returns the error that these bytes give; empty: none.
std::string error_of(std::string bytes) {
  try {
    Safetensors const read("damaged", std::move(bytes));
    return "";
  } catch (FileError const& error) {
    return error.what();
  }
}
/// The same of a file with this header and four bytes of data.
std::string error_with(std::string const& header) { return error_of(SafetensorsWriter::whole(header, "1234")); }

}  // namespace

TEST_CASE("minilm: a safetensors file gives its tensors", "[N22]") {
  WrittenFile const file("minilm_test_small.safetensors", small());
  Safetensors const read(file.path());
  CHECK(read.values("a", {2, 2}) == std::vector<float>{1, 2, 3, 4});
  CHECK(read.values("c", {}) == std::vector<float>{0.5F});
  CHECK(read.values("none", {0, 4}).empty());
  CHECK(read.tensor("b").extents == std::vector<std::int64_t>{3});
  CHECK(static_cast<char>(read.tensor("b").bytes[5]) == 'q');
  CHECK_THROWS_WITH(read.tensor("d"), ContainsSubstring("tensor d is missing; give a model of BERT's form"));
  CHECK_THROWS_WITH(read.values("a", {4}), ContainsSubstring("tensor a is 2 x 2; 4 is expected"));
  CHECK_THROWS_WITH(read.values("b", {3}), ContainsSubstring("has elements I16; F32, F16 or BF16 is expected"));
}

TEST_CASE("minilm: numbers of 16 bits are converted", "[N22]") {
  SafetensorsWriter file;
  file.tensor("half", {2}, "F16", std::string("\x00\x3c\x00\xc1", 4));
  file.tensor("brain", {2}, "BF16", std::string("\x80\x3f\x20\xc0", 4));
  Safetensors const read("made", file.bytes());
  CHECK(read.values("half", {2}) == std::vector<float>{1, -2.5F});
  CHECK(read.values("brain", {2}) == std::vector<float>{1, -2.5F});
}

TEST_CASE("minilm: a safetensors file that ends early is refused at every length", "[N22]") {
  std::string const whole = small();
  REQUIRE(error_of(whole).empty());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    INFO(length);
    CHECK_THAT(error_of(whole.substr(0, length)), ContainsSubstring("damaged: "));
  }
}

TEST_CASE("minilm: any changed byte of a safetensors file gives an error or other values, and no wrong read", "[N22]") {
  std::string const whole = small();
  std::size_t const header = whole.size() - 26;  // the rest is data
  int refused = 0;
  for (std::size_t at = 0; at < header; ++at)
    for (char const value : std::string_view("\0\1\x7f\xff"
                                             "09\",}",
                                             9)) {
      std::string bytes = whole;
      bytes[at] = value;
      try {
        Safetensors const read("changed", bytes);
        std::size_t total = 0;
        for (auto const& [name, tensor] : read.tensors())
          for (std::byte const byte : tensor.bytes) total += std::to_integer<std::size_t>(byte);
        CHECK(total <= 255 * whole.size());  // all bytes could be read
      } catch (FileError const&) {
        ++refused;
      }
    }
  CHECK(refused > 1000);
}

TEST_CASE("minilm: errors of damaged safetensors files name the damage", "[N22]") {
  CHECK_THAT(error_of("short"), ContainsSubstring("has 5 bytes, less than a header; give the path of a safetensors"));
  CHECK_THAT(error_of(std::string(8, '\xff')), ContainsSubstring("its header would have 18446744073709551615 bytes"));
  CHECK_THAT(error_with("{"), ContainsSubstring("the header is not JSON at byte 2"));
  CHECK_THAT(error_with("[1]"), ContainsSubstring("the header is not an object"));
  CHECK_THAT(error_with(R"({"__metadata__":{"x":1}})"), ContainsSubstring("metadata are not texts"));
  CHECK_THAT(error_with(R"({"t":3})"), ContainsSubstring("tensor t has no fields"));
  CHECK_THAT(error_with(R"({"t":{"shape":[1],"data_offsets":[0,4]}})"), ContainsSubstring("t has no field dtype"));
  CHECK_THAT(error_with(R"({"t":{"dtype":"F32","shape":[1]}})"), ContainsSubstring("has no field data_offsets"));
  CHECK_THAT(error_with(R"({"t":{"dtype":"Q4","shape":[1],"data_offsets":[0,4]}})"),
             ContainsSubstring(R"(tensor t has elements "Q4")"));
  auto const tensor = [](std::string const& shape, std::string const& place) {
    return R"("dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + place + "}";
  };
  auto const error = [&](std::string const& shape, std::string const& place) {
    return error_with(R"({"t":{)" + tensor(shape, place) + "}");
  };
  CHECK(error("[1]", "[0,4]") == "");
  CHECK_THAT(error("1", "[0,4]"), ContainsSubstring("shape of tensor t is not a list"));
  CHECK_THAT(error("[-1]", "[0,4]"), ContainsSubstring("shape of tensor t holds more than whole numbers"));
  CHECK_THAT(error("[1.5]", "[0,4]"), ContainsSubstring("holds more than whole numbers"));
  CHECK_THAT(error("[4294967296,4294967296]", "[0,4]"), ContainsSubstring("has an extent of 4294967296"));
  CHECK_THAT(error("[2]", "[0,4]"), ContainsSubstring("tensor t has 4 bytes, but its 2 elements of F32 are 8"));
  CHECK_THAT(error("[1]", "[4,8]"), ContainsSubstring("tensor t lies at 4 to 8, but there are 4 bytes of data"));
  CHECK_THAT(error("[1]", "[4,0]"), ContainsSubstring("tensor t lies at 4 to 0"));
  CHECK_THAT(error("[0]", "[0]"), ContainsSubstring("tensor t lies at 0"));
  CHECK_THAT(error("[0]", "[0,0]"), ContainsSubstring("the tensors end at byte 0 of the data, which has 4"));
  CHECK_THAT(error_with(R"({"t":{)" + tensor("[1]", "[0,4]") + R"(,"u":{)" + tensor("[1]", "[0,4]") + "}"),
             ContainsSubstring("begins at byte 0 of the data, but the tensors before end at 4"));
  CHECK_THAT(error_with(R"({"t":{)" + tensor("[1]", "[0,4]") + R"(,"t":{)" + tensor("[1]", "[0,4]") + "}"),
             ContainsSubstring("t stands twice in the header"));
  CHECK_THROWS_WITH(Safetensors("no/such/file"), ContainsSubstring("no/such/file: cannot be mapped"));
}

TEST_CASE("minilm: a model of another form is refused", "[N22]") {
  auto const error = [](std::string const& config) {
    WrittenFile const file("minilm_test_config.json", config);
    try {
      (void)minilm::sizes_of(file.path(), 384, 1536);
      return std::string();
    } catch (FileError const& thrown) {
      return std::string(thrown.what());
    }
  };
  auto const config = [](std::string const& from = "", std::string const& to = "") {
    std::string text =
        R"({"model_type": "bert", "hidden_act": "gelu", "hidden_size": 384, "intermediate_size": 1536,
            "num_attention_heads": 12, "num_hidden_layers": 6, "vocab_size": 30522, "max_position_embeddings": 512,
            "layer_norm_eps": 1e-12})";
    if (!from.empty()) text.replace(text.find(from), from.size(), to);
    return text;
  };
  CHECK(error(config()) == "");
  CHECK_THAT(error("[]"), ContainsSubstring("is not an object of JSON; this program runs all-MiniLM-L6-v2"));
  CHECK_THAT(error(config("bert", "gpt2")), ContainsSubstring(R"(model_type is "gpt2"; bert is expected)"));
  CHECK_THAT(error(config("gelu", "relu")), ContainsSubstring(R"(hidden_act is "relu"; gelu is expected)"));
  CHECK_THAT(error(config("384", "768")), ContainsSubstring("hidden_size is 768; 384 to 384 is expected"));
  CHECK_THAT(error(config("\"vocab_size\": 30522,", "")), ContainsSubstring("vocab_size is missing"));
  CHECK_THAT(error(config("30522", "\"many\"")), ContainsSubstring("vocab_size is \"many\""));
  CHECK_THAT(error(config("1e-12", "-1")), ContainsSubstring("layer_norm_eps is -1"));
}
