// Tests arguments before their types go: their facts, and the bits of numbers.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tegula/call/pack.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::call;

namespace {

template <class T>
T bits_as(std::int64_t slot) {
  T value;
  std::memcpy(&value, &slot, sizeof value);
  return value;
}

constexpr int minus_one = -1;

struct Foreign {
  static constexpr int rank = 2;
  static constexpr DeviceKind space = DeviceKind::cuda;
  std::vector<double> values = std::vector<double>(6);
  double* data() { return values.data(); }
  [[nodiscard]] int extent(int axis) const { return axis == 0 ? 2 : 3; }
  [[nodiscard]] int stride(int axis) const { return axis == 0 ? 1 : 2; }
};

static_assert(mistake_in<in<float, 1>, std::vector<float> const, StreamKind::any>() == Mistake::none);
static_assert(mistake_in<out<float, 1>, std::vector<float> const, StreamKind::any>() == Mistake::constant);
static_assert(mistake_in<inout<float, 1>, std::array<float, 3>, StreamKind::host>() == Mistake::none);
static_assert(mistake_in<in<float, 1>, std::vector<float>, StreamKind::cuda>() == Mistake::host_on_cuda);
static_assert(mistake_in<in<double, 2>, Foreign, StreamKind::host>() == Mistake::cuda_on_host);
static_assert(mistake_in<in<double, 2>, Foreign, StreamKind::cuda>() == Mistake::none);
static_assert(mistake_in<in<float, 1>, buffer<float>, StreamKind::cuda>() == Mistake::none);
static_assert(mistake_in<in<bf16, 1>, std::vector<f16>, StreamKind::any>() == Mistake::element);
static_assert(mistake_in<arg<float>, int, StreamKind::any>() == Mistake::none);
static_assert(mistake_in<arg<std::int32_t>, float, StreamKind::any>() == Mistake::number_kind);
static_assert(mistake_in<arg<bool>, int, StreamKind::any>() == Mistake::number_kind);
static_assert(mistake_in<arg<std::int64_t>, bool, StreamKind::any>() == Mistake::number_kind);
static_assert(mistake_in<arg<bf16>, float, StreamKind::any>() == Mistake::none);
static_assert(mistake_in<arg<float>, std::vector<float>, StreamKind::any>() == Mistake::not_a_number);
static_assert(mistake_in<in<std::int8_t, 1>, std::vector<std::int8_t>, StreamKind::any>() == Mistake::none);
static_assert(mistake_in<in<e4m3, 1>, std::vector<e4m3> const, StreamKind::any>() == Mistake::none);
static_assert(mistake_in<in<e4m3, 1>, std::vector<e5m2>, StreamKind::any>() == Mistake::element);
static_assert(mistake_in<in<std::int8_t, 1>, std::vector<std::uint8_t>, StreamKind::any>() == Mistake::element);
static_assert(mistake_in<arg<std::int8_t>, int, StreamKind::any>() == Mistake::none);
static_assert(mistake_in<arg<std::int8_t>, e4m3, StreamKind::any>() == Mistake::number_kind);
static_assert(mistake_in<arg<e5m2>, e4m3, StreamKind::any>() == Mistake::none);

}  // namespace

TEST_CASE("numbers become the bits of their parameter's element") {
  CHECK(bits_as<float>(scalar_slot<float>("k", 1, 2.5)) == 2.5f);
  CHECK(bits_as<double>(scalar_slot<double>("k", 1, 7)) == 7.0);
  CHECK(bits_as<std::uint16_t>(scalar_slot<f16>("k", 1, 1.0f)) == 0x3c00);
  CHECK(bits_as<std::uint16_t>(scalar_slot<bf16>("k", 1, bf16(-2.0))) == 0xc000);
  CHECK(scalar_slot<bool>("k", 1, true) == 1);
  CHECK(scalar_slot<std::int32_t>("k", 1, std::int64_t{-5}) == -5);
  CHECK(scalar_slot<std::int32_t>("k", 1, 2147483647U) == 2147483647);
  CHECK(bits_as<std::uint8_t>(scalar_slot<e4m3>("k", 1, 1e6)) == 0x7e);
  CHECK(bits_as<std::uint8_t>(scalar_slot<e5m2>("k", 1, e5m2(-2.0))) == 0xc0);
  CHECK(bits_as<std::uint8_t>(scalar_slot<e5m2>("k", 1, e4m3(448.0))) == 0x5f);
  CHECK(scalar_slot<std::int8_t>("k", 1, -128) == -128);
  CHECK(scalar_slot<std::int8_t>("k", 1, 127U) == 127);
  CHECK(scalar_slot<std::int8_t>("k", 1, static_cast<std::int8_t>(-1)) == -1);
  CHECK_THROWS_AS(scalar_slot<std::int8_t>("k", 1, 300), UserError);
  CHECK_THROWS_AS(scalar_slot<std::int8_t>("k", 1, 128U), UserError);
  CHECK_THROWS_AS(scalar_slot<std::int8_t>("k", 1, std::int64_t{-129}), UserError);
  CHECK_THROWS_AS(scalar_slot<std::int32_t>("k", 1, 2147483648U), UserError);
  CHECK_THROWS_AS(scalar_slot<std::int32_t>("k", 1, std::int64_t{-2147483649}), UserError);
  CHECK_THROWS_AS(scalar_slot<std::int64_t>("k", 1, ~std::uint64_t{0}), UserError);
}

namespace {

template <class T, class X>
bool takes_integer(X x, bool fits) {
  try {
    std::int64_t const slot = scalar_slot<T>("k", 1, x);
    return fits && bits_as<T>(slot) == static_cast<T>(x);
  } catch (UserError const&) {
    return !fits;
  }
}

/// Tries the ends of an integer type X as an argument of each integer element.
template <class X>
bool ends_fit(bool unsigned_source) {
  constexpr X min = std::numeric_limits<X>::min(), max = std::numeric_limits<X>::max();
  bool good = true;
  auto const each = [&]<class T>(T) {
    constexpr bool natural = !std::numeric_limits<T>::is_signed;
    constexpr int digits = std::numeric_limits<T>::digits, given = std::numeric_limits<X>::digits;
    good =
        good && takes_integer<T>(max, given <= digits) && takes_integer<T>(X{1}, true) && takes_integer<T>(X{0}, true);
    good = good && takes_integer<T>(min, unsigned_source || (!natural && given <= digits));
    if (!unsigned_source) good = good && takes_integer<T>(static_cast<X>(-1), !natural);
  };
  each(std::int8_t()), each(std::uint8_t()), each(std::int16_t()), each(std::uint16_t()), each(std::int32_t());
  each(std::uint32_t()), each(std::int64_t()), each(std::uint64_t());
  return good;
}

}  // namespace

TEST_CASE("an integer of any type fits an element that holds its number, and no other") {
  CHECK(ends_fit<signed char>(false));
  CHECK(ends_fit<unsigned char>(true));
  CHECK(ends_fit<short>(false));
  CHECK(ends_fit<unsigned short>(true));
  CHECK(ends_fit<int>(false));
  CHECK(ends_fit<unsigned>(true));
  CHECK(ends_fit<long>(false));
  CHECK(ends_fit<unsigned long>(true));
  CHECK(ends_fit<long long>(false));
  CHECK(ends_fit<unsigned long long>(true));
  CHECK_THROWS_WITH(make_argument<arg<std::uint32_t>>("k", 1, minus_one),
                    test::ContainsSubstring("k: argument 1: -1 does not fit u32, which holds 0 to 4294967295"));
  CHECK_THROWS_WITH(
      make_argument<arg<std::uint64_t>>("k", 3, minus_one),
      test::ContainsSubstring("k: argument 3: -1 does not fit u64, which holds 0 to 18446744073709551615"));
}

TEST_CASE("a number for a float is rounded once") {
  // Rounded to a double first, each of these would become the tie below it, and then the even neighbour.
  std::int64_t const above = (std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1;
  CHECK(bits_as<float>(scalar_slot<float>("k", 1, above)) == 0x1.000002p60F);
  CHECK(bits_as<float>(scalar_slot<float>("k", 1, -above)) == -0x1.000002p60F);
  CHECK(bits_as<float>(scalar_slot<float>("k", 1, static_cast<std::uint64_t>(above) << 3)) == 0x1.000002p63F);
  std::int64_t const wide = (std::int64_t{1} << 62) + (std::int64_t{1} << 54) + 1;
  CHECK(bits_as<std::uint16_t>(scalar_slot<bf16>("k", 1, wide)) == 0x5E81);
  CHECK(bits_as<std::uint16_t>(scalar_slot<bf16>("k", 1, -wide)) == 0xDE81);
  CHECK(bits_as<double>(scalar_slot<double>("k", 1, ~std::uint64_t{0})) == 0x1p64);
  CHECK(bits_as<std::uint16_t>(scalar_slot<f16>("k", 1, 1 + 0x1p-11L + 0x1p-60L)) == 0x3C01);
  CHECK(bits_as<float>(scalar_slot<float>("k", 1, 1 + 0x1p-24L + 0x1p-60L)) == 0x1.000002p0F);
  CHECK(bits_as<std::uint8_t>(scalar_slot<e4m3>("k", 1, 1 + 0x1p-4L + 0x1p-60L)) == 0x39);
}

TEST_CASE("a finite number that would become an infinity is refused, infinities and NaN pass") {
  CHECK_THROWS_WITH((scalar_slot<float>("k", 1, 1e300)),
                    test::ContainsSubstring("k: argument 1: 1e+300 does not fit f32, which ends at 3.40282e+38"));
  CHECK_THROWS_AS(scalar_slot<float>("k", 1, -0x1.ffffffp127), UserError);
  CHECK(bits_as<float>(scalar_slot<float>("k", 1, 0x1.fffffefp127)) == std::numeric_limits<float>::max());
  CHECK_THROWS_WITH((scalar_slot<f16>("k", 2, 65520)),
                    test::ContainsSubstring("k: argument 2: 65520 does not fit f16, which ends at 65504"));
  CHECK(bits_as<std::uint16_t>(scalar_slot<f16>("k", 1, 65519.99)) == 0x7BFF);
  CHECK_THROWS_AS(scalar_slot<f16>("k", 1, std::int64_t{1} << 62), UserError);
  CHECK_THROWS_AS(scalar_slot<f16>("k", 1, bf16(1e30)), UserError);
  CHECK_THROWS_AS(scalar_slot<bf16>("k", 1, std::numeric_limits<float>::max()), UserError);
  CHECK_THROWS_AS(scalar_slot<double>("k", 1, 1e4000L), UserError);
  CHECK(bits_as<std::uint8_t>(scalar_slot<e5m2>("k", 1, -1e300)) == 0xFB);
  CHECK(bits_as<std::uint8_t>(scalar_slot<e4m3>("k", 1, ~std::uint64_t{0})) == 0x7E);
  double const infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(bits_as<float>(scalar_slot<float>("k", 1, -infinity)) == -std::numeric_limits<float>::infinity());
  CHECK(bits_as<std::uint16_t>(scalar_slot<f16>("k", 1, infinity)) == 0x7C00);
  CHECK(bits_as<std::uint16_t>(scalar_slot<bf16>("k", 1, infinity)) == 0x7F80);
  CHECK(std::isnan(bits_as<float>(scalar_slot<float>("k", 1, nan))));
  CHECK(std::isnan(bf16_value(bits_as<std::uint16_t>(scalar_slot<bf16>("k", 1, nan)))));
  CHECK(std::isnan(f16_value(bits_as<std::uint16_t>(scalar_slot<f16>("k", 1, std::nanf(""))))));
  CHECK(bits_as<std::uint8_t>(scalar_slot<e4m3>("k", 1, nan)) == 0x7F);
}

TEST_CASE("a tensor argument holds element, extents, strides and memory space") {
  Foreign foreign;
  Argument const a = make_argument<in<double, 2>>("k", 1, foreign);
  CHECK(a.element == Element::f64);
  CHECK(a.rank == 2);
  CHECK(a.extents[1] == 3);
  CHECK(a.strides[1] == 2);
  CHECK(a.space == DeviceKind::cuda);
  CHECK(a.device_number == -1);
  CHECK(a.address == foreign.values.data());
  buffer<bf16, 2> x(device::host(), 4, 5);
  Argument const b = make_argument<out<bf16, 2>>("k", 1, x);
  CHECK(b.element == Element::bf16);
  CHECK(b.strides[0] == 5);
  CHECK(b.space == DeviceKind::host);
  CHECK(b.allocation == x.allocation());
  CHECK_FALSE(b.read_only);
  std::vector<float> const values(9);
  Argument const c = make_argument<in<float, 1>>("k", 1, values);
  CHECK(c.read_only);
  CHECK(c.extents[0] == 9);
}

TEST_CASE("a grid in a launch runs its last number fastest and folds axes beyond the third") {
  GridOverride const two = override_of(grid(5, 7));
  CHECK(two.extents[0] == 7);
  CHECK(two.extents[1] == 5);
  CHECK(two.extents[2] == 1);
  GridOverride const four = override_of(grid(2, 3, 5, 7));
  CHECK(four.extents[0] == 7);
  CHECK(four.extents[1] == 5);
  CHECK(four.extents[2] == 6);
  CHECK(two.rank == 2);
  CHECK(four.rank == 3);
  std::int64_t const large = std::int64_t{1} << 40;
  CHECK_THROWS_AS(override_of(grid(large, large, 1, 1)), UserError);
  CHECK_THROWS_WITH(
      override_of(grid(std::numeric_limits<std::uint64_t>::max(), 2)),
      test::ContainsSubstring("grid: 18446744073709551615 blocks, at most 9223372036854775807 can be counted"));
}

TEST_CASE("an integer that does not fit its parameter is named as given, also an unsigned one") {
  std::uint64_t const max = std::numeric_limits<std::uint64_t>::max();
  CHECK_THROWS_WITH(make_argument<arg<std::int64_t>>("k", 2, max),
                    test::ContainsSubstring("k: argument 2: 18446744073709551615 does not fit i64"));
  std::int64_t const min = std::numeric_limits<std::int64_t>::min();
  CHECK_THROWS_WITH(make_argument<arg<std::int32_t>>("k", 1, min),
                    test::ContainsSubstring("k: argument 1: -9223372036854775808 does not fit i32"));
}
