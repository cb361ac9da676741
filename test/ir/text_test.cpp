// Tests the IR's text: every file of roundtrip/ prints back as the same bytes; malformed text is refused with its
// place.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "ir/core/builder.hpp"
#include "ir/core/equal.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

using namespace tegula;
using namespace tegula::ir;
using namespace std::string_literals;

namespace {

std::vector<std::filesystem::path> texts_of(std::string const& folder) {
  std::vector<std::filesystem::path> result;
  for (auto const& entry :
       std::filesystem::recursive_directory_iterator(std::string(TEGULA_TEST_DIR) + "/ir/" + folder))
    if (entry.path().extension() == ".tir") result.push_back(entry.path());
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

TEST_CASE("text: printed text parses and prints the same bytes", "[P13]") {
  auto const files = texts_of("roundtrip");
  REQUIRE(files.size() >= 5);
  for (auto const& file : files) {
    INFO(file.string());
    std::string const text = test::read_file(file.string());
    auto const parsed = parse(text);
    INFO(parsed.diagnostics.str());
    REQUIRE(parsed.ok());
    CHECK(print(parsed.module) == text);
    auto const again = parse(print(parsed.module));
    REQUIRE(again.ok());
    CHECK(equal(parsed.module, again.module));
    CHECK(equal(parsed.module, parsed.module.clone()));
  }
}

TEST_CASE("text: buffers in shared and in global memory parse, print and are verified alike", "[P7]") {
  // Returns what is printed, or the complaints, with one name for both spaces.
  auto const answer = [](std::string const& space, std::string const& body) {
    auto const in_space = [](std::string text, std::string const& from, std::string const& to) {
      for (std::size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), to);
      return text;
    };
    std::string const text = "tegula-ir 1\n\nkernel @k(%n: i64) warps = 1 {\n" +
                             "  %b = buffer_alloc {align = 256} : SPACE<2x8x32xf32, dense>\n"s + body + "  return\n}\n";
    auto const parsed = parse(in_space(text, "SPACE", space));
    if (!parsed.ok()) return in_space(parsed.diagnostics.str(), space, "SPACE");
    std::string const complaints = verify(parsed.module, &parsed.positions).str();
    if (!complaints.empty()) return in_space(complaints, space, "SPACE");
    std::string printed = in_space(print(parsed.module), space, "SPACE");
    CHECK(printed == text);
    return printed;
  };
  std::string const view = "  %v = view %b, %n, %n, %n : SPACE<8x32xf32, dense>\n";
  for (std::string const& right : {""s, "  buffer_dealloc %b\n"s, view,
                                   view + "  %e = buffer_load %v : tile<8x32xf32>\n  buffer_store %v, %e\n" +
                                       "  %t = trans_view %v : SPACE<32x8xf32, dense_t>\n"}) {
    INFO(right);
    CHECK_THAT(answer("global", right), test::ContainsSubstring("buffer_alloc {align = 256} : SPACE<"));
    CHECK(answer("global", right) == answer("shared", right));
  }
  for (std::string const& wrong : {"  buffer_dealloc %b\n  buffer_dealloc %b\n"s, "  buffer_dealloc %b\n" + view,
                                   "  %v = view %b, %n, %n, %n : SPACE<8x31xf32, dense>\n"s,
                                   "  %e = buffer_load %b : tile<8x32xf16>\n"s, "  buffer_store %b, %n\n"s}) {
    INFO(wrong);
    CHECK(answer("global", wrong).find("buffer_alloc {") == std::string::npos);
    CHECK(answer("global", wrong) == answer("shared", wrong));
  }
}

TEST_CASE("text: the hand-written block IR is well-formed and keeps its text's meaning") {
  auto const files = texts_of("target");
  REQUIRE(!files.empty());
  for (auto const& file : files) {
    INFO(file.string());
    auto const parsed = parse(test::read_file(file.string()));
    INFO(parsed.diagnostics.str());
    REQUIRE(parsed.ok());
    CHECK(verify(parsed.module, &parsed.positions).str() == "");
    std::string const text = print(parsed.module);
    auto const again = parse(text);
    INFO(again.diagnostics.str());
    REQUIRE(again.ok());
    CHECK(print(again.module) == text);
    CHECK(equal(parsed.module, again.module));
    CHECK(equal(parsed.module, parsed.module.clone()));
  }
}

namespace {

struct InvalidCase {
  std::string text;
  int first_line = 0;  ///< of the case in its file
  struct Expected {
    int line;
    std::string message;
  };
  std::vector<Expected> expected;
};

std::vector<InvalidCase> invalid_cases(std::string const& file) {
  std::ifstream stream(file);
  std::vector<InvalidCase> result(1);
  result.back().text = "tegula-ir 1\n";
  int number = 0;
  int line_of_case = 1;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line == "// ----") {
      result.push_back({"tegula-ir 1\n", number, {}});
      line_of_case = 1;
      continue;
    }
    ++line_of_case;
    std::size_t const mark = line.find("  // error: ");
    if (mark != std::string::npos) result.back().expected.push_back({line_of_case, line.substr(mark + 12)});
    result.back().text += line.substr(0, mark) + "\n";
  }
  return result;
}

/// Returns the column in front of an expected message of the parser: "19: expected ')'".
bool matches(std::string const& expected, support::Diagnostic const& found) {
  std::size_t const colon = expected.find(": ");
  bool const has_column = colon != std::string::npos && expected.find_first_not_of("0123456789") == colon;
  if (!has_column) return found.text.find(expected) != std::string::npos;
  return found.position.column == std::stoul(expected) &&
         found.text.find(expected.substr(colon + 2)) != std::string::npos;
}

}  // namespace

TEST_CASE("text: malformed text is refused with its place, and the message is beside the line", "[F11][F12]") {
  int cases = 0;
  for (auto const& file : texts_of("invalid")) {
    for (InvalidCase const& one : invalid_cases(file.string())) {
      INFO(file.string() << ":" << one.first_line << "\n" << one.text);
      REQUIRE_FALSE(one.expected.empty());
      auto parsed = parse(one.text);
      if (parsed.ok()) parsed.diagnostics.append(verify(parsed.module, &parsed.positions));
      INFO(parsed.diagnostics.str());
      REQUIRE(parsed.diagnostics.size() == one.expected.size());
      for (std::size_t i = 0; i < one.expected.size(); ++i) {
        support::Diagnostic const& found = parsed.diagnostics[i];
        CHECK(matches(one.expected[i].message, found));
        bool const has_place = found.position.line != 0;  // findings about a whole function have none
        if (has_place) CHECK(static_cast<int>(found.position.line) == one.expected[i].line);
      }
      ++cases;
    }
  }
  CHECK(cases >= 80);
}

TEST_CASE("text: the first line holds the version") {
  CHECK(parse("kernel @k() { return }").diagnostics[0].text ==
        "expected \"tegula-ir 1\" as the first line, found kernel");
  CHECK(parse("").diagnostics[0].text == "expected \"tegula-ir 1\" as the first line, found the end of the text");
  CHECK(parse("tegula-ir 2\n").diagnostics[0].text == "format version 2 is not known; this library reads 1");
  CHECK(parse("tegula-ir 1").ok());
}

TEST_CASE("text: blocks nest to a bounded depth") {
  std::string text = "tegula-ir 1\nkernel @k(%c: bool) {\n";
  for (int i = 0; i < 100000; ++i) text += "if %c {\n";
  auto const parsed = parse(text);
  REQUIRE_FALSE(parsed.ok());
  CHECK(parsed.diagnostics[0].text == "blocks nested deeper than 64");
}

TEST_CASE("text: locations are printed on request and read back") {
  std::string const text =
      "tegula-ir 1\n\n"
      "kernel @k(%o: out tensor<?xf32>, %c: bool) {\n"
      "  %0 = constant {value = 0 : i64} : i64 loc(\"a \\\"b\\\".cpp\":3)\n"
      "  if %c {\n"
      "    %1 = constant {value = 0 : f32} : tile<8xf32>\n"
      "    store %o, %1, %0 loc(\"x.hpp\":4294967295)\n"
      "    yield\n"
      "  } else {\n"
      "    yield\n"
      "  } loc(\"a.cpp\":7)\n"
      "  return loc(\"a.cpp\":9)\n"
      "} loc(\"a.cpp\":1)\n";
  auto const parsed = parse(text);
  INFO(parsed.diagnostics.str());
  REQUIRE(parsed.ok());
  CHECK(print(parsed.module, {true}) == text);
  CHECK(print(parsed.module).find("loc(") == std::string::npos);
  auto const without = parse(print(parsed.module));
  REQUIRE(without.ok());
  CHECK(equal(parsed.module, without.module));
}

TEST_CASE("text: names are made unique, unnamed values numbered, odd names made legal") {
  Module module;
  Function& kernel = module.add_function("k", FunctionKind::kernel);
  Value* const n = kernel.add_parameter(Type::index(), {}, "n");
  Builder builder(kernel.body());
  for (char const* name : {"n", "a b", "7up", "", "n", ".x"}) {
    Value* const value = builder.same(NegOp{}, {n});
    value->set_name(name);
  }
  builder.op(ReturnOp{}, std::initializer_list<Value*>{}, {});
  std::string const text = print(module);
  CHECK(text ==
        "tegula-ir 1\n\nkernel @k(%n: i64) {\n  %n_1 = neg %n : i64\n  %a_b = neg %n : i64\n  %_7up = neg %n : i64\n  "
        "%0 = neg %n : i64\n"
        "  %n_2 = neg %n : i64\n  %_x = neg %n : i64\n  return\n}\n");
  auto const parsed = parse(text);
  REQUIRE(parsed.ok());
  CHECK(print(parsed.module) == text);
  CHECK(equal(module, parsed.module));
}

TEST_CASE("text: every constant prints so that it reads back with the same bits") {
  auto const round_trip = [](Constant constant) {
    Module module;
    Function& kernel = module.add_function("k", FunctionKind::kernel);
    Builder builder(kernel.body());
    builder.constant(constant, Type::scalar(constant.element));
    builder.op(ReturnOp{}, std::initializer_list<Value*>{}, {});
    std::string const text = print(module);
    auto const parsed = parse(text);
    INFO(text << parsed.diagnostics.str());
    REQUIRE(parsed.ok());
    REQUIRE(equal(module, parsed.module));
    REQUIRE(print(parsed.module) == text);
  };
  for (std::uint64_t bits = 0; bits < 65536; bits += 1) {
    if (bits % 7 != 0 && bits % 1024 > 4 && bits % 1024 < 1020) continue;
    round_trip({Element::f16, bits});
    round_trip({Element::bf16, bits});
  }
  for (std::uint64_t bits = 0; bits < 256; ++bits) {
    round_trip({Element::e4m3, bits});
    round_trip({Element::e5m2, bits});
    round_trip(make_constant(Element::i8, static_cast<std::int64_t>(bits)));
    round_trip(make_constant(Element::u8, static_cast<std::int64_t>(bits)));
    round_trip(make_constant(Element::i16, static_cast<std::int64_t>(bits * 257)));
    round_trip(make_constant(Element::u16, static_cast<std::int64_t>(bits * 257)));
  }
  std::uint64_t state = 88172645463325252ULL;
  for (int i = 0; i < 3000; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    round_trip({Element::f32, state & 0xFFFFFFFFULL});
    round_trip({Element::f64, state});
    round_trip(make_constant(Element::i32, static_cast<std::int64_t>(state)));
    round_trip(make_constant(Element::i64, static_cast<std::int64_t>(state)));
  }
  round_trip({Element::boolean, 1});
  round_trip({Element::boolean, 0});
  // The infinities and all but one NaN of the floats of 8 bits come from no number.
  CHECK(to_string(Constant{Element::e5m2, 0x7C}) == "0x7c : e5m2");
  CHECK(to_string(Constant{Element::f64, 0x7FF8000000000001}) == "0x7ff8000000000001 : f64");
  CHECK(to_string(Constant{Element::e4m3, 0x7F}) == "nan : e4m3");
  CHECK(to_string(Constant{Element::e4m3, 0xFF}) == "0xff : e4m3");
  CHECK(to_string(Constant{Element::e4m3, 0x7E}) == "4.5e+02 : e4m3");
}
