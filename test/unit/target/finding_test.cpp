// Checks that a finding survives as data and that its sentence has one home.
#include <set>
#include <string>

#include "layout/fragment_layouts.hpp"
#include "layout/shared_layouts.hpp"
#include "target/finding.hpp"
#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::target;

TEST_CASE("findings: kind and values are an attribute, and come back from it", "[target]") {
  Finding const address(finding::address, 2);
  CHECK(address.data() == "address(2)");
  CHECK(address.text() == "tma: address: the tensor's address is known to be a multiple of 2 bytes, not of 16");
  CHECK(address.rule() == &tma_rule::address);
  Finding const outside(finding::outside, "1x64", "(0, 3)", "2x64");
  Finding const nested(finding::operand_b, Finding(finding::operand_transposed, "N", 1));
  CHECK(nested.data() == "operand_b(transposed(N, 1))");
  CHECK(
      nested.text() ==
      "wgmma: operand B has N contiguous and elements of 1 bytes; only 16-bit elements can be transposed, others need "
      "K contiguous");
  for (Finding const& found : {address, outside, nested, Finding(finding::rhs_by_pointer, outside)}) {
    Finding const back = Finding::from_data(found.data());
    CHECK(back.data() == found.data());
    CHECK(back.text() == found.text());
    CHECK(back.rule() == found.rule());
  }
  CHECK(Finding().data().empty());
  CHECK(Finding().text().empty());
  CHECK(Finding::from_data("").empty());
}

TEST_CASE("findings: names are unique, and an attribute of no known kind is shown as it is", "[target]") {
  std::set<std::string_view> names;
  for (FindingKind const* kind : finding::all) CHECK(names.insert(kind->name).second);
  for (std::string const text : {"something else", "address", "address(2", "address(2, 3)", "row()", "address(2)x"}) {
    INFO(text);
    CHECK(Finding::from_data(text).data() == text);
    CHECK(Finding::from_data(text).text() == text);
    CHECK(Finding::from_data(text).rule() == nullptr);
  }
}

TEST_CASE("findings: a text with findings in each other without end is shown as it is", "[target]") {
  std::string deep = "x";
  for (int i = 0; i < 100'000; ++i) deep.insert(0, "rhs_by_pointer(").push_back(')');
  CHECK(Finding::from_data(deep).text() == deep);
  std::string const three = "rhs_by_pointer(operand_a(mode(32, start(3, 256))))";
  CHECK(Finding::from_data(three).text() != three);
  CHECK(Finding::from_data(three).data() == three);
}

TEST_CASE("findings: any numbers in an edited text give a sentence", "[target][layout]") {
  for (std::string const kind : {"swizzled_layout", "accumulator_layout", "left_layout"})
    for (std::string const shape :
         {"0", "0x0", "64x64", "64x0", "-1x8", "9223372036854775807x9223372036854775807", "1x1x1x1x1x1x1x1", "64x7"})
      for (std::string const number : {"0", "1", "-1", "2", "3", "4", "16", "2147483647", "9223372036854775807"}) {
        std::string const data = kind + "(" + shape + ", " + number + (kind == "left_layout" ? ", 4)" : ")");
        INFO(data);
        CHECK_FALSE(Finding::from_data(data).text().empty());
      }
}

TEST_CASE("findings: a layout that does not fit is described by the layout's own sentence", "[target][layout]") {
  std::string error;
  REQUIRE(layout::swizzled_layout({64, 7}, 2, 16, error) == nullptr);
  CHECK(Finding(finding::swizzled_layout, "64x7", 2).text() == "tma: swizzle: " + error);
  REQUIRE(layout::wgmma_layout({64, 12}, 4, error) == nullptr);
  CHECK(Finding(finding::accumulator_layout, "64x12", 4).text() == error);
  REQUIRE(layout::wgmma_layout({64, 16}, 6, error) == nullptr);
  CHECK(Finding(finding::accumulator_layout, "64x16", 6).text() == error);
  REQUIRE(layout::wgmma_a_layout({64, 8}, 2, 4, error) == nullptr);
  CHECK(Finding(finding::left_layout, "64x8", 2, 4).text() == error);
  // Values of an edited text that no layout has anything against, or that are not numbers.
  CHECK(Finding::from_data("accumulator_layout(64x16, 4)").text() == "wgmma has no accumulator of 64x16 for 4 warps");
  CHECK(Finding::from_data("accumulator_layout(64xa, 4)").text() == "wgmma has no accumulator of 64xa for 4 warps");
}
