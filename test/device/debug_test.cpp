// Tests device_assert and device_print on a device. A failed assert makes the context unusable, so a child runs it.
#include "support/debug_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("child that fails an assert on a device", "[.]") { fail_and_say(Executor::device); }

TEST_CASE("message, file, line and block of a failed assert reach the host; this process survives", "[F39]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  std::string const said = output_of_child("child that fails an assert on a device");
  INFO(said);
  CHECK_THAT(said, ContainsSubstring("checked[2, 0, 0]: device_assert failed: x is negative (100% of it)"));
  CHECK_THAT(said, ContainsSubstring("debug_kernels.hpp:" + std::to_string(line_of_tile_assert)));
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
