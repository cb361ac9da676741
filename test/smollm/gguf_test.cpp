// Tests that the reader of gguf files gives what a file holds, and that damaged files give an error that names the
// damage.
#include "smollm/gguf.hpp"

#include <set>
#include <string>

#include "gguf_writer.hpp"
#include "smollm/model.hpp"
#include "support/catch.hpp"

using namespace tegula::test;
using smollm::FileError;
using smollm::Format;
using smollm::Gguf;

namespace {

GgufWriter small() {
  GgufWriter file;
  file.number("count", 7).real("ratio", 0.5F).text("name", "abc").texts("list", {"x", "", "yz"});
  file.value<std::uint8_t>("flag", 7, 1).value<std::int64_t>("below", 11, -5);
  file.tensor("a", {2, 32}, Format::q4_1, std::string(40, 'q'));
  return file.tensor("b", {3}, Format::f32, std::string(12, '\0'));
}

/// Returns the error that reading these bytes throws; empty: none.
std::string error_of(std::string_view bytes) {
  FileOf const file("damaged", bytes);
  try {
    Gguf const read(file.path());
    return "";
  } catch (FileError const& error) {
    return error.what();
  }
}

/// Returns the bytes of a file of one key, whose type and value are these.
std::string with_key(std::uint32_t type, std::string const& value) {
  std::string bytes = "GGUF";
  GgufWriter::put<std::uint32_t>(bytes, 3);
  GgufWriter::put<std::uint64_t>(bytes, 0);
  GgufWriter::put<std::uint64_t>(bytes, 1);
  GgufWriter::put_text(bytes, "key");
  GgufWriter::put(bytes, type);
  return bytes + value;
}

template <class... T>
std::string raw(T... values) {
  std::string result;
  (GgufWriter::put(result, values), ...);
  return result;
}

}  // namespace

TEST_CASE("smollm: a gguf file gives its values and tensors") {
  FileOf const file("small", small().bytes());
  Gguf const read(file.path());
  CHECK(read.integer("count", 0, 10) == 7);
  CHECK(read.integer("below", -10, 10) == -5);
  CHECK(read.real("ratio") == 0.5);
  CHECK(read.text("name") == "abc");
  CHECK(read.texts("list") == std::vector<std::string_view>{"x", "", "yz"});
  smollm::Tensor const& a = read.tensor("a", {2, 32}, {Format::q4_1});
  CHECK(a.bytes.size() == 40);
  CHECK(static_cast<char>(a.bytes[39]) == 'q');
  CHECK(read.tensor("b", {3}, {Format::f32}).bytes.data() - a.bytes.data() == 64);
  CHECK_THROWS_WITH(read.integer("count", 0, 6), ContainsSubstring("count is 7; 0 to 6 is expected"));
  CHECK_THROWS_WITH(read.real("count"), ContainsSubstring("key count is not a float"));
  CHECK_THROWS_WITH(read.text("nothing"), ContainsSubstring("key nothing is missing"));
  CHECK_THROWS_WITH(read.tensor("c", {3}, {Format::f32}), ContainsSubstring("tensor c is missing"));
  CHECK_THROWS_WITH(read.tensor("b", {4}, {Format::f32}), ContainsSubstring("tensor b is 3; 4 is expected"));
  CHECK_THROWS_WITH(read.tensor("a", {2, 32}, {Format::q8_0}), ContainsSubstring("has format Q4_1; Q8_0 is expected"));
}

TEST_CASE("smollm: a gguf file that ends early is refused at every length") {
  std::string const whole = small().bytes();
  REQUIRE(error_of(whole).empty());
  std::set<std::string> messages;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    INFO(length);
    std::string const error = error_of(std::string_view(whole).substr(0, length));
    REQUIRE(error != "");
    CHECK(error.find("smollm_test_damaged.gguf: ") == 0);
  }
}

TEST_CASE("smollm: any changed byte of a gguf file gives an error or other values, and no wrong read") {
  std::string const whole = small().bytes();
  int refused = 0;
  for (std::size_t at = 0; at < whole.size() - 76; ++at)  // the last 76 bytes are weights
    for (int const value : {0, 1, 127, 255}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(value);
      FileOf const file("changed", bytes);
      try {
        Gguf const read(file.path());
        unsigned total = 0;
        for (auto const& [name, tensor] : read.tensors())
          for (std::byte const byte : tensor.bytes) total += std::to_integer<unsigned>(byte);
        CHECK(total <= 255 * whole.size());  // all bytes could be read
      } catch (FileError const&) {
        ++refused;
      }
    }
  CHECK(refused > 400);
}

TEST_CASE("smollm: errors of damaged gguf files name the damage") {
  CHECK_THAT(error_of("GGML, an older format"), ContainsSubstring("does not begin with GGUF"));
  CHECK_THAT(error_of("GGUF" + raw<std::uint32_t>(9)), ContainsSubstring("version 9 of gguf; versions 2 and 3"));
  CHECK_THAT(error_of("GGUF" + raw<std::uint32_t, std::uint64_t, std::uint64_t>(3, 0, 1ULL << 60U)),
             ContainsSubstring("1152921504606846976 keys do not fit"));
  CHECK_THAT(error_of("GGUF" + raw<std::uint32_t, std::uint64_t, std::uint64_t>(3, 1ULL << 60U, 0)),
             ContainsSubstring("tensors do not fit"));
  CHECK_THAT(error_of(with_key(13, "")), ContainsSubstring("key key has type 13"));
  CHECK_THAT(error_of(with_key(7, "\2")), ContainsSubstring("a bool of value 2"));
  CHECK_THAT(error_of(with_key(8, raw<std::uint64_t>(~0ULL))), ContainsSubstring("a text takes 18446744073709551615"));
  CHECK_THAT(error_of(with_key(9, raw<std::uint32_t, std::uint64_t>(9, 1))), ContainsSubstring("an array of type 9"));
  CHECK_THAT(error_of(with_key(9, raw<std::uint32_t, std::uint64_t>(4, ~0ULL))),
             ContainsSubstring("numbers do not fit"));
  CHECK_THAT(error_of(with_key(9, raw<std::uint32_t, std::uint64_t>(8, ~0ULL))), ContainsSubstring("texts do not fit"));
  auto const key_twice = GgufWriter().number("k", 1).number("k", 1).bytes();
  CHECK_THAT(error_of(key_twice), ContainsSubstring("key k stands there twice"));
  CHECK_THAT(error_of(GgufWriter().number("general.alignment", 48).bytes()), ContainsSubstring("not a power of two"));
  std::string const four(4, '\0'), block(20, '\0');
  auto const tensor = [&](std::vector<std::uint64_t> const& extents, Format format, std::int64_t offset = -1) {
    return error_of(GgufWriter().tensor("t", extents, format, block, offset).bytes());
  };
  CHECK(tensor({1, 32}, Format::q4_1) == "");
  CHECK_THAT(tensor({1, 48}, Format::q4_1), ContainsSubstring("rows of 48 weights, not whole blocks of 32"));
  CHECK_THAT(tensor({2, 32}, Format::q4_1), ContainsSubstring("tensor t takes 40 bytes from 0 on, of 20"));
  CHECK_THAT(tensor({1, 32}, Format::q4_1, 16), ContainsSubstring("begins at 16, not a multiple of 32"));
  CHECK_THAT(tensor({1, 32}, Format::q4_1, 1LL << 62), ContainsSubstring("tensor t takes 20 bytes"));
  CHECK_THAT(tensor({1, 32}, static_cast<Format>(2)), ContainsSubstring("has format 2; F32, F16, Q4_1 and Q8_0"));
  CHECK_THAT(tensor({0, 32}, Format::q4_1), ContainsSubstring("has an extent of 0 along axis 1"));
  CHECK_THAT(tensor({1ULL << 60U, 32}, Format::q4_1), ContainsSubstring("has an extent of 1152921504606846976"));
  CHECK_THAT(tensor({}, Format::f32), ContainsSubstring("tensor t has 0 axes"));
  auto const same_name = GgufWriter().tensor("t", {1}, Format::f32, four).tensor("t", {1}, Format::f32, four).bytes();
  CHECK_THAT(error_of(same_name), ContainsSubstring("tensor t stands there twice"));
  auto const shared = GgufWriter().tensor("t", {9}, Format::f32, std::string(36, '\0'));
  CHECK_THAT(error_of(GgufWriter(shared).tensor("u", {1}, Format::f32, four, 32).bytes()),
             ContainsSubstring("tensors t and u share bytes"));
  CHECK_THROWS_WITH(Gguf("no/such/file.gguf"), ContainsSubstring("no/such/file.gguf: cannot be mapped"));
  CHECK_THROWS_WITH(Gguf("."), ContainsSubstring("give the path of a gguf file"));
}

TEST_CASE("smollm: a model of another form is refused") {
  auto const error = [](GgufWriter const& writer) {
    FileOf const file("model", writer.bytes());
    try {
      Gguf const read(file.path());
      smollm::Model<192, 384> const model(read, tegula::device::host());
      return std::string();
    } catch (FileError const& thrown) {
      return std::string(thrown.what());
    }
  };
  CHECK_THAT(error(GgufWriter().text("general.architecture", "bert")), ContainsSubstring("is not llama"));
  CHECK_THAT(error(metadata_of(SmallModel().with(&SmallModel::width, 256))),
             ContainsSubstring("width 256 and 384 hidden units"));
  CHECK_THAT(error(metadata_of(SmallModel().with(&SmallModel::heads, 4))),
             ContainsSubstring("4 heads of 64 are not a row of 192"));
  CHECK_THAT(error(metadata_of(SmallModel().with(&SmallModel::key_heads, 2))),
             ContainsSubstring("3 heads and 2 heads of keys, not 3 for each"));
  CHECK_THAT(error(metadata_of(SmallModel())), ContainsSubstring("tensor blk.0.attn_norm.weight is missing"));
}
