// Tests every kernel of samples/ on the CPU, three ways: compiled for the host, as tiles in the simulator, and warp by
// warp after the passes for the GPU. All agree within the error that the sample states.
#include "../../samples/image_kernels.hpp"
#include "../../samples/kernels.hpp"
#include "../../samples/support/report.hpp"
#include "support/catch.hpp"

using namespace tegula;

namespace {

/// Calls `run(kernel launcher, output)` once for each way; `error` and `floor` are the sample's. Returns the host's
/// result.
template <class T, class Run>
std::vector<T> check(std::size_t size, double floor, double error, Run const& run) {
  T const poison = samples::poison<T>();
  std::vector<T> compiled(size, poison), tiles(size, poison), warps(size, poison);
  auto const clean = [](simulation const& found) {
    INFO(found.report);
    CHECK(found.clean);
  };
  run([](auto const& kernel, auto const&... x) { launch(host_stream(), kernel, x...); }, compiled.data());
  run([&](auto const& kernel, auto const&... x) { clean(simulate(kernel, x...)); }, tiles.data());
  run([&](auto const& kernel, auto const&... x) { clean(simulate(kernel, x..., schedule::seed(1))); }, warps.data());
  auto const expected = samples::exact(tiles);
  CHECK(samples::compare(compiled, expected, floor, error).failure() == "");
  CHECK(samples::compare(warps, expected, floor, error).failure() == "");
  return compiled;
}

}  // namespace

TEST_CASE("the vadd sample's kernel gives the same on host, as tiles and warp by warp", "[sim][F27]") {
  std::int64_t const n = 5003;
  auto const a = samples::random_values<float>(n), b = samples::random_values<float>(n);
  check<float>(a.size(), 1, 0,
               [&](auto const& go, float* c) { go(samples::vadd, view(a.data(), n), view(b.data(), n), view(c, n)); });
}

TEST_CASE("the softmax sample's kernel gives the same on host, as tiles and warp by warp", "[sim][F27]") {
  std::int64_t const rows = 5, columns = 1000;
  auto const x = samples::random_values<float>(rows * columns);
  check<float>(x.size(), 0, 2e-6, [&](auto const& go, float* y) {
    go(samples::softmax<1024>, view(x.data(), rows, columns), view(y, rows, columns));
  });
}

TEST_CASE("the gemm sample's kernel gives the same on host, as tiles and warp by warp", "[sim][F27]") {
  std::int64_t const m = 136, n = 264, k = 328;
  auto const a = samples::random_values<bf16>(m * k), b = samples::random_values<bf16>(k * n);
  auto const bias = samples::random_values<float>(n);
  check<bf16>(static_cast<std::size_t>(m * n), 1, 4e-3, [&](auto const& go, bf16* c) {
    go(samples::gemm<128, 256, 64>(samples::bias_relu), view(a.data(), m, k), view(b.data(), k, n),
       view(bias.data(), n), view(c, m, n));
  });
}

TEST_CASE("the attention sample's kernel gives the same on host, as tiles and warp by warp", "[sim][F27]") {
  std::int64_t const heads = 2, queries = 140, keys = 300;
  constexpr int d = 64;
  auto const q = samples::random_values<bf16>(heads * queries * d), k = samples::random_values<bf16>(heads * keys * d),
             v = samples::random_values<bf16>(heads * keys * d);
  check<bf16>(q.size(), 1, 4e-3, [&](auto const& go, bf16* o) {
    go(samples::attention<128, 128, d>, view(q.data(), heads, queries, d), view(k.data(), heads, keys, d),
       view(v.data(), heads, keys, d), view(o, heads, queries, d), 0.18033688F);  // log2(e) / 8
  });
}

TEST_CASE("the image sample's kernels give the same on host, as tiles and warp by warp", "[sim][F27]") {
  std::int64_t const channels = 3, height = 40, width = 150;
  auto const pixels = samples::random_values<float>(channels * height * width);
  auto const shaped = [&](auto* data) { return view(data, channels, height, width); };
  auto const weights = samples::gaussian(1.6);
  auto const rows = check<float>(pixels.size(), 1, 1e-6, [&](auto const& go, float* y) {
    go(samples::blur_rows<16, 64>(weights), shaped(pixels.data()), shaped(y));
  });
  check<float>(pixels.size(), 1, 1e-6, [&](auto const& go, float* y) {
    go(samples::sharpen<16, 64>(weights), shaped(pixels.data()), shaped(rows.data()), shaped(y), 0.8F);
  });
}
