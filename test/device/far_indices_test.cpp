// Tests indices, bounds of loops and amounts of shifts of any 64 bits on a device.
#include <cstdint>
#include <random>
#include <vector>

#include "hand_written_ptx.hpp"
#include "support/catch.hpp"
#include "kernels/far_kernels.hpp"
#include "support/wide_integer.hpp"

using namespace tegula;
using namespace tegula::test::far;
using support::Int128;

namespace {

constexpr std::int64_t guard = 4096;  ///< elements in front of a tensor, and behind it

/// Runs a kernel that changes a tile of 8, and compares the tensor and its surroundings.
template <class K>
void check_stores(K const& kernel, std::int64_t step, float expected) {
  cuda_stream const order;
  buffer<float> memory(order.where(), extent + 2 * guard);
  device_view<float, 1> const x(memory.on_device().data() + guard, extent);
  std::vector<float> const ones(static_cast<std::size_t>(extent + 2 * guard), 1);
  for (std::int64_t const at : edges()) {
    memory.copy_from(ones);
    launch(order, kernel, x, at);
    order.synchronize();
    std::vector<float> found(ones.size()), wanted = ones;
    memory.copy_to(found);
    for (int i = 0; i < 8; ++i)
      if (Int128 const place = Int128(at) * step + i; place >= 0 && place < extent)
        wanted[static_cast<std::size_t>(place + guard)] = expected;
    INFO("index " << at);
    REQUIRE(found == wanted);
  }
}

}  // namespace

TEST_CASE("a tile far outside of its tensor is not stored on a device, whatever its number", "[sanitize][N9]") {
  TEGULA_NEED_HOPPER();
  check_stores(store_tile, 8, 9);
  check_stores(store_elements, 1, 9);
  check_stores(add_tile, 8, 10);
}

TEST_CASE("comparisons of coordinates that wrap are right on a device", "[N9]") {
  TEGULA_NEED_HOPPER();
  cuda_stream const order;
  buffer<float> y(order.where(), 4096);
  std::vector<std::int64_t> const numbers = edges();
  std::mt19937_64 random(12);
  for (int i = 0; i < 200; ++i) {
    std::int64_t const at = numbers[random() % numbers.size()];
    std::int64_t const limit = i % 2 == 0 ? numbers[random() % numbers.size()]
                                          : static_cast<std::int64_t>(static_cast<std::uint64_t>(at) + random() % 5000);
    launch(order, masked, y, at, limit);
    order.synchronize();
    std::vector<float> found(4096);
    y.copy_to(found);
    int wrong = 0;
    for (std::uint64_t c = 0; c < 4096; ++c)
      wrong += found[c] != (static_cast<std::int64_t>(c + static_cast<std::uint64_t>(at)) < limit ? 1.0F : 0.0F);
    INFO(at << " against " << limit);
    REQUIRE(wrong == 0);
  }
}

TEST_CASE("loops end on a device where their counter would pass the ends of 64 bits", "[N9]") {
  TEGULA_NEED_HOPPER();
  cuda_stream const order;
  buffer<std::int64_t> y(order.where(), 8);
  for (auto const& [lower, upper, step] : loops) {
    std::uint64_t expected = 0;
    for (Int128 i = lower; i < upper; i += step)
      expected = expected * 3 + static_cast<std::uint64_t>(static_cast<std::int64_t>(i));
    launch(order, counted, y, lower, upper, step);
    order.synchronize();
    std::vector<std::int64_t> found(8);
    y.copy_to(found);
    INFO("from " << lower << " to " << upper << " by " << step);
    for (std::int64_t const number : found) REQUIRE(number == static_cast<std::int64_t>(expected));
  }
}

TEST_CASE("shifts take all bits of their amounts on a device", "[N9]") {
  TEGULA_NEED_HOPPER();
  cuda_stream const order;
  std::vector<std::uint64_t> amounts;
  for (std::int64_t const edge : edges()) amounts.push_back(static_cast<std::uint64_t>(edge));
  for (std::uint64_t const edge : {63U, 64U, 65U, 33U}) amounts.push_back(edge);
  std::mt19937_64 random(13);
  std::vector<std::uint64_t> numbers(amounts.size()), left(amounts.size()), right(amounts.size());
  for (std::uint64_t& number : numbers) number = random();
  auto const count = static_cast<std::int64_t>(amounts.size());
  buffer<std::uint64_t> x(order.where(), count), by(order.where(), count), l(order.where(), count),
      r(order.where(), count);
  x.copy_from(numbers);
  by.copy_from(amounts);
  launch(order, shifted, x, by, l, r);
  order.synchronize();
  l.copy_to(left);
  r.copy_to(right);
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    INFO(numbers[i] << " by " << amounts[i]);
    CHECK(left[i] == (amounts[i] < 64 ? numbers[i] << amounts[i] : 0));
    CHECK(right[i] == (amounts[i] < 64 ? numbers[i] >> amounts[i] : 0));
  }
}
