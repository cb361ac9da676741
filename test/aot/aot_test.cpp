// Compares kernels that were compiled while this program was built with those of the JIT, bit by bit.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "aot/kernels.hpp"
#include "aot_kernels.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using namespace tegula;

namespace {

/// Makes the JIT compile for the CPU of the embedded code: other vectors and instructions have other orders of sums.
[[maybe_unused]] int const same_cpu = ::setenv("TEGULA_HOST_CPU", "x86-64-v3", 1);

std::vector<device> devices() {
  std::vector<device> result = {device::host()};
  if (device::cuda_count() > 0) result.push_back(device::cuda());
  return result;
}

template <class T, int rank>
std::vector<T> contents(buffer<T, rank> const& from) {
  std::vector<T> values(static_cast<std::size_t>(from.size()));
  from.copy_to(values);
  return values;
}

template <class T>
std::vector<T> random_values(std::int64_t count) {
  static test::Random random(20261124);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = T(static_cast<float>(static_cast<double>(random.next()) * 0x1p-63 - 1));
  return values;
}

template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

void check_product(device on, std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  stream const order(on);
  buffer<bf16, 2> a(on, rows, depth), b(on, depth, columns);
  a.copy_from(random_values<bf16>(rows * depth));
  b.copy_from(random_values<bf16>(depth * columns));
  buffer<float, 2> embedded(on, rows, columns), compiled(on, rows, columns);
  embedded.fill(-1), compiled.fill(-2);
  launch(order, aot_kernels::product, a, b, embedded);
  launch(order, test::product<128, 64, 64>, a, b, compiled);
  order.synchronize();
  INFO(rows << " x " << columns << " x " << depth << " on " << on.str());
  if (rows > 64) {
    CHECK(same_bits(contents(embedded), contents(compiled)));
  } else {  // of another configuration, with another order of sums
    std::vector<float> const x = contents(embedded), y = contents(compiled);
    for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(std::abs(x[i] - y[i]) <= 1e-5F * static_cast<float>(depth));
  }
}

}  // namespace

TEST_CASE("embedded kernels give the bits of the JIT on every device", "[H6][H13][N4]") {
  for (device const on : devices()) {
    INFO(on.str());
    stream const order(on);
    buffer<float> a(on, 5001), b(on, 5001), embedded(on, 5001), compiled(on, 5001);
    a.copy_from(random_values<float>(5001));
    b.copy_from(random_values<float>(5001));
    launch(order, aot_kernels::scaled_sum, a, b, 0.75F, embedded);
    launch(order, test::scaled_sum, a, b, 0.75F, compiled);
    order.synchronize();
    CHECK(same_bits(contents(embedded), contents(compiled)));

    buffer<float, 2> x(on, 37, 200), y(on, 37, 200), z(on, 37, 200);
    x.copy_from(random_values<float>(37 * 200));
    aot_kernels::row_softmax(order, x, y);
    launch(order, test::row_softmax, x, z);
    order.synchronize();
    CHECK(same_bits(contents(y), contents(z)));
  }
}

TEST_CASE("a launch takes the configuration for its extents, and any alignment", "[H15]") {
  for (device const on : devices()) {
    check_product(on, 64, 128, 192);
    check_product(on, 65, 128, 192);
    check_product(on, 300, 72, 128);  // TMA
    check_product(on, 130, 77, 51);   // rows that TMA cannot copy
  }
  buffer<bf16, 2> a(device::host(), 64, 64), b(device::host(), 64, 64);
  buffer<float, 2> c(device::host(), 64, 64), d(device::host(), 128, 64);
  buffer<bf16, 2> tall(device::host(), 128, 64);
  CHECK_THAT(explain(aot_kernels::product, a, b, c), test::ContainsSubstring("embedded, configuration 1 of 2"));
  CHECK_THAT(explain(aot_kernels::product, a, b, c),
             test::ContainsSubstring("-> pointer -> ") && test::ContainsSubstring("  grid: "));
  CHECK_THAT(explain(aot_kernels::product, tall, b, d), test::ContainsSubstring("embedded, configuration 2 of 2"));
}

TEST_CASE("a prepared launch of an embedded kernel repeats, and a freed buffer is refused") {
  for (device const on : devices()) {
    stream const order(on);
    buffer<float> a(on, 100), b(on, 100), y(on, 100);
    a.fill(1), b.fill(2);
    prepared const go = prepare(aot_kernels::scaled_sum, a, b, 3.0F, y);
    for (int i = 0; i < 3; ++i) go(order);
    order.synchronize();
    CHECK(contents(y) == std::vector<float>(100, 5.0F));
    b.free();
    CHECK_THROWS_AS(go(order), UserError);
  }
}

TEST_CASE("mistakes in launches of embedded kernels are errors of the user") {
  std::vector<float> a(10), b(11), y(10);
  CHECK_THROWS_WITH(launch(host_stream(), aot_kernels::scaled_sum, a, b, 1.0F, y),
                    test::ContainsSubstring("scaled_sum: both vectors have one length"));
  CHECK_THROWS_WITH(launch(host_stream(), aot_kernels::scaled_sum, grid(3), a, a, 1.0F, y),
                    test::ContainsSubstring("leave the grid out"));
  std::vector<std::int32_t> x(64, 1), z(64);
  x[5] = -1;
  CHECK_THROWS_WITH(launch(host_stream(), aot_kernels::checked_copy, x, z),
                    test::ContainsSubstring("device_assert failed: a negative number"));
}

TEST_CASE("embedded variants launch the kernel that the table names for the nearest problem", "[H6][N15]") {
  for (device const on : devices()) {
    stream const order(on);
    for (auto const& [rows, label] :
         {std::pair<std::int64_t, std::string>{64, "small"}, {100, "small"}, {700, "large"}}) {
      std::int64_t const columns = rows, depth = 64;
      buffer<bf16, 2> a(on, rows, depth), b(on, depth, columns);
      a.copy_from(random_values<bf16>(rows * depth));
      b.copy_from(random_values<bf16>(depth * columns));
      buffer<float, 2> embedded(on, rows, columns), compiled(on, rows, columns);
      embedded.fill(-1), compiled.fill(-2);
      INFO(explain(aot_kernels::tuned_product, a, b, embedded));
      CHECK_THAT(explain(aot_kernels::tuned_product, a, b, embedded),
                 test::ContainsSubstring(" of 2: " + label + "\n"));
      if (rows != 100) CHECK(choice(test::tuned_product(), a, b, compiled).label == label);  // else the model decides
      launch(order, aot_kernels::tuned_product, a, b, embedded);
      launch(order, test::tuned_product(), a, b, compiled);
      order.synchronize();
      CHECK(same_bits(contents(embedded), contents(compiled)));
    }
  }
}
