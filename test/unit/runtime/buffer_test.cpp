// Tests devices, buffers, views, streams and timers on the host, and their refusals.
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/options.hpp"
#include "tegula/runtime/buffer.hpp"
#include "tegula/runtime/tensor_view.hpp"
#include "tegula/runtime/timer.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using tegula::test::ContainsSubstring;

TEST_CASE("the best device is the host without a driver, and cuda() gives the reason", "[F22]") {
  CHECK(device::host().str() == "host");
  CHECK(device::host().limits().processors >= 1);
  CHECK(device::host().limits().memory_bytes > 0);
  CHECK_FALSE(device::host().name().empty());
  if (device::cuda_count() > 0) {
    CHECK(device::best().is_cuda());
    CHECK(device::cuda_status().empty());
    return;
  }
  CHECK(device::best() == device::host());
  CHECK_FALSE(device::cuda_status().empty());
  CHECK_THROWS_AS(device::cuda(), UserError);
  CHECK_THROWS_WITH(device::cuda(), ContainsSubstring(device::cuda_status()));
  CHECK_THROWS_AS(cuda_stream(), UserError);
  support::Options options;
  options.device = "cuda";
  support::ScopedOptions const scope(options);
  CHECK_THROWS_AS(device::best(), UserError);
}

TEST_CASE("a device that does not exist is refused") {
  CHECK_THROWS_AS(device::cuda(4000), UserError);
  CHECK_THROWS_AS(device::cuda(-1), UserError);
  CHECK_THROWS_AS(cuda_stream(device::host()), UserError);
}

TEST_CASE("a buffer copies in and out and gives typed windows") {
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  buffer x(device::host(), values);
  CHECK(x.size() == 6);
  CHECK(reinterpret_cast<std::uintptr_t>(x.data()) % 256 == 0);
  buffer<float, 2> y(device::host(), 2, 3);
  y.copy_from(values);
  view<float, 2> const window = y.on_host();
  CHECK(window(1, 2) == 6);
  CHECK(window.transposed()(2, 1) == 6);
  CHECK(window.slice(1, 0, 3, 2).extent(1) == 2);
  CHECK(window.slice(1, 0, 3, 2)(1, 1) == 6);
  CHECK(window.slice(1, 0, 3, -1)(0, 0) == 3);
  window(0, 0) = 9;
  std::array<float, 6> out{};
  y.copy_to(out);
  CHECK(out[0] == 9);
  y.fill(7);
  y.copy_to(out);
  CHECK(out[5] == 7);
  buffer<float> z(device::host(), 6);
  z.copy_from(x);
  z.copy_to(out);
  CHECK(out[5] == 6);
  CHECK_THROWS_WITH(z.copy_to(std::vector<float>(5)),
                    ContainsSubstring("5 elements") && ContainsSubstring("buffer of 6"));
  CHECK_THROWS_AS(z.on_device(), UserError);
  static_assert(std::is_same_v<decltype(std::as_const(z).on_host()), view<float const, 1>>);
}

TEST_CASE("a freed or moved-from buffer is a user error, never a crash") {
  buffer<int> x(device::host(), 10);
  x.free();
  CHECK_THROWS_WITH(x.data(), ContainsSubstring("the buffer of 40 bytes on host was freed at "));
  CHECK_THROWS_AS(x.fill(1), UserError);
  x.free();
  buffer<int> y(device::host(), 10);
  y.fill(3);
  buffer<int> z = std::move(y);
  CHECK(y.size() == 0);
  CHECK(y.data() == nullptr);
  CHECK_NOTHROW(y.fill(1));
  y = std::move(z);
  CHECK(y.on_host()(9) == 3);
  buffer<int> empty(device::host(), 0);
  CHECK(empty.data() == nullptr);
  CHECK_NOTHROW(empty.copy_from(std::vector<int>()));
}

TEST_CASE("sizes beyond any memory are refused with the reason") {
  using Big = buffer<double, 3>;
  CHECK_THROWS_WITH(Big(device::host(), std::int64_t{1} << 31, std::int64_t{1} << 31, 1 << 10),
                    ContainsSubstring("64-bit"));
  CHECK_THROWS_WITH(Big(device::host(), 3, -1, 2), ContainsSubstring("extent -1 of axis 1 is negative"));
  CHECK_THROWS_WITH(buffer<char>(device::host(), std::int64_t{1} << 61), ContainsSubstring("cannot allocate"));
}

TEST_CASE("views are made from pointers, containers and other views") {
  std::vector<double> values(12);
  view const whole(values);
  static_assert(std::is_same_v<decltype(whole), view<double, 1> const>);
  CHECK(whole.extent(0) == 12);
  view const matrix(values.data(), 3, 4);
  static_assert(std::is_same_v<decltype(matrix), view<double, 2> const>);
  CHECK(matrix.stride(0) == 4);
  view<double const, 2> const reading = matrix;
  CHECK(reading.data() == values.data());
  std::int64_t const extents[] = {2, 2};
  std::int64_t const strides[] = {8, 2};
  view const strided(values.data(), extents, strides);
  CHECK(&strided(1, 1) == values.data() + 10);
  std::vector<double> const constant(3);
  static_assert(std::is_same_v<decltype(view(constant)), view<double const, 1>>);
  static_assert(!std::is_convertible_v<view<double const, 2>, view<double, 2>>);
  static_assert(!std::is_convertible_v<device_view<double, 2>, view<double, 2>>);
}

TEST_CASE("a timer on the host measures between start and stop") {
  timer clock{host_stream()};
  CHECK_THROWS_AS(clock.stop(), UserError);
  clock.start();
  CHECK_THROWS_AS(clock.seconds(), UserError);
  clock.stop();
  CHECK(clock.seconds() >= 0);
}

TEST_CASE("extents beyond 63 bits and steps of 0 are refused with the values given") {
  std::vector<float> x(10);
  CHECK_THROWS_WITH(buffer<float>(device::host(), std::numeric_limits<std::uint64_t>::max()),
                    ContainsSubstring("an extent of 18446744073709551615"));
  CHECK_THROWS_WITH(view(x.data(), std::numeric_limits<std::uint64_t>::max()),
                    ContainsSubstring("an extent of 18446744073709551615"));
  CHECK_THROWS_WITH(view(x).slice(0, 0, 10, 0), ContainsSubstring("slice along axis 0 with a step of 0"));
  static_assert(view<float, 1>(nullptr, 10U).slice(0, 0, 10, 3).extent(0) == 4);
}

TEST_CASE("axes and elements that a tensor does not have are refused with the numbers given") {
  std::vector<float> x(12);
  buffer<float, 2> made(device::host(), 3, 4);
  view<float, 2> const window(x.data(), 3, 4);
  tensor_view const described(window);
  CHECK_THROWS_WITH(made.extent(2), ContainsSubstring("axis 2 of a tensor of 2 axes: axes are counted from 0 to 1"));
  CHECK_THROWS_WITH(made.stride(-3), ContainsSubstring("axis -3 of a tensor of 2 axes"));
  CHECK_THROWS_WITH(window.extent(-1), ContainsSubstring("axis -1 of a tensor of 2 axes"));
  CHECK_THROWS_WITH(window.stride(2), ContainsSubstring("axis 2 of a tensor of 2 axes"));
  CHECK_THROWS_WITH(described.extent(7), ContainsSubstring("axis 7 of a tensor of 2 axes"));
  CHECK_THROWS_WITH(window.slice(2, 0, 1), ContainsSubstring("axis 2 of a tensor of 2 axes"));
  CHECK_THROWS_WITH(view(x).transposed(), ContainsSubstring("axis -1 of a tensor of 1 axis"));
  CHECK_THROWS_WITH(window.slice(1, 2, 5), ContainsSubstring("the elements 2 to 4 along axis 1, which has 4"));
  CHECK_THROWS_WITH(window.slice(0, -1, 2), ContainsSubstring("the elements -1 to 1 along axis 0, which has 3"));
  CHECK(window.slice(1, 9, 9).extent(1) == 0);
  CHECK(window.slice(1, 1, 4, 2).extent(1) == 2);
}

TEST_CASE("copies from and to a null address are refused with their bytes") {
  struct Nothing {
    [[nodiscard]] float* data() const { return nullptr; }
    [[nodiscard]] std::int64_t size() const { return 4; }
  };
  buffer<float> made(device::host(), 4);
  CHECK_THROWS_WITH(made.copy_from(Nothing()), ContainsSubstring("a copy of 16 bytes from a null address"));
  CHECK_THROWS_WITH(made.copy_to(Nothing()), ContainsSubstring("a copy of 16 bytes to a null address"));
  buffer<float> none(device::host(), 0);
  none.copy_from(std::vector<float>());
}

TEST_CASE("a stream that was moved from is the same stream") {
  stream first(device::host());
  stream const second = std::move(first);
  CHECK(first.where() == second.where());
  first.synchronize();
}

TEST_CASE("a timer that was moved from is refused") {
  timer first{stream(device::host())};
  timer const second = std::move(first);
  CHECK_THROWS_WITH(first.start(), ContainsSubstring("moved from"));
  CHECK_THROWS_WITH(first.seconds(), ContainsSubstring("moved from"));
}

TEST_CASE("views: slices by steps near the ends of 64 bits count their elements") {
  std::vector<float> x(100);
  std::int64_t const min = std::numeric_limits<std::int64_t>::min(), max = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t const step : {std::int64_t{10}, max / 2, max - 5, max, min + 1, min}) {
    CHECK(view(x).slice(0, 10, 20, step).extent(0) == 1);
    CHECK(view(x).slice(0, 10, 20, step).data() == x.data() + (step < 0 ? 19 : 10));
    CHECK(view(x).slice(0, 0, 100, 2).slice(0, 3, 4, step).data() == x.data() + 6);
  }
  CHECK(view(x).slice(0, 10, 20, 9).extent(0) == 2);
  CHECK(view(x).slice(0, 10, 20, -9).extent(0) == 2);
  CHECK(view(x).slice(0, max, min, max).extent(0) == 0);
  static_assert(view<float, 1>(nullptr, INT64_MAX).slice(0, 0, INT64_MAX, 2).extent(0) == INT64_MAX / 2 + 1);
}

TEST_CASE("views: arithmetic that passes 64 bits never gives another view") {
  std::vector<float> x(100);
  std::int64_t const large = std::int64_t{1} << 40;
  // The dense stride would be 2^80, which wraps to 0: rows of a part would share their memory.
  view<float, 3> const dense(x.data(), 4, large, large);
  CHECK(dense.stride(0) == std::numeric_limits<std::int64_t>::max());
  CHECK(dense.size() == std::numeric_limits<std::int64_t>::max());
  CHECK(view<float, 3>(x.data(), 0, large, large).size() == 0);
  CHECK_THROWS_WITH(dense.slice(0, 1, 2),
                    ContainsSubstring("element 1 along axis 0") && ContainsSubstring("outside of the address space"));
  view<float, 1> const far(x.data(), {std::int64_t{1} << 62}, {std::int64_t{1} << 40});
  CHECK_THROWS_WITH(far.slice(0, std::int64_t{1} << 24, std::int64_t{1} << 25), ContainsSubstring("element 16777216"));
  CHECK_THROWS_WITH(far.slice(0, 0, std::int64_t{1} << 62, -1), ContainsSubstring("outside of the address space"));
  CHECK(far.slice(0, 0, 2, std::int64_t{1} << 30).stride(0) == std::numeric_limits<std::int64_t>::max());
  CHECK(view<float, 1>(nullptr, 10).slice(0, 5, 10).data() == nullptr);
  CHECK_THROWS_WITH((view<float, 1>(x.data(), 1e19)), ContainsSubstring("an extent of 1e+19 is not an integer"));
  buffer<float, 3> const empty(device::host(), 0, large, large);
  CHECK(empty.size() == 0);
  CHECK(empty.stride(0) == std::numeric_limits<std::int64_t>::max());
}
