// Profiles launches on a device.
#include "kernels/profile_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("profile returns the pairs of every warp on a device", "[profile][P1][P9][P14][P16][P18]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  auto const warps = static_cast<std::uint32_t>(budget(marked_softmax).threads / 32);
  constexpr std::int64_t rows = 300;
  check_profiled_softmax(rows, warps, [](auto const& k, CompileOptions const& options, auto const& x, auto& y) {
    cuda_stream const order;
    buffer<float, 2> in(device::cuda(), rows, 256);
    buffer<float, 2> out(device::cuda(), rows, 256);
    in.copy_from(x);
    Profile result;
    if (options.profile.any()) {
      result = profile(order, with(options), k, in, out);
      CHECK(result.processor_word == "SM");
      CHECK_THAT(result.device, ContainsSubstring("cuda:0"));
      CHECK((result.shared_bytes > 0) == (options.profile.strategy == ProfileStrategy::shared));
    } else {
      launch(order, k, in, out);
      order.synchronize();
    }
    out.copy_to(y);
    return result;
  });
}

TEST_CASE("100 000 CTAs fill the rows of a device's buffer, and the rest is counted", "[profile][P16]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  constexpr std::int64_t rows = 100'000;
  cuda_stream const order;
  buffer<float, 2> in(device::cuda(), rows, 256);
  buffer<float, 2> out(device::cuda(), rows, 256);
  in.fill(1);
  for (ProfileStrategy const strategy : {ProfileStrategy::shared, ProfileStrategy::device}) {
    CompileOptions options;
    options.profile.user = true;
    options.profile.strategy = strategy;
    options.profile.granularity = ProfileGranularity::cta;
    Profile const found = profile(order, with(options), marked_softmax, in, out);
    CHECK(found.rows.size() == 4096);
    CHECK(found.dropped_rows == rows - 4096);
    CHECK(found.malformed_slots == 0);
    check_times(found);
  }
}

TEST_CASE("two streams that run one profiled kernel at once lose no row", "[profile]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  constexpr std::int64_t rows = 500;
  buffer<float, 2> in(device::cuda(), rows, 256);
  buffer<float, 2> out(device::cuda(), rows, 256), other(device::cuda(), rows, 256);
  in.fill(1);
  CompileOptions options;
  options.profile.user = true;
  options.profile.granularity = ProfileGranularity::cta;
  (void)profile(cuda_stream(), with(options), marked_softmax, in, out);
  cuda_stream const first, second;
  Profile found;
  // The second stream's launches may land in the buffer between clear and read; each has rows of its own.
  for (int times = 0; times < 3; ++times) launch(second, with(options), marked_softmax, in, other);
  found = profile(first, with(options), marked_softmax, in, out);
  second.synchronize();
  CHECK(found.rows.size() >= static_cast<std::size_t>(rows));
  CHECK(found.malformed_slots == 0);
  std::size_t own = 0;
  for (ProfileRow const& row : found.rows) own += row.launch == found.rows.back().launch;
  CHECK(own == static_cast<std::size_t>(rows));
}
