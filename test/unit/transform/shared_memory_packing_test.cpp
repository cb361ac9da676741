#include "transform/common/shared_memory_packing.hpp"

#include <algorithm>
#include <random>

#include "support/catch.hpp"

using namespace tegula::transform;

namespace {

struct Range {
  int first, last;
};

/// Items with ranges on a line, of any sizes and alignments.
struct Random {
  std::vector<PackItem> items;
  std::vector<Range> ranges;

  explicit Random(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    auto const pick = [&](std::uint64_t below) { return static_cast<int>(random() % below); };
    for (int i = 2 + pick(30); i > 0; --i) {
      std::int64_t const align = std::int64_t{1} << (pick(2) == 0 ? 4 : pick(11));
      items.push_back({8 * (1 + pick(pick(3) == 0 ? 4096 : 256)), align, -1});
      int const first = pick(40);
      ranges.push_back({first, first + pick(12)});
    }
  }
  [[nodiscard]] bool together(std::size_t a, std::size_t b) const {
    return ranges[a].first <= ranges[b].last && ranges[b].first <= ranges[a].last;
  }
  [[nodiscard]] std::int64_t max_live() const {
    std::int64_t max = 0;
    for (int at = 0; at < 60; ++at) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < items.size(); ++i)
        if (ranges[i].first <= at && at <= ranges[i].last) sum += items[i].bytes;
      max = std::max(max, sum);
    }
    return max;
  }
  [[nodiscard]] std::vector<std::int64_t> packed() const {
    return pack(
        items, [&](std::size_t a, std::size_t b) { return together(a, b); }, max_live());
  }
};

}  // namespace

TEST_CASE("packing: buffers that are live together do not overlap, and every offset is aligned") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random const random(seed);
    auto const offsets = random.packed();
    INFO("seed " << seed);
    for (std::size_t a = 0; a < offsets.size(); ++a) {
      REQUIRE(offsets[a] >= 0);
      REQUIRE(offsets[a] % random.items[a].align == 0);
      for (std::size_t b = a + 1; b < offsets.size(); ++b)
        if (random.together(a, b)) {
          bool const apart =
              offsets[a] + random.items[a].bytes <= offsets[b] || offsets[b] + random.items[b].bytes <= offsets[a];
          REQUIRE(apart);
        }
    }
    REQUIRE(random.packed() == offsets);
  }
}

TEST_CASE("packing: the total is close to the bytes that are live at one time") {
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random const random(seed);
    sum += static_cast<double>(packed_bytes(random.items, random.packed())) / static_cast<double>(random.max_live());
  }
  CHECK(sum / 300 <= 1.02);
}

TEST_CASE("packing: buffers with an offset keep it, and others avoid it") {
  std::vector<PackItem> const items = {{64, 16, -1}, {64, 16, 32}, {32, 16, -1}};
  auto const all = [](std::size_t, std::size_t) { return true; };
  auto const offsets = pack(items, all);
  CHECK(offsets == std::vector<std::int64_t>{96, 32, 0});
  CHECK(packed_bytes(items, offsets) == 160);
  auto const none = [](std::size_t, std::size_t) { return false; };
  CHECK(pack(items, none) == std::vector<std::int64_t>{0, 32, 0});
}
