#include "layout/layout_names.hpp"

#include <fmt/format.h>

#include <random>

#include "layout/fragment_layouts.hpp"
#include "layout/shared_layouts.hpp"
#include "ir/text/text.hpp"
#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::layout;
using namespace tegula::ir;

namespace {

struct Named {
  Extents shape;
  Element element;
  bool shared;
  std::string text;
};

}  // namespace

TEST_CASE("a layout with a name prints it and reads it back", "[layout][names]") {
  for (Named const& named : std::vector<Named>{
           {{64, 256}, Element::f32, false, "wgmma"},
           {{128, 256}, Element::f32, false, "wgmma(8)"},
           {{192, 128}, Element::f32, false, "wgmma(12)"},
           {{128, 176}, Element::f32, false, "wgmma"},
           {{128, 320}, Element::f32, false, "wgmma"},
           {{64, 8}, Element::f16, false, "wgmma"},
           {{64, 64}, Element::bf16, false, "wgmma_a"},
           {{64, 40}, Element::f32, false, "wgmma_a"},
           {{128, 64}, Element::boolean, false, "wgmma_a(8)"},
           {{128, 64}, Element::f32, false, "mma(2,2)"},
           {{32, 64}, Element::f32, false, "mma(2)"},
           {{64, 64}, Element::bf16, false, "mma_a(2,2)"},
           {{64, 176}, Element::bf16, false, "mma_b"},
           {{64, 176}, Element::bf16, false, "mma_b(2,2)"},
           {{64}, Element::f32, false, "rows(wgmma)"},
           {{128}, Element::f32, false, "rows(wgmma(8))"},
           {{128, 1}, Element::bf16, false, "rows(wgmma)"},
           {{64}, Element::f32, false, "columns(wgmma)"},
           {{1, 176}, Element::f32, false, "columns(wgmma)"},
           {{64}, Element::f32, false, "columns(mma(2,2))"},
           {{64, 4}, Element::f32, false, "folded(wgmma)"},
           {{128, 4}, Element::boolean, false, "folded(wgmma(8))"},
           {{4, 128, 64}, Element::bf16, true, "swizzled(128)"},
           {{64, 176}, Element::bf16, true, "swizzled(32)"},
           {{192, 320}, Element::bf16, true, "swizzled(64)"},
           {{64, 128}, Element::f16, true, "swizzled_t(64)"},
           {{64, 128}, Element::f16, true, "swizzled_t(128)"},
           {{64, 128}, Element::f32, true, "dense"},
           {{100}, Element::f32, true, "dense"},
           {{}, Element::f32, true, "dense"},
           {{64, 128}, Element::f32, true, "dense_t"},
           {{64, 128}, Element::f32, true, "swizzled(16)"},
       }) {
    INFO(named.text);
    std::string error;
    Layout const* layout = named_layout(" " + named.text + " ", named.shape, named.element, named.shared, error);
    INFO(error);
    REQUIRE(layout != nullptr);
    CHECK(layout->shape() == named.shape);
    CHECK(layout->surjective());
    CHECK(layout_text(*layout, named.shape, named.element, named.shared) == named.text);
    CHECK(layout_text(*layout, named.shape, named.element, named.shared) == named.text);
    // The basis vectors are read too, and print the name.
    CHECK(named_layout(layout->text(), named.shape, named.element, named.shared, error) == layout);
    // A part of the tile names the whole.
    std::string const part = layout_text(*layout, {1}, named.element, named.shared);
    if (named.shape.empty()) continue;
    CHECK(part.substr(0, named.text.size() + 4) == named.text + " of ");
    CHECK(named_layout(part, {1}, named.element, named.shared, error) == layout);
  }
}

TEST_CASE("a layout with two names prints one of them", "[layout][names]") {
  std::string error;
  Layout const* product = named_layout("wgmma", {64, 64}, Element::bf16, false, error);
  CHECK(product == named_layout("wgmma_a", {64, 64}, Element::bf16, false, error));
  CHECK(product == named_layout("mma", {64, 64}, Element::bf16, false, error));
  CHECK(layout_text(*product, {64, 64}, Element::bf16, false) == "wgmma_a");
  CHECK(layout_text(*product, {64, 64}, Element::f32, false) == "wgmma");
  CHECK(layout_text(*named_layout("swizzled(16)", {64, 8}, Element::bf16, true, error), {64, 8}, Element::bf16, true) ==
        "dense");
}

TEST_CASE("a layout without a name prints its basis vectors", "[layout][names]") {
  Layout const* layout = Layout::blocked({16, 64}, {1, 8}, 4, {1, 0});
  CHECK(layout_text(*layout, {16, 64}, Element::f32, false) == layout->text());
  // A spoiled vector is another layout.
  std::string error;
  Layout const* spoiled = Layout::parse(
      "[register (0,1) (8,0) (0,8) (0,16) (0,32), lane (0,2) (0,4) (2,0) (1,0) (4,0), warp (16,0) (32,0)]", error);
  REQUIRE(spoiled != nullptr);
  CHECK(layout_text(*spoiled, {64, 64}, Element::f32, false) == spoiled->text());
}

TEST_CASE("names that do not fit are refused with values", "[layout][names]") {
  struct Refused {
    std::string text;
    Extents shape;
    bool shared;
    std::string message;
  };
  for (Refused const& refused : std::vector<Refused>{
           {"wgmma", {60, 64}, false, "wgmma: 60x64 is not a multiple of 64x8"},
           {"wgmma(8)", {64, 64}, false, "wgmma: 64x64 is not a multiple of 128x8"},
           {"wgmma(6)", {64, 64}, false, "wgmma: whole warpgroups of 4 warps are needed, found 6 warps"},
           {"wgmma", {64}, false, "wgmma: a tile of two axes is needed, found 1"},
           {"wgmma_a", {64, 24}, false, "wgmma_a: 64x24 is not a multiple of 64x16"},
           {"mma(2,2)", {64, 24}, false, "mma: 64x24 is not a multiple of 32x16"},
           {"rows(wgmma)",
            {64, 64},
            false,
            "rows: a tile of one axis or with an axis 1 of extent 1 is needed, found 64x64"},
           {"swizzled(128)",
            {64, 96},
            true,
            "swizzled(128): the contiguous axis has 96 elements of 2 bytes, not a multiple of 64; take a smaller "
            "swizzle"},
           {"swizzled(128)", {12, 64}, true, "swizzled(128): 12 rows are not a multiple of the 8 rows of the pattern"},
           {"swizzled(48)", {64, 64}, true, "swizzled(48): the swizzle is 128, 64, 32 or 16 bytes"},
           {"swizzled(64)", {64}, true, "swizzled(64): a tile of two axes or more is needed, found 1"},
           {"swizzled_t(64)", {64}, true, "swizzled_t(64): a tile of two axes or more is needed, found 1"},
       }) {
    std::string error;
    INFO(refused.text);
    CHECK(named_layout(refused.text, refused.shape, Element::bf16, refused.shared, error) == nullptr);
    CHECK(error == refused.message);
  }
  for (char const* bad : {"wgma",
                          "wgmma(",
                          "wgmma()",
                          "wgmma(0)",
                          "wgmma(-4)",
                          "wgmma(4,1,1)",
                          "wgmma(x)",
                          "wgmma 4",
                          "mma(1,2,3,4)",
                          "rows",
                          "rows(rows(wgmma))",
                          "rows(wgmma",
                          "rows()",
                          "wgmma of",
                          "wgmma of 64",
                          "wgmma of 64x",
                          "wgmma of 0x8",
                          "wgmma of 1x1x1x1x1x1x1x1x64",
                          "wgmma of 16777216x16777216",
                          "dense",
                          "swizzled(128)",
                          "mma(65)",
                          "",
                          "(4)",
                          ")",
                          "wgmma(99999999999999999999)",
                          "rows(,)",
                          "rows(wgmma))("}) {
    std::string error;
    INFO(bad);
    CHECK(named_layout(bad, {64, 64}, Element::f32, false, error) == nullptr);
    CHECK_FALSE(error.empty());
  }
  for (char const* bad :
       {"wgmma", "swizzled", "swizzled()", "swizzled(128,4)", "dense(4)", "swizzled_t", "rows(dense)"}) {
    std::string error;
    INFO(bad);
    CHECK(named_layout(bad, {64, 64}, Element::f32, true, error) == nullptr);
    CHECK_FALSE(error.empty());
  }
}

TEST_CASE("types print names and modules keep them", "[layout][names]") {
  std::string const text =
      "tegula-ir 1\n\n"
      "function @f(%x: tile<64x256xf32, wgmma>, %y: tile<64x64xbf16, wgmma_a>, %z: tile<64xf32, rows(wgmma)>) {\n"
      "  return\n}\n";
  ParseResult const result = parse(text);
  REQUIRE(result.ok());
  CHECK(print(result.module) == text);
  ParseResult const wrong = parse("tegula-ir 1\n\nfunction @f(%x: tile<60x256xf32, wgmma>) {\n  return\n}\n");
  CHECK_FALSE(wrong.ok());
}

TEST_CASE("random names and random layouts keep their text", "[layout][names]") {
  std::mt19937_64 random(31);
  auto const below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  char const* const kinds[] = {"wgmma", "wgmma_a", "mma",      "mma_a",     "mma_b",
                               "dense", "dense_t", "swizzled", "swizzled_t"};
  Element const elements[] = {Element::boolean, Element::bf16, Element::f32, Element::f64};
  int named = 0;
  for (int i = 0; i < 2000; ++i) {
    std::size_t const kind = static_cast<std::size_t>(below(9));
    bool const shared = kind >= 5;
    Element const element = elements[below(4)];
    std::string text = kinds[kind];
    if (kind >= 7) text += fmt::format("({})", 16 << below(4));
    if (!shared && below(2) == 0) text += fmt::format("({})", 1 + below(8));
    if (kind >= 2 && kind < 5 && below(2) == 0 && text.back() == ')')
      text.back() = ',', text += fmt::format("{})", 1 + below(4));
    Extents shape{16 * (1 + below(16)), 8 * (1 + below(40))};
    if (shared && below(2) == 0) shape.insert(0, 1 + below(4));
    if (!shared && below(4) == 0) {
      text = (below(2) == 0 ? "rows(" : "columns(") + text + ")";
      shape = {16 * (1 + below(16))};
    }
    std::string error;
    Layout const* layout = named_layout(text, shape, element, shared, error);
    INFO(text << " " << error);
    if (layout == nullptr) {
      CHECK_FALSE(error.empty());
    } else {
      ++named;
      std::string const printed = layout_text(*layout, shape, element, shared);
      CHECK(printed.front() != '[');
      CHECK(named_layout(printed, shape, element, shared, error) == layout);
      CHECK(layout_text(*named_layout(printed, shape, element, shared, error), shape, element, shared) == printed);
    }
    // Spoiled text is read or refused, never more.
    std::string spoiled = text + (below(2) == 0 ? " of 64x64" : "");
    for (std::int64_t n = below(3); n >= 0; --n) {
      std::size_t const at = static_cast<std::size_t>(below(static_cast<std::int64_t>(spoiled.size())));
      if (below(2) == 0)
        spoiled.erase(at, 1);
      else
        spoiled.insert(at, 1, "(),x19_ofw["[below(11)]);
      if (spoiled.empty()) spoiled = "w";
    }
    if (Layout const* read = named_layout(spoiled, shape, element, shared, error))
      CHECK(named_layout(layout_text(*read, shape, element, shared), shape, element, shared, error) == read);
  }
  CHECK(named > 400);
}
