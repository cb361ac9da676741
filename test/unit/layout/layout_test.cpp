#include <algorithm>
#include <map>
#include <random>

#include "layout/layout.hpp"
#include "support/catch.hpp"
#include "support/layouts.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::layout;

namespace {

LayoutInput bits(Dim dim, std::vector<Extents> bases, std::vector<LayoutDigit> digits = {}) {
  return {dim, std::move(bases), std::move(digits)};
}

/// Lists hand-written rows of the table of Hopper's layouts.
Layout const* wgmma_accumulator() {
  return Layout::get({bits(Dim::reg, {{0, 1}, {8, 0}, {0, 8}, {0, 16}, {0, 32}}),
                      bits(Dim::lane, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}), bits(Dim::warp, {{16, 0}, {32, 0}})},
                     2);
}
Layout const* swizzled_128() {
  return Layout::get(
      {bits(Dim::offset,
            {{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {0, 32}, {1, 8}, {2, 16}, {4, 32}, {8, 0}, {16, 0}, {32, 0}})},
      2);
}

using Random = std::mt19937_64;

/// Draws a random layout: random bases (made surjective by chance or not) and random repetitions of odd and even
/// counts.
Layout const* random_layout(Random& random, bool bijective) {
  auto const below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  int const rank = static_cast<int>(1 + below(3));
  Extents log_atom;
  int total = 0;
  for (int a = 0; a < rank; ++a) {
    log_atom.push_back(below(4));
    total += static_cast<int>(log_atom[a]);
  }
  // The unit vectors in random order, then random row operations: an invertible matrix.
  std::vector<Extents> vectors;
  for (int a = 0; a < rank; ++a)
    for (std::int64_t bit = 0; bit < log_atom[a]; ++bit) {
      Extents unit;
      for (int o = 0; o < rank; ++o) unit.push_back(o == a ? std::int64_t{1} << bit : 0);
      vectors.push_back(unit);
    }
  std::shuffle(vectors.begin(), vectors.end(), random);
  for (int i = 0; i < total; ++i) {
    std::size_t const from = static_cast<std::size_t>(below(total)), to = static_cast<std::size_t>(below(total));
    if (from == to) continue;
    for (int o = 0; o < rank; ++o) vectors[to][o] ^= vectors[from][o];
  }
  if (!bijective)
    for (int i = 0; i < 2; ++i) {
      Extents any;
      for (int o = 0; o < rank; ++o) any.push_back(below(std::int64_t{1} << log_atom[o]));
      vectors.insert(vectors.begin() + below(static_cast<std::int64_t>(vectors.size()) + 1), any);
    }
  std::vector<LayoutInput> inputs = {bits(Dim::reg, {}), bits(Dim::lane, {}), bits(Dim::warp, {})};
  for (Extents const& vector : vectors) inputs[static_cast<std::size_t>(below(3))].bases.push_back(vector);
  Extents extent;
  for (int o = 0; o < rank; ++o) extent.push_back(std::int64_t{1} << log_atom[o]);
  for (int i = 0; i < 3; ++i) {
    int const output = static_cast<int>(below(rank));
    std::int64_t const count = 1 + below(4);
    LayoutDigit digit{count, {}};
    for (int o = 0; o < rank; ++o) digit.stride.push_back(o == output ? extent[o] : 0);
    extent[output] *= count;
    inputs[static_cast<std::size_t>(below(3))].digits.push_back(digit);
  }
  return Layout::get(inputs, rank);
}

template <class F>
void for_each_index(Layout const& layout, F const& f) {
  std::vector<std::int64_t> sizes, index(layout.inputs().size(), 0);
  std::int64_t total = 1;
  for (LayoutInput const& input : layout.inputs()) sizes.push_back(input.size());
  for (std::int64_t size : sizes) total *= size;
  for (std::int64_t n = 0; n < total; ++n) {
    std::int64_t rest = n;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      index[i] = rest % sizes[i];
      rest /= sizes[i];
    }
    f(index);
  }
}

std::vector<std::int64_t> list(Extents const& extents) { return {extents.begin(), extents.end()}; }

}  // namespace

TEST_CASE("a blocked layout is the row of the table", "[layout]") {
  Layout const* layout = Layout::blocked({16, 64}, {1, 8}, 4, {1, 0});
  CHECK(layout->text() == "[register (0,1) (0,2) (0,4), lane (0,8) (0,16) (0,32) (1,0) (2,0), warp (4,0) (8,0)]");
  CHECK(layout->shape() == Extents{16, 64});
  CHECK(layout->registers() == 8);
  CHECK(layout->lanes() == 32);
  CHECK(layout->warps() == 4);
  CHECK(layout->contiguous(1) == 8);
  CHECK(layout->contiguous(0) == 1);
  CHECK(layout->at(3, 9, 2) == Extents{1 + 8, 3 + 8});
  CHECK(layout->surjective());
  CHECK(layout->injective());
  CHECK(Layout::blocked({16, 64}, {1, 8}, 4, {1, 0}) == layout);
}

TEST_CASE("smaller tiles are replicated, larger tiles take more registers", "[layout]") {
  Layout const* small = Layout::blocked({8}, {2}, 4, {0});
  CHECK(small->text() == "[register (1), lane (2) (4) (0) (0) (0), warp (0) (0)]");
  CHECK(small->free_bits(Dim::lane) == 0b11100U);
  CHECK(small->free_bits(Dim::warp) == 0b11U);
  CHECK(small->owner(1, 3, 0));
  CHECK_FALSE(small->owner(1, 4, 0));
  CHECK_FALSE(small->owner(0, 0, 1));

  Layout const* odd = Layout::blocked({128, 176}, {1, 8}, 4, {1, 0});
  CHECK(odd->shape() == Extents{128, 176});
  CHECK(odd->text() ==
        "[register (0,1) (0,2) (0,4) (64,0) 11*(0,16), lane (0,8) (1,0) (2,0) (4,0) (8,0), warp (16,0) (32,0)]");
  CHECK(odd->surjective());
  CHECK(odd->injective());

  Layout const* scalar = Layout::blocked({}, {}, 2, {});
  CHECK(scalar->rank() == 0);
  CHECK(scalar->text() == "[lane () () () () (), warp ()]");
}

TEST_CASE("three warpgroups take thirds of a tile, or copies where it has no thirds", "[layout]") {
  Layout const* thirds = Layout::blocked({192, 16}, {1, 4}, {8, 4}, {12, 1}, {1, 0});
  CHECK(thirds->text() ==
        "[register (0,1) (0,2) (32,0), lane (0,4) (0,8) (1,0) (2,0) (4,0), warp (8,0) (16,0) 3*(64,0)]");
  CHECK(thirds->warps() == 12);
  CHECK(thirds->shape() == Extents{192, 16});
  CHECK(thirds->owner(0, 0, 11));

  Layout const* copies = Layout::blocked({64, 16}, {1, 4}, 12, {1, 0});
  CHECK(copies->text() ==
        "[register (0,1) (0,2) (32,0), lane (0,4) (0,8) (1,0) (2,0) (4,0), warp (8,0) (16,0) 3*(0,0)]");
  CHECK(copies->shape() == Extents{64, 16});
  CHECK(copies->owner(0, 0, 3));
  CHECK_FALSE(copies->owner(0, 0, 4));
  CHECK(Layout::blocked({}, {}, 12, {})->warps() == 12);
}

TEST_CASE("repetitions of even counts become bits, of odd counts stay", "[layout]") {
  // 192 x 128 over three warpgroups of an accumulator.
  Layout const* three = Layout::get(
      {bits(Dim::reg, {{0, 1}, {8, 0}}, {{16, {0, 8}}}), bits(Dim::lane, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}),
       bits(Dim::warp, {{16, 0}, {32, 0}}, {{3, {64, 0}}})},
      2);
  CHECK(three->shape() == Extents{192, 128});
  CHECK(three->text() ==
        "[register (0,1) (8,0) (0,8) (0,16) (0,32) (0,64), lane (0,2) (0,4) (1,0) (2,0) (4,0), "
        "warp (16,0) (32,0) 3*(64,0)]");
  CHECK(three->at(0, 0, 9) == Extents{16 + 128, 0});
  CHECK(three->warps() == 12);
  CHECK(Layout::dense({48, 96}, {1, 0})->text() == "[offset (0,1) (0,2) (0,4) (0,8) (0,16) 3*(0,32) 48*(1,0)]");
  CHECK(Layout::dense({8, 4}, {0, 1})->text() == "[offset (1,0) (2,0) (4,0) (0,1) (0,2)]");
}

TEST_CASE("digits that do not tile their output are refused", "[layout]") {
  CHECK_THROWS_AS(Layout::get({bits(Dim::reg, {{1}}, {{3, {4}}})}, 1), InternalError);
  CHECK_THROWS_AS(Layout::get({bits(Dim::reg, {}, {{3, {1}}}), bits(Dim::lane, {}, {{3, {1}}})}, 1), InternalError);
  CHECK_THROWS_AS(Layout::get({bits(Dim::reg, {}, {{3, {1, 1}}})}, 2), InternalError);
}

TEST_CASE("layout text round-trips and malformed text is refused with a place", "[layout]") {
  Random random(7);
  std::string error;
  for (int i = 0; i < 300; ++i) {
    Layout const* layout = random_layout(random, i % 2 == 0);
    INFO(layout->text());
    CHECK(Layout::parse(layout->text(), error) == layout);
    if (Layout const* back = layout->inverse()) CHECK(Layout::parse(back->text(), error) == back);
  }
  for (char const* bad : {"",
                          "[",
                          "[register",
                          "[register (1]",
                          "[register (1) lane (2)]",
                          "[nothing (1)]",
                          "[register (1), register (2)]",
                          "[register 3*]",
                          "[register 3*(1,1)]",
                          "[register (1) 3*(4)]",
                          "[register 2(1)]",
                          "[register (-1)]",
                          "[register (99999999999999999999)]",
                          "[register (1)] x",
                          "[register (1) to]",
                          "[register (1) to axis0 axis0]",
                          "[register (1), lane (1,2)]",
                          "[register 3*(1) (1)]",
                          "[register 0*(1)]",
                          "[register (1),]",
                          "[register (1,1,1,1,1,1,1,1,1)]",
                          "[register 4000000000*(1)]"}) {
    error.clear();
    INFO(bad);
    CHECK(Layout::parse(bad, error) == nullptr);
    CHECK(error.substr(0, 8) == "layout: ");
  }
  CHECK(Layout::parse("[to]", error) != nullptr);
  CHECK(Layout::parse("[to axis0 axis1]", error)->shape() == Extents{1, 1});
}

TEST_CASE("free bits and owner: every element has exactly one owner", "[layout]") {
  Random random(11);
  for (int i = 0; i < 200; ++i) {
    Layout const* layout = random_layout(random, i % 3 == 0);
    if (!layout->surjective()) continue;
    INFO(layout->text());
    std::map<std::vector<std::int64_t>, int> owners, holders;
    for (std::int64_t w = 0; w < layout->warps(); ++w)
      for (std::int64_t l = 0; l < layout->lanes(); ++l)
        for (std::int64_t r = 0; r < layout->registers(); ++r) {
          auto const where = list(layout->at(r, l, w));
          ++holders[where];
          owners[where] += layout->owner(r, l, w) ? 1 : 0;
        }
    CHECK(static_cast<std::int64_t>(holders.size()) == layout->shape().product());
    bool once = true;
    for (auto const& [where, count] : owners) once &= count == 1;
    CHECK(once);
    bool single = true;
    for (auto const& [where, count] : holders) single &= count == 1;
    CHECK(single == layout->injective());
  }
}

TEST_CASE("inverse: back from every coordinate to its owner, and the inverse's inverse", "[layout]") {
  Random random(13);
  int inverted = 0;
  for (int i = 0; i < 300; ++i) {
    Layout const* layout = random_layout(random, i % 2 == 0);
    Layout const* back = layout->inverse();
    if (back == nullptr) {
      CHECK((!layout->surjective() || !layout->injective()));
      continue;
    }
    ++inverted;
    INFO(layout->text() << " inverse " << back->text());
    for_each_index(*back, [&](std::vector<std::int64_t> const& coordinate) {
      // Inputs of size 1 are not listed; fill the coordinate from the listed ones.
      Extents where;
      for (int o = 0; o < layout->rank(); ++o) where.push_back(0);
      for (std::size_t k = 0; k < back->inputs().size(); ++k)
        where[static_cast<int>(back->inputs()[k].dim) - static_cast<int>(Dim::axis0)] = coordinate[k];
      Extents const indices = back->apply(coordinate);
      std::vector<std::int64_t> flat(indices.begin(), indices.end());
      if (layout->apply(flat) != where) CHECK(layout->apply(flat) == where);
    });
    // Axes of extent 1 and the order of repetitions may be lost; where they are not, the way back is the layout.
    bool const all_axes =
        std::none_of(layout->shape().begin(), layout->shape().end(), [](std::int64_t extent) { return extent == 1; });
    if (layout->injective() && all_axes) CHECK(back->inverse() == layout);
    if (Layout const* identity = layout->after(*back)) {
      for_each_index(*identity, [&](std::vector<std::int64_t> const& coordinate) {
        Extents const result = identity->apply(coordinate);
        for (std::size_t k = 0; k < identity->inputs().size(); ++k) {
          int const output = static_cast<int>(identity->inputs()[k].dim) - static_cast<int>(Dim::axis0);
          if (result[output] != coordinate[k]) CHECK(result[output] == coordinate[k]);
        }
      });
    }
  }
  CHECK(inverted > 100);
}

TEST_CASE("composition is function composition, and associative", "[layout]") {
  Layout const* fragment = wgmma_accumulator();
  Layout const* shared = swizzled_128();
  Layout const* to_offset = shared->inverse();
  REQUIRE(to_offset != nullptr);
  Layout const* map = to_offset->after(*fragment);
  REQUIRE(map != nullptr);
  for (std::int64_t w = 0; w < 4; ++w)
    for (std::int64_t l = 0; l < 32; ++l)
      for (std::int64_t r = 0; r < fragment->registers(); ++r) {
        std::int64_t const offset = map->at(r, l, w)[0];
        if (shared->part(Dim::offset, offset) != fragment->at(r, l, w))
          CHECK(shared->part(Dim::offset, offset) == fragment->at(r, l, w));
      }
  CHECK(shared->after(*map) == fragment);
  // With a repetition of 11 that passes through both.
  Layout const* wide = Layout::blocked({64, 176}, {1, 8}, 4, {1, 0});
  Layout const* memory = Layout::dense({64, 176}, {1, 0});
  Layout const* there = memory->inverse();
  REQUIRE(there != nullptr);
  Layout const* address = there->after(*wide);
  REQUIRE(address != nullptr);
  for (std::int64_t w = 0; w < 4; ++w)
    for (std::int64_t l = 0; l < 32; ++l)
      for (std::int64_t r = 0; r < wide->registers(); ++r) {
        Extents const at = wide->at(r, l, w);
        if (address->at(r, l, w)[0] != at[0] * 176 + at[1]) CHECK(address->at(r, l, w)[0] == at[0] * 176 + at[1]);
      }
}

TEST_CASE("composition of random maps is associative, with identity and inverse", "[layout]") {
  Random random(29);
  auto const below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  // Maps of a tile to itself: a random invertible matrix on the bits, the repetitions in their place.
  auto const random_map = [&](Extents const& log_atom, Extents const& repeats) {
    std::vector<Extents> vectors;
    for (int a = 0; a < log_atom.size(); ++a)
      for (std::int64_t bit = 0; bit < log_atom[a]; ++bit) {
        Extents unit{0, 0};
        unit[a] = std::int64_t{1} << bit;
        vectors.push_back(unit);
      }
    for (std::size_t i = 0; i < 3 * vectors.size(); ++i) {
      std::size_t const x = static_cast<std::size_t>(below(static_cast<std::int64_t>(vectors.size())));
      std::size_t const y = static_cast<std::size_t>(below(static_cast<std::int64_t>(vectors.size())));
      if (x == y) continue;
      for (int o = 0; o < 2; ++o) vectors[x][o] ^= vectors[y][o];
    }
    std::vector<LayoutInput> inputs;
    std::size_t next = 0;
    for (int a = 0; a < log_atom.size(); ++a) {
      LayoutInput input{axis_dim(a), {}, {}};
      for (std::int64_t bit = 0; bit < log_atom[a]; ++bit) input.bases.push_back(vectors[next++]);
      Extents stride{0, 0};
      stride[a] = std::int64_t{1} << log_atom[a];
      input.digits.push_back({repeats[a], stride});
      inputs.push_back(input);
    }
    return Layout::get(inputs, 2);
  };
  for (int i = 0; i < 200; ++i) {
    Extents const log_atom{1 + below(4), 1 + below(4)};
    Extents const repeats{i % 3 == 0 ? 3 : 1, i % 5 == 0 ? 11 : 1};
    Layout const* f = random_map(log_atom, repeats);
    Layout const* g = random_map(log_atom, repeats);
    Layout const* h = random_map(log_atom, repeats);
    INFO(f->text() << " then " << g->text() << " then " << h->text());
    Layout const* gf = g->after(*f);
    Layout const* hg = h->after(*g);
    REQUIRE(gf != nullptr);
    REQUIRE(hg != nullptr);
    CHECK(h->after(*gf) == hg->after(*f));
    Layout const* back = f->inverse();
    REQUIRE(back != nullptr);
    Layout const* identity = f->after(*back);
    REQUIRE(identity != nullptr);
    CHECK(identity == back->after(*f));
    CHECK(identity ==
          Layout::get({{Dim::axis0, {}, {{f->shape()[0], {1, 0}}}}, {Dim::axis1, {}, {{f->shape()[1], {0, 1}}}}}, 2));
    CHECK(f->after(*identity) == f);
    CHECK(identity->after(*f) == f);
    CHECK(gf->inverse() == back->after(*g->inverse()));
    bool composed = true;
    for (std::int64_t row = 0; row < f->shape()[0]; ++row)
      for (std::int64_t column = 0; column < f->shape()[1]; ++column) {
        std::int64_t const at[2] = {row, column};
        Extents const once = f->apply(at);
        std::int64_t const between[2] = {once[0], once[1]};
        composed &= gf->apply(at) == g->apply(between);
      }
    CHECK(composed);
    for (Layout const* wrong : test::spoiled(*f)) {
      CHECK(g->after(*wrong) != gf);
      CHECK(wrong->inverse() != back);
    }
  }
}

TEST_CASE("divide undoes product", "[layout]") {
  Random random(17);
  Layout const* vector = Layout::get({bits(Dim::reg, {{0, 1}, {0, 2}})}, 2);
  Layout const* rows = Layout::blocked({16, 16}, {1, 4}, 4, {1, 0});
  Layout const* quotient = rows->divided_by(*vector);
  REQUIRE(quotient != nullptr);
  CHECK(quotient->shape() == Extents{16, 4});
  CHECK(vector->times(*quotient) == rows);
  CHECK(wgmma_accumulator()->divided_by(*vector) == nullptr);
  int divided = 0;
  for (int i = 0; i < 200; ++i) {
    Layout const* small = random_layout(random, true);
    Layout const* large = random_layout(random, true);
    if (small->rank() != large->rank() || small->shape() != small->atom()) continue;
    Layout const* product = small->times(*large);
    REQUIRE(product != nullptr);
    INFO(small->text() << " times " << large->text());
    for (int o = 0; o < small->rank(); ++o) CHECK(product->shape()[o] == small->shape()[o] * large->shape()[o]);
    CHECK(product->divided_by(*small) == large);
    ++divided;
  }
  CHECK(divided > 5);
}

TEST_CASE("slices, expansion, transposition", "[layout]") {
  Layout const* layout = Layout::blocked({16, 64}, {1, 8}, 4, {1, 0});
  Layout const* rows = layout->sliced(1);
  CHECK(rows->text() == "[lane (0) (0) (0) (1) (2), warp (4) (8)]");
  CHECK(rows->expanded(1) == layout->collapsed(1));
  CHECK(layout->collapsed(1)->squeezed(1) == rows);
  CHECK(layout->sliced(0)->text() == "[register (1) (2) (4), lane (8) (16) (32) (0) (0), warp (0) (0)]");
  CHECK(layout->transposed({1, 0})->transposed({1, 0}) == layout);
  CHECK(layout->transposed({1, 0})->shape() == Extents{64, 16});
  CHECK(layout->transposed({1, 0})->at(3, 9, 2) == Extents{3 + 8, 1 + 8});
  CHECK_THROWS_AS(layout->squeezed(0), InternalError);
}

TEST_CASE("a reduction knows the lanes and warps that it exchanges", "[layout]") {
  Layout const* layout = Layout::blocked({4, 1024}, {1, 4}, {1, 32}, {1, 4}, {1, 0});
  auto const along = layout->reduction(1);
  REQUIRE(along);
  CHECK(along->lane_mask == 31U);
  CHECK(along->warp_mask == 3U);
  auto const down = layout->reduction(0);
  REQUIRE(down);
  CHECK(down->lane_mask == 0U);
  CHECK(down->warp_mask == 0U);
  // A lane bit that moves along both axes has no butterfly of its own.
  Layout const* skew = Layout::get({bits(Dim::lane, {{0, 1}, {1, 1}})}, 2);
  CHECK_FALSE(skew->reduction(0));
  CHECK(wgmma_accumulator()->reduction(1)->lane_mask == 3U);
}

TEST_CASE("registers of one layout found in another", "[layout]") {
  Layout const* layout = Layout::blocked({4, 1024}, {1, 4}, {1, 32}, {1, 4}, {1, 0});
  CHECK(layout->registers_from(*layout).size() == static_cast<std::size_t>(layout->registers()));
  CHECK(layout->registers_from(*layout)[5] == 5);
  Layout const* other = Layout::blocked({4, 1024}, {1, 8}, {1, 32}, {1, 4}, {1, 0});
  CHECK(layout->registers_from(*other).empty());
  // The same threads with the registers in another order.
  Layout const* reversed = Layout::get({bits(Dim::reg, {{0, 2}, {0, 1}}), bits(Dim::lane, {{0, 4}})}, 2);
  Layout const* forward = Layout::get({bits(Dim::reg, {{0, 1}, {0, 2}}), bits(Dim::lane, {{0, 4}})}, 2);
  CHECK(forward->registers_from(*reversed) == std::vector<int>{0, 2, 1, 3});
}

TEST_CASE("the picture names the owner of each element", "[layout]") {
  Layout const* layout = Layout::get({bits(Dim::reg, {{0, 1}}), bits(Dim::lane, {{0, 2}, {1, 0}})}, 2);
  CHECK(layout->picture() ==
        "| l0 r0 | l0 r1 | l1 r0 | l1 r1 |\n"
        "| l2 r0 | l2 r1 | l3 r0 | l3 r1 |\n");
}
