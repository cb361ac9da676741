// Tests layouts of reshaped, repeated and cut tiles against row-major arithmetic.
#include <random>

#include "layout/fragment_layouts.hpp"
#include "layout/layout.hpp"
#include "layout/parts.hpp"
#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::layout;

namespace {

using Random = std::mt19937_64;

std::int64_t below(Random& random, std::int64_t bound) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
}

/// Draws a blocked layout of a tile whose extents have odd factors now and then.
Layout const* drawn(Random& random) {
  Extents shape, per_thread, order;
  int const rank = static_cast<int>(1 + below(random, 3));
  for (int axis = 0; axis < rank; ++axis) {
    std::int64_t const power = std::int64_t{1} << below(random, 5);
    shape.push_back(below(random, 4) == 0 ? 3 * power : power);
    per_thread.push_back(std::min<std::int64_t>(power, 2));
    order.push_back(rank - 1 - axis);
  }
  return Layout::blocked(shape, per_thread, static_cast<int>(1 << below(random, 3)), order);
}

std::int64_t row_major(Extents const& at, Extents const& shape) {
  std::int64_t linear = 0;
  for (int axis = 0; axis < shape.size(); ++axis) linear = linear * shape[axis] + at[axis];
  return linear;
}

}  // namespace

TEST_CASE("a reshaped layout holds the same row-major elements in every register", "[layout]") {
  Random random(41);
  int found = 0;
  for (int i = 0; i < 400; ++i) {
    Layout const* const from = drawn(random);
    std::int64_t const count = from->shape().product();
    Extents shape;
    std::int64_t left = count;
    for (int axis = 0; axis < 2; ++axis) {
      std::int64_t extent = 1 + below(random, left);
      while (left % extent != 0) --extent;
      shape.push_back(extent);
      left /= extent;
    }
    shape.push_back(left);
    Layout const* const to = from->reshaped(shape);
    if (to == nullptr) {
      CHECK(count % 3 == 0);  // powers of two always go
      continue;
    }
    ++found;
    REQUIRE(to->shape() == shape);
    REQUIRE(to->reshaped(from->shape()) == from);
    for (int w = 0; w < from->warps(); ++w)
      for (int l = 0; l < from->lanes(); ++l)
        for (int r = 0; r < from->registers(); ++r)
          REQUIRE(row_major(to->at(r, l, w), shape) == row_major(from->at(r, l, w), from->shape()));
  }
  CHECK(found > 200);
}

TEST_CASE("threads hold their part of every repetition, and adjacent elements stay adjacent", "[layout]") {
  Random random(42);
  for (int i = 0; i < 300; ++i) {
    Layout const* const box = drawn(random);
    int const axis = static_cast<int>(below(random, box->rank()));
    std::int64_t const count = 1 + below(random, 4);
    Layout const* const whole = box->repeated(axis, count);
    INFO(box->text() << " x " << count << " along " << axis << ": " << whole->text());
    Extents shape = box->shape();
    shape[axis] *= count;
    REQUIRE(whole->shape() == shape);
    REQUIRE(whole->contiguous(box->rank() - 1) >= box->contiguous(box->rank() - 1));
    Extents offsets;
    for (int a = 0; a < shape.size(); ++a) offsets.push_back(0);
    for (std::int64_t k = 0; k < count; ++k) {
      offsets[axis] = k * box->shape()[axis];
      REQUIRE_FALSE(registers_of_part(*whole, *box, offsets).empty());
      Layout const* const part = part_of(*whole, box->shape(), offsets);
      REQUIRE(part != nullptr);
      std::vector<int> const from = registers_of_part(*whole, *part, offsets);
      for (int l = 0; l < part->lanes(); ++l)
        for (int r = 0; r < part->registers(); ++r) {
          Extents at = part->at(r, l, 0);
          for (int a = 0; a < at.size(); ++a) at[a] += offsets[a];
          REQUIRE(whole->at(from[static_cast<std::size_t>(r)], l, 0) == at);
        }
    }
  }
}

TEST_CASE("a box across lanes has no part in the registers of its threads", "[layout]") {
  Layout const* const row = Layout::blocked({64}, {2}, 1, {0});
  CHECK(part_of(*row, {32}, {0}) == nullptr);
  CHECK(part_of(*row, {1}, {0}) == nullptr);
  CHECK(part_of(*row, {64}, {0}) == row);
}

TEST_CASE("parts along an axis have one layout, or none", "[layout]") {
  std::string why;
  Layout const* const whole = wgmma_layout({64, 192}, WarpGrid{4, 1}, why);
  REQUIRE(whole != nullptr);
  Layout const* const third = layout_of_parts(*whole, {64, 192}, {64, 64}, 1);
  REQUIRE(third != nullptr);
  for (std::int64_t const column : {0, 64, 128}) CHECK(part_of(*whole, {64, 64}, {0, column}) == third);
  CHECK(layout_of_parts(*whole, {64, 192}, {32, 192}, 0) == nullptr);  // warps hold rows
  CHECK(layout_of_parts(*whole, {64, 192}, {64, 4}, 1) == nullptr);    // lanes hold 8 columns
}

TEST_CASE("columns of warpgroups are an axis of their own, whatever odd factors they have", "[layout]") {
  for (int const groups : {2, 3, 5})
    for (std::int64_t const each : {96, 128, 160, 192, 224, 320, 384}) {
      std::string why;
      Layout const* const from = wgmma_layout({64, groups * each}, WarpGrid{4, groups}, why);
      CAPTURE(groups, each, why);
      REQUIRE(from != nullptr);
      Extents const shape = {64, groups, each};
      Layout const* const to = from->reshaped(shape);
      REQUIRE(to != nullptr);
      for (int w = 0; w < from->warps(); ++w)
        for (int l = 0; l < from->lanes(); ++l)
          for (int r = 0; r < from->registers(); ++r) {
            REQUIRE(row_major(to->at(r, l, w), shape) == row_major(from->at(r, l, w), from->shape()));
            REQUIRE(to->at(r, l, w)[1] == w / 4);
          }
    }
}
