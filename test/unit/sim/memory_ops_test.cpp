// Tests ops on tensors: borders, slices, permuted axes, elements at indices.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "ops_support.hpp"

using namespace tegula;
using test::HostTensor;
using test::module_of;
using test::simulate;
using test::Wide;

namespace {

void borders() {
  auto const module = module_of(R"(kernel @k(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>, %i: i64, %j: i64) {
  %t = load %x, %i, %j {pad = 7.5 : f32} : tile<4x8xf32>
  store %y, %t, %i, %j
  return
})");
  std::mt19937_64 random(25);
  for (std::int64_t i :
       {std::int64_t{-5}, std::int64_t{-2}, std::int64_t{0}, std::int64_t{3}, std::int64_t{6}, INT64_MIN, INT64_MAX}) {
    for (std::int64_t j : {std::int64_t{-9}, std::int64_t{-3}, std::int64_t{0}, std::int64_t{4}, INT64_MAX - 2}) {
      HostTensor x(Element::f32, {6, 9}, 3);
      HostTensor y = HostTensor::transposed(Element::f32, {5, 7});
      x.fill(random);
      for (std::int64_t n = 0; n < y.count(); ++n) y.set_number(n, -1);
      REQUIRE(
          simulate(module, {x.view(), y.view(), ir::make_constant(Element::i64, i), ir::make_constant(Element::i64, j)})
              .clean());
      CHECK(y.gaps_untouched());
      for (int r = 0; r < 5; ++r)
        for (int c = 0; c < 7; ++c) {
          bool const in_box = r >= i && static_cast<Wide>(r) - i < 4 && c >= j && static_cast<Wide>(c) - j < 8;
          CHECK(y(r, c) == (in_box ? (r < 6 && c < 9 ? x(r, c) : 7.5) : -1));
        }
    }
  }
}

/// Loads from a slice of a slice, stores to one, and returns its extents; begins and ends are clipped.
void slices() {
  auto const module = module_of(
      R"(kernel @k(%x: in tensor<?x?xi32>, %b: in tensor<?xi64>, %y: out tensor<?x?xi32>, %n: out tensor<?xi64>) {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %2 = constant {value = 2 : i64} : i64
  %begin = load %b, %0 : i64
  %end = load %b, %1 : i64
  %rows = slice %x, %begin, %end : tensor<?x?xi32>
  %part = slice %rows, %1, %2 {axis = 1} : tensor<?x?xi32>
  %v = load %part, %0, %0 {pad = -9 : i32} : tile<4x2xi32>
  %into = slice %y, %2, %begin {axis = 1} : tensor<?x?xi32>
  store %into, %v, %0, %0
  %e0 = extent %part : i64
  %e1 = extent %part {axis = 1} : i64
  %t0 = splat %e0 : tile<1xi64>
  %t1 = splat %e1 : tile<1xi64>
  store %n, %t0, %0
  store %n, %t1, %1
  return
})");
  HostTensor x(Element::i32, {5, 3});
  for (int k = 0; k < 15; ++k) x.set_number(k, 10 + k);
  for (auto const& [begin, end] : {std::pair<int, int>{3, 5}, {-2, 9}, {4, 1}, {7, 8}}) {
    HostTensor b(Element::i64, {2}), y(Element::i32, {4, 5}), n(Element::i64, {2});
    b.set_number(0, begin);
    b.set_number(1, end);
    for (int k = 0; k < 20; ++k) y.set_number(k, -5);
    REQUIRE(simulate(module, {x.view(), b.view(), y.view(), n.view()}).clean());
    int const first = std::clamp(begin, 0, 5), last = std::clamp(end, first, 5);
    int const stored = std::clamp(begin, 2, 5) - 2;  // columns from 2 on
    INFO("rows " << begin << " to " << end);
    CHECK(n(0) == last - first);
    CHECK(n(1) == 1);
    for (int row = 0; row < 4; ++row)
      for (int column = 0; column < 5; ++column) {
        double expected = -5;
        if (column >= 2 && column < 2 + std::min(stored, 2))
          expected = column == 2 && first + row < last ? 10 + 3 * (first + row) + 1 : -9;
        CHECK(y(row, column) == expected);
      }
  }
}

/// Gathers, scatters and changes elements at indices, some of which lie outside; loads one element.
void indices() {
  auto const module = module_of(
      R"(kernel @k(%x: in tensor<?x?xi32>, %i: in tensor<?xi32>, %y: out tensor<?xi32>, %n: inout tensor<?xi32>, %o: out tensor<?xi32>) {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %at = load %i, %0 : tile<4xi32>
  %row = load %i, %1 : i32
  %row64 = cast %row : i64
  %g = gather %x, %row64, %at {pad = -1 : i32} : tile<4xi32>
  scatter %y, %g, %at
  %five = constant {value = 5 : i32} : tile<4xi32>
  %seven = constant {value = 7 : i32} : tile<4xi32>
  %a = atomic_update %n, %five, %at {combine = max} : tile<4xi32>
  %b = compare_exchange %n, %five, %seven, %at : tile<4xi32>
  %s = add %a, %b : tile<4xi32>
  store %o, %s, %0
  return
})");
  HostTensor x(Element::i32, {3, 4}), i(Element::i32, {4}), y(Element::i32, {4}), n(Element::i32, {4}),
      o(Element::i32, {4});
  for (int k = 0; k < 12; ++k) x.set_number(k, 10 + k);
  int const at[] = {3, 2, -1, 0}, before[] = {1, 2, 9, 9};
  for (int k = 0; k < 4; ++k) {
    i.set_number(k, at[k]);
    n.set_number(k, before[k]);
    y.set_number(k, -5);
  }
  REQUIRE(simulate(module, {x.view(), i.view(), y.view(), n.view(), o.view()}).clean());
  // Row 2 of x at columns 3, 2, outside, 0.
  int const scattered[] = {18, -5, 20, 21}, after[] = {7, 2, 9, 9}, olds[] = {9 + 9, 9 + 9, 0, 1 + 5};
  for (int k = 0; k < 4; ++k) {
    CHECK(y(k) == scattered[k]);
    CHECK(n(k) == after[k]);
    CHECK(o(k) == olds[k]);
  }
}

/// Loads and stores through tensors whose axes changed places, of a slice and with a slice, and returns their extents.
void permutations() {
  auto const module = module_of(
      R"(kernel @k(%x: in tensor<?x?x?xi32>, %y: out tensor<?x?x?xi32>, %n: out tensor<?xi64>) {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %3 = constant {value = 3 : i64} : i64
  %p = permute %x {permutation = [1, 0, 2]} : tensor<?x?x?xi32>
  %rows = slice %p, %1, %3 {axis = 1} : tensor<?x?x?xi32>
  %v = load %rows, %1, %0, %0 {pad = -9 : i32} : tile<3x5xi32>
  %q = permute %y {permutation = [1, 0, 2]} : tensor<?x?x?xi32>
  store %q, %v, %1, %0, %0
  %e = extent %q : i64
  %t = splat %e : tile<1xi64>
  store %n, %t, %0
  return
})");
  HostTensor x(Element::i32, {4, 2, 5}), y(Element::i32, {3, 2, 5}), n(Element::i64, {1});
  for (int k = 0; k < 40; ++k) x.set_number(k, 100 + k);
  for (int k = 0; k < 30; ++k) y.set_number(k, -5);
  REQUIRE(simulate(module, {x.view(), y.view(), n.view()}).clean());
  CHECK(n(0) == 2);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 5; ++k) {
      CHECK(y(i, 0, k) == -5);
      CHECK(y(i, 1, k) == (i < 2 ? x(i + 1, 1, k) : -9));
    }
}

}  // namespace

std::vector<void (*)()> test::memory_checks() { return {borders, slices, indices, permutations}; }

TEST_CASE("loads pad and stores drop outside the tensor", "[sim][F30]") { borders(); }
TEST_CASE("slices of tensors are clipped to them, and count from their begin", "[sim]") { slices(); }
TEST_CASE("permuted tensors have their axes in another order", "[sim]") { permutations(); }
TEST_CASE("elements at indices are gathered, scattered and changed", "[sim][F30]") { indices(); }

TEST_CASE("a tile of lower rank takes one element of each leading axis", "[sim]") {
  auto const module = module_of(R"(kernel @k(%x: in tensor<?x?x?xf16>, %y: out tensor<?x?x?xf16>, %b: i64) {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %t = load %x, %b, %1, %0 : tile<5xf16>
  store %y, %t, %b, %0, %0
  return
})");
  std::mt19937_64 random(26);
  HostTensor x(Element::f16, {3, 2, 5}), y(Element::f16, {3, 1, 4});
  x.fill(random);
  REQUIRE(simulate(module, {x.view(), y.view(), ir::make_constant(Element::i64, std::int64_t{2})}).clean());
  for (int i = 0; i < 4; ++i) CHECK(y(2, 0, i) == x(2, 1, i));
  // A leading offset outside the tensor gives padding and stores nothing.
  HostTensor const before = y;
  REQUIRE(simulate(module, {x.view(), y.view(), ir::make_constant(Element::i64, std::int64_t{3})}).clean());
  for (int i = 0; i < 4; ++i) CHECK(y(2, 0, i) == before(2, 0, i));
}
