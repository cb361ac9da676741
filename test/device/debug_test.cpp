// Tests device_assert and device_print on a device. A failed assert makes the context unusable, so a child runs it.
#include <fmt/format.h>

#include "kernels/debug_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("child that fails an assert on a device", "[.]") { fail_and_say(Executor::device); }

TEST_CASE("message, file, line and block of a failed assert reach the host; this process survives", "[F39]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  std::string const said = output_of_child("child that fails an assert on a device");
  INFO(said);
  CHECK_THAT(said, ContainsSubstring("checked[2, 0, 0]: device_assert failed: x is negative (100% of it)"));
  CHECK_THAT(said, ContainsSubstring(fmt::format("debug_kernels.hpp:{}", line_of_tile_assert)));
  CHECK_THAT(said, ContainsSubstring("Assertion `x is negative (100% of it)` failed"));
  CHECK_THAT(said, ContainsSubstring("CUDA_ERROR_ASSERT"));
  Array<float, 1> x({300}, 1), y({300});
  TEGULA_CHECK_RUN(Executor::device, checked, x, y);
  CHECK(y[299] == 2);
}

TEST_CASE("child that fails a constant assert on a device", "[.]") {
  Array<int, 1> y({100});
  CHECK_THROWS_AS(run_on(Executor::device, never, y), DriverError);
}

TEST_CASE("a false constant fires on a device", "[F38]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  std::string const said = output_of_child("child that fails a constant assert on a device");
  INFO(said);
  CHECK_THAT(said, ContainsSubstring("never reached"));
}

TEST_CASE("child that prints on a device", "[.]") {
  Array<int, 1> x({4}), y({4});
  Array<bf16, 2> h({16, 8}, bf16(1.5F));
  for (int i = 0; i < 4; ++i) x[i] = 10 * i;
  CHECK(run_on(Executor::device, talks, x, h, y).empty());
}

TEST_CASE("prints of a device give scalars in one line and the elements of tiles in theirs") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  std::string const said = output_of_child("child that prints on a device");
  INFO(said);
  CHECK_THAT(said, ContainsSubstring("talks[1, 0, 0]: 100% of 1 0.5 1 2xi32\n"));
  CHECK_THAT(said, ContainsSubstring("talks[1, 0, 0]: 100% of v3(1) = 30\n"));
  CHECK_THAT(said, ContainsSubstring("talks[0, 0, 0]: all v0(7, 7) = 1.5\n"));
  CHECK(said.find("v0(8, 0)") == std::string::npos);
  CHECK_THAT(said, ContainsSubstring("talks[0, 0, 0]: end"));
}

TEST_CASE("a product with asserts in its loop is right on a device") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  Array<bf16, 2> a({64, 256}, bf16(1.0F)), b({256, 128}, bf16(2.0F));
  Array<float, 2> c({64, 128});
  TEGULA_CHECK_RUN(Executor::device, checked_product<true>, a, b, c);
  CHECK(c[64 * 128 - 1] == 512);
}

namespace {

constexpr std::uint32_t line_of_gather = __LINE__ + 3;
inline constexpr auto picks = kernel("picks", [](in<int, 1> at, in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, 2 / gather(x, load(at, shape<64>, g[0])), g[0]);
});

/// Launches `picks` with checks, and prints the error, as a program would.
void pick_and_say(Checks checks, int index, float element) {
  support::Options options = support::options();
  options.check_bounds = checks.bounds, options.check_overflow = checks.overflow, options.check_nan = checks.nan;
  support::ScopedOptions const scope(options);
  Array<int, 1> at({150}, index);
  Array<float, 1> x({100}, element), y({150});
  try {
    run_on(Executor::device, picks, at, x, y);
    std::fprintf(stderr, "no error: %g\n", static_cast<double>(y[149]));
  } catch (Error const& error) {
    std::fprintf(stderr, "caught: %s\n", error.what());
  }
}

}  // namespace

TEST_CASE("child that fails a check of bounds on a device", "[.]") { pick_and_say({true, true, true}, 100, 1); }
TEST_CASE("child that fails a check of NaN on a device", "[.]") { pick_and_say({true, true, true}, 7, 0); }
TEST_CASE("child that passes its checks on a device", "[.]") { pick_and_say({true, true, true}, 7, 1); }

TEST_CASE("failed checks reach the host with message, file, line and block") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  std::string const outside = output_of_child("child that fails a check of bounds on a device");
  INFO(outside);
  CHECK_THAT(outside, ContainsSubstring("gather: an index of axis 0 is outside of in1"));
  CHECK_THAT(outside, ContainsSubstring(fmt::format("debug_test.cpp:{}", line_of_gather)));
  CHECK_THAT(outside, ContainsSubstring("picks["));
  CHECK_THAT(output_of_child("child that fails a check of NaN on a device"),
             ContainsSubstring("nan: div of finite values gives NaN or infinity in f32"));
  CHECK_THAT(output_of_child("child that passes its checks on a device"), ContainsSubstring("no error: 2"));
}
