// Tests the comparison that samples, tests and benches share.
#include "../../../samples/support/compare.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "tegula/dsl/element.hpp"

using samples::Comparison;
using tegula::test::ContainsSubstring;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity(), not_a_number = std::numeric_limits<double>::quiet_NaN();

Comparison compared(std::vector<double> const& found, std::vector<double> const& expected, double bound = 1e-3) {
  return samples::compare(found, expected, 1, bound);
}

}  // namespace

TEST_CASE("compare: a NaN in any element is wrong, on either side", "[compare]") {
  std::vector<double> const numbers = {1, -2, 0, 4, 5};
  CHECK(compared(numbers, numbers).right());
  for (std::size_t place = 0; place < numbers.size(); ++place) {
    std::vector<double> other = numbers;
    other[place] = not_a_number;
    for (bool const in_reference : {false, true}) {
      Comparison const all = in_reference ? compared(numbers, other) : compared(other, numbers);
      CHECK_FALSE(all.right());
      CHECK(all.nan() == 1);
      CHECK(all.wrong() == 1);
      CHECK(all.first_wrong() == static_cast<std::int64_t>(place));
      CHECK(all.error() == inf);
    }
    CHECK(compared(other, other).right());
  }
}

TEST_CASE("compare: a NaN hides no error before or behind it, and no error hides a NaN", "[compare]") {
  CHECK(compared({not_a_number, 0}, {0, 0}).wrong() == 1);
  CHECK(compared({not_a_number, 7, not_a_number}, {0, 0, 0}).wrong() == 3);
  CHECK(compared({7, not_a_number, 7}, {0, 0, 0}).nan() == 1);
  CHECK(compared({7, not_a_number, 7}, {0, 0, 0}).wrong() == 3);
}

TEST_CASE("compare: infinities agree only with infinities of the same sign", "[compare]") {
  CHECK(compared({inf, -inf, 1}, {inf, -inf, 1}).right());
  for (auto const& [found, expected] :
       {std::pair{inf, -inf}, {-inf, inf}, {inf, 1e300}, {1e300, inf}, {-1e300, -inf}}) {
    Comparison const all = compared({0, found}, {0, expected}, 1e300);
    CHECK_FALSE(all.right());
    CHECK(all.infinite() == 1);
    CHECK(all.first_wrong() == 1);
  }
  CHECK(compared({inf}, {not_a_number}).nan() == 1);
}

TEST_CASE("compare: a reference of NaNs alone is not right", "[compare]") {
  CHECK(compared({1, 2}, {not_a_number, not_a_number}).wrong() == 2);
  Comparison const all = compared({not_a_number, not_a_number}, {not_a_number, not_a_number});
  CHECK(all.wrong() == 0);
  CHECK_FALSE(all.right());
  CHECK(all.failure() == "2 places, but the reference is NaN at each of them");
  CHECK(compared({not_a_number, 1}, {not_a_number, 1}).right());
}

TEST_CASE("compare: a comparison of no elements or of different sizes is wrong", "[compare]") {
  CHECK_FALSE(Comparison().right());
  CHECK(compared({}, {}).failure() == "nothing was compared");
  CHECK_THROWS_WITH(compared({1}, {1, 2}), ContainsSubstring("1 results, but 2 references"));
  CHECK_THROWS_WITH(compared({1, 2}, {1}), ContainsSubstring("2 results, but 1 references"));
}

template <class T>
void check_unwritten() {
  std::vector<T> found(6, samples::poison<T>());
  std::vector<double> const expected = {1, 2, 3, 1, 0, 1};
  found[5] = static_cast<T>(1);  // a kernel that writes its last place only
  Comparison const all = samples::compare(found, expected, 1, 1e30);
  CHECK(all.unwritten() == 5);
  CHECK(all.wrong() == 5);
  CHECK(all.first_wrong() == 0);
  CHECK_FALSE(samples::is_poison(found[5]));
  // A number as good as any stands where it belongs; a NaN that was never written does not.
  double const own = static_cast<double>(samples::poison<T>());
  CHECK(samples::compare(std::vector<T>{samples::poison<T>()}, {own}, 1, 0).right() == std::is_integral_v<T>);
}

TEST_CASE("compare: elements never written are wrong", "[compare]") {
  check_unwritten<float>();
  check_unwritten<double>();
  check_unwritten<tegula::f16>();
  check_unwritten<tegula::bf16>();
  check_unwritten<tegula::e4m3>();
  check_unwritten<tegula::e5m2>();
  check_unwritten<std::int8_t>();
  check_unwritten<std::int32_t>();
  check_unwritten<std::int64_t>();
}

TEST_CASE("compare: errors are measured in units, and invalid units are wrong", "[compare]") {
  Comparison all(0.5);
  all.add(0, 1.0, 1.0, 0);
  all.add(1, -0.0, 0.0, 0);
  all.add(2, 1.5, 1.25, 0.5);
  CHECK(all.right());
  CHECK(all.error() == 0.5);
  CHECK(all.worst_place() == 2);
  all.add(3, 1.5, 1.25, 0.25);
  CHECK(all.wrong() == 1);
  for (double const unit : {0.0, not_a_number, -1.0}) {
    Comparison other(1e300);
    other.add(0, 1.0, 2.0, unit);
    CHECK_FALSE(other.right());
  }
  CHECK_FALSE(compared({1}, {2}, not_a_number).right());
}

TEST_CASE("compare: the text names counts and the first wrong element, also of parts joined in any order",
          "[compare]") {
  Comparison one(1e-3), other(1e-3);
  one.add(8, not_a_number, 0.25, 1, false);
  one.add(9, 1.0, 1.0, 1, false);
  other.add(3, inf, 2.0, 1, false);
  other.add(4, not_a_number, 2.0, 1, true);
  Comparison const first = one;
  one.join(other), other.join(first);
  std::string const text =
      "3 of 4 places are wrong (1 NaN, 1 infinite, 1 unwritten), the first at 3: found inf, expected 2; error inf (at "
      "most 1.0e-03)";
  CHECK(one.failure() == text);
  CHECK(other.str() == text);
  Comparison right(1e-3);
  right.add(0, 1.0, 1.0);
  right.join(Comparison(1e-3));
  CHECK(right.failure() == "");
  CHECK(right.str() == "1 places; error 0.0e+00 (at most 1.0e-03)");
}
