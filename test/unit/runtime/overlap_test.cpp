// Tests the overlap of strided tensors: hand-picked cases and comparison with a set of bytes.
#include <random>
#include <set>
#include <vector>

#include "runtime/overlap.hpp"
#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::runtime;

namespace {

Footprint make(std::int64_t base, std::int64_t element, std::vector<std::int64_t> extents,
               std::vector<std::int64_t> strides) {
  Footprint f;
  f.base = base;
  f.element_bytes = element;
  f.rank = static_cast<int>(extents.size());
  for (int i = 0; i < f.rank; ++i) {
    f.extents[i] = extents[static_cast<std::size_t>(i)];
    f.strides[i] = strides[static_cast<std::size_t>(i)];
  }
  return f;
}

/// Collects all bytes of a small tensor; `twice` tells whether two elements share one.
std::set<std::int64_t> bytes_of(Footprint const& f, bool& twice) {
  std::set<std::int64_t> bytes;
  std::int64_t count = 1;
  for (int i = 0; i < f.rank; ++i) count *= f.extents[i];
  twice = false;
  for (std::int64_t n = 0; n < count; ++n) {
    std::int64_t rest = n;
    std::int64_t at = f.base;
    for (int i = 0; i < f.rank; ++i) {
      at += rest % f.extents[i] * f.strides[i];
      rest /= f.extents[i];
    }
    for (std::int64_t b = 0; b < f.element_bytes; ++b) twice = !bytes.insert(at + b).second || twice;
  }
  return bytes;
}

}  // namespace

TEST_CASE("interleaved columns do not overlap, shifted ones do") {
  // Even and odd columns of a 100 x 64 f32 matrix.
  Footprint const even = make(1000, 4, {100, 32}, {256, 8});
  CHECK(overlap(even, make(1004, 4, {100, 32}, {256, 8})) == Overlap::none);
  CHECK(overlap(even, make(1008, 4, {100, 32}, {256, 8})) == Overlap::some);
  CHECK(overlap(even, make(1004, 4, {100, 32}, {256, 4})) == Overlap::some);
  // The left and right half of the rows.
  CHECK(overlap(make(0, 4, {100, 32}, {256, 4}), make(128, 4, {100, 32}, {256, 4})) == Overlap::none);
  // One row against a column that crosses it.
  CHECK(overlap(make(256 * 5, 4, {64}, {4}), make(12, 4, {100}, {256})) == Overlap::some);
  CHECK(overlap(make(0, 4, {0, 5}, {4, 4}), make(0, 4, {5, 5}, {20, 4})) == Overlap::none);
  // Reversed rows of huge tensors: over 2^31 elements.
  Footprint const huge = make(0, 2, {1 << 20, 1 << 14}, {1 << 15, 2});
  CHECK(overlap(huge, make(std::int64_t{1} << 35, 2, {1 << 20, 1 << 14}, {1 << 15, 2})) == Overlap::none);
  CHECK(overlap(huge, make((std::int64_t{1} << 35) - 2, 2, {4}, {-2})) == Overlap::some);
}

TEST_CASE("an output whose elements overlap is found") {
  CHECK(self_overlap(make(0, 4, {10, 10}, {40, 4})) == Overlap::none);
  CHECK(self_overlap(make(0, 4, {10, 10}, {0, 4})) == Overlap::some);
  CHECK(self_overlap(make(0, 4, {10, 1}, {4, 0})) == Overlap::none);
  CHECK(self_overlap(make(0, 4, {10, 10}, {4, 4})) == Overlap::some);   // a sliding window
  CHECK(self_overlap(make(0, 4, {10, 10}, {2, 40})) == Overlap::some);  // halves of elements
  CHECK(self_overlap(make(0, 4, {2, 3}, {12, 8})) == Overlap::none);    // 0 8 16 12 20 28: not nested, yet apart
}

TEST_CASE("overlap agrees with the set of bytes on random small tensors") {
  std::mt19937 random(12345);
  auto const pick = [&](int min, int max) { return std::uniform_int_distribution<int>(min, max)(random); };
  auto const any = [&] {
    std::vector<std::int64_t> extents;
    std::vector<std::int64_t> strides;
    for (int i = pick(1, 3); i > 0; --i) {
      extents.push_back(pick(1, 5));
      strides.push_back(pick(-20, 20));
    }
    return make(500 + pick(0, 120), std::int64_t{1} << pick(0, 3), extents, strides);
  };
  int overlapping = 0;
  int self_overlapping = 0;
  for (int i = 0; i < 20000; ++i) {
    Footprint const a = any();
    Footprint const b = any();
    bool a_twice = false;
    bool b_twice = false;
    std::set<std::int64_t> const bytes_a = bytes_of(a, a_twice);
    std::set<std::int64_t> const bytes_b = bytes_of(b, b_twice);
    bool expected = false;
    for (std::int64_t byte : bytes_b) expected = expected || bytes_a.count(byte) != 0;
    overlapping += expected;
    self_overlapping += a_twice;
    REQUIRE(overlap(a, b) == (expected ? Overlap::some : Overlap::none));
    REQUIRE(overlap(b, a) == (expected ? Overlap::some : Overlap::none));
    REQUIRE(self_overlap(a) == (a_twice ? Overlap::some : Overlap::none));
    ByteRange const range = byte_range(a);
    REQUIRE(range.first == *bytes_a.begin());
    REQUIRE(range.last == *bytes_a.rbegin() + 1);
  }
  CHECK(overlapping > 1000);
  CHECK(overlapping < 19000);
  CHECK(self_overlapping > 1000);
}

TEST_CASE("strides without a common factor are decided, or given up, after few steps") {
  // Lines of bytes and a column beside them: values that leave no multiple of the other stride are not tried.
  constexpr std::int64_t d = 1 << 17, extent = 50001;
  for (std::int64_t const rows : {101, 2001, 50001}) {
    Footprint const a = make(std::int64_t{1} << 30, 1, {rows, extent}, {2 * d, d});
    Footprint const beside = make((std::int64_t{1} << 30) + d / 2, 1, {extent}, {d + 1});
    CHECK(overlap(a, beside) == Overlap::none);
    CHECK(overlap(beside, a) == Overlap::none);
    // Line 7 of the column begins 7 bytes behind a line of the tensor.
    CHECK(overlap(a, make((std::int64_t{1} << 30) - 7, 1, {extent}, {d + 1})) == Overlap::some);
  }
  // Each axis has strides near the others': nothing decides these soon.
  Footprint const wide = make(0, 1, {4001, 4003, 4007}, {1'000'003, 1'000'033, 1'000'037});
  Footprint const other = make(500'000, 1, {4001, 4003, 4007}, {1'000'039, 1'000'081, 1'000'099});
  CHECK(overlap(wide, other) != Overlap::none);
}
