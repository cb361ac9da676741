// Tests every kernel of samples/ on the CPU, compiled for the host and as tiles in the simulator. Tests it warp by warp
// after the passes for the GPU, too. All agree within the error that the sample states. For the GPU they compile
// without spills.
#include <array>

#include "../../samples/image_kernels.hpp"
#include "../../samples/kernels.hpp"
#include "../../samples/support/report.hpp"
#include "support/catch.hpp"

// Kernels that stand in a sample's program: the text of each gets a namespace of its own, and its main another name.
#define main run_sample
namespace moe {
#include "../../samples/07_mixture_of_experts.cpp"  // NOLINT(bugprone-suspicious-include)
}
namespace histograms {
#include "../../samples/06_histogram.cpp"  // NOLINT(bugprone-suspicious-include)
}
namespace scans {
#include "../../samples/08_prefix_sum.cpp"  // NOLINT(bugprone-suspicious-include)
}
namespace norms {
#include "../../samples/09_layernorm.cpp"  // NOLINT(bugprone-suspicious-include)
}
namespace grouped {
#include "../../samples/10_grouped_attention.cpp"  // NOLINT(bugprone-suspicious-include)
}
namespace losses {
#include "../../samples/11_cross_entropy.cpp"  // NOLINT(bugprone-suspicious-include)
}
namespace nibbles {
#include "../../samples/12_int4_product.cpp"  // NOLINT(bugprone-suspicious-include)
}
namespace networks {
#include "../../samples/13_network.cpp"  // NOLINT(bugprone-suspicious-include)
}
#undef main

using namespace tegula;

namespace {

/// Calls `run(kernel launcher, output)` once for each way, with an output that holds `before`; `error` and `floor` are
/// the sample's. Returns the host's result.
template <class T, class Run>
std::vector<T> check(std::size_t size, double floor, double error, Run const& run, T before = samples::poison<T>()) {
  std::vector<T> compiled(size, before), tiles(size, before), warps(size, before);
  auto const clean = [](simulation const& found) {
    INFO(found.report);
    CHECK(found.clean);
  };
  run([](auto const& kernel, auto const&... x) { launch(host_stream(), kernel, x...); }, compiled.data());
  run([&](auto const& kernel, auto const&... x) { clean(simulate(kernel, x...)); }, tiles.data());
  run(
      [&](auto const& kernel, auto const&... x) {
        clean(simulate(kernel, x..., schedule::seed(1)));
        CHECK(facts(kernel).spill_bytes <= 0);  // -1 where there is no ptxas
      },
      warps.data());
  auto const expected = samples::exact(tiles);
  double const apart = 2 * error;  // each is within `error` of the exact result
  CHECK(samples::compare(compiled, expected, floor, apart).failure() == "");
  CHECK(samples::compare(warps, expected, floor, apart).failure() == "");
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

TEST_CASE("the image sample's denoiser gives the same on host, as tiles and warp by warp", "[sim][F27]") {
  constexpr auto border = std::int64_t{2} * samples::margin;
  auto const denoise = [&](auto const& kernel, std::int64_t channels, std::int64_t height, std::int64_t width) {
    auto const pixels = samples::random_values<float>(channels * (height + border) * (width + border));
    check<float>(static_cast<std::size_t>(channels * height * width), 1, 1e-5, [&](auto const& go, float* y) {
      go(kernel, view(pixels.data(), channels, height + border, width + border), view(y, channels, height, width), 20.F,
         0.02F);
    });
  };
  denoise(samples::denoise<1, 8, 64>, 1, 19, 66);
  denoise(samples::denoise<3, 8, 64>, 3, 11, 66);
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

TEST_CASE("the histogram sample's kernel gives the same on host, as tiles and warp by warp", "[sim][F27]") {
  std::int64_t const n = 3001, classes = 50;
  std::vector<int> values;
  for (double x : samples::exact(samples::random_values<float>(n))) values.push_back(static_cast<int>(x * 60));
  check<int>(
      static_cast<std::size_t>(classes), 0, 0,
      [&](auto const& go, int* counts) { go(histograms::histogram, view(values.data(), n), view(counts, classes)); },
      0);
}

TEST_CASE("the mixture-of-experts sample's kernel gives the same on host, as tiles and warp by warp", "[sim][F27]") {
  std::int64_t const rows = 256, depth = 200, columns = 136, count = 3;
  auto const x = samples::random_values<bf16>(rows * depth);
  auto const weights = samples::random_values<bf16>(count * depth * columns);
  std::vector<int> const expert_of_group = {2, 0};
  check<bf16>(static_cast<std::size_t>(rows * columns), 1, 4e-3, [&](auto const& go, bf16* y) {
    go(moe::experts, view(x.data(), rows, depth), view(weights.data(), count, depth, columns),
       view(expert_of_group.data(), 2), view(y, rows, columns));
  });
}

TEST_CASE("the prefix-sum sample's kernels give the same on host, as tiles and warp by warp", "[sim][F27]") {
  std::int64_t const n = 9001, blocks = 3;
  std::vector<int> values;
  for (double x : samples::exact(samples::random_values<float>(n))) values.push_back(static_cast<int>(x * 1000));
  auto const sums = check<std::int64_t>(3, 0, 0, [&](auto const& go, std::int64_t* to) {
    go(scans::block_sums, view(values.data(), n), view(to, blocks));
  });
  auto const before = check<std::int64_t>(3, 0, 0, [&](auto const& go, std::int64_t* to) {
    std::copy(sums.begin(), sums.end(), to);
    go(scans::sums_before, view(to, blocks));
  });
  check<std::int64_t>(values.size(), 0, 0, [&](auto const& go, std::int64_t* y) {
    go(scans::prefix_sum, view(values.data(), n), view(before.data(), blocks), view(y, n));
  });
}

TEST_CASE("the layernorm sample's kernels give the same on host, as tiles and warp by warp", "[sim][F27]") {
  std::int64_t const rows = 37, columns = 1000, parts = 3, size = rows * columns;
  auto const x = samples::random_values<float>(size), dy = samples::random_values<float>(size);
  auto const weight = samples::random_values<float>(columns), bias = samples::random_values<float>(columns);
  // One output after another in one array.
  auto const y = check<float>(static_cast<std::size_t>(size + 2 * rows), 1, 1e-5, [&](auto const& go, float* to) {
    go(norms::layernorm, view(x.data(), rows, columns), view(weight.data(), columns), view(bias.data(), columns),
       view(to, rows, columns), view(to + size, rows), view(to + size + rows, rows), 1e-5F);
  });
  auto const dx =
      check<float>(static_cast<std::size_t>(size + 2 * parts * columns), 1, 1e-5, [&](auto const& go, float* to) {
        go(norms::layernorm_backward, view(x.data(), rows, columns), view(weight.data(), columns),
           view(y.data() + size, rows), view(y.data() + size + rows, rows), view(dy.data(), rows, columns),
           view(to, rows, columns), view(to + size, parts, columns), view(to + size + parts * columns, parts, columns));
      });
  check<float>(static_cast<std::size_t>(columns), 1, 1e-5, [&](auto const& go, float* total) {
    go(norms::column_sums, view(dx.data() + size, parts, columns), view(total, columns));
  });
}

TEST_CASE("the grouped-attention sample's kernel gives the same on host, as tiles and warp by warp", "[sim][F27]") {
  std::int64_t const heads = 4, shared = 2, tokens = 300;
  constexpr int d = 64;
  auto const q = samples::random_values<bf16>(heads * tokens * d),
             k = samples::random_values<bf16>(shared * tokens * d),
             v = samples::random_values<bf16>(shared * tokens * d);
  check<bf16>(q.size(), 1, 4e-3, [&](auto const& go, bf16* o) {
    go(grouped::grouped_attention<128, d>, view(q.data(), heads, tokens, d), view(k.data(), shared, tokens, d),
       view(v.data(), shared, tokens, d), view(o, heads, tokens, d), 0.18033688F, 2);  // log2(e) / 8
  });
}

TEST_CASE("the cross-entropy sample's kernel gives the same on host, as tiles and warp by warp", "[sim][F27]") {
  std::int64_t const rows = 5;
  std::vector<int> const labels = {1, -1, 4999, 3000, 0};
  for (std::int64_t const columns : {5000, 5001, 6144}) {
    auto const logits = samples::random_values<bf16>(rows * columns);
    std::vector<float> loss(labels.size());
    std::vector<bf16> gradient(logits.size());
    auto const run = [&](auto const& go, float* to_loss, bf16* to_gradient) {
      go(losses::cross_entropy<2048>, view(logits.data(), rows, columns), view(labels.data(), rows),
         view(to_loss, rows), view(to_gradient, rows, columns), 0.2F);
    };
    check<float>(loss.size(), 1, 1e-6, [&](auto const& go, float* to) { run(go, to, gradient.data()); });
    // Both sides are rounded to bf16: they may differ by one unit of its last place.
    check<bf16>(gradient.size(), 1e-9, 8e-3, [&](auto const& go, bf16* to) { run(go, loss.data(), to); });
  }
}

TEST_CASE("the int4 sample's kernel gives the same on host, as tiles and warp by warp", "[sim][F27]") {
  std::int64_t const rows = 150, depth = 384, columns = 264;
  auto const x = samples::random_values<bf16>(rows * depth);
  auto const scales = samples::random_values<float>(depth / nibbles::group * columns);
  std::vector<std::uint8_t> packed;
  for (int i = 0; i < depth * columns / 2; ++i) packed.push_back(static_cast<std::uint8_t>(i * 37));
  check<bf16>(static_cast<std::size_t>(rows * columns), 1, 8e-3, [&](auto const& go, bf16* y) {
    go(nibbles::int4_product<128, 128>, view(x.data(), rows, depth), view(packed.data(), depth, columns / 2),
       view(scales.data(), depth / nibbles::group, columns), view(y, rows, columns));
  });
}

TEST_CASE("the network sample's kernels give the same on host, as tiles and warp by warp", "[sim][F27]") {
  using networks::inputs, networks::hidden, networks::classes;
  std::int64_t const count = 300;
  networks::Points const points = networks::spirals(count);
  auto const random = samples::random_values<float>(inputs * hidden + hidden + hidden * classes + classes);
  // The weights of all layers lie one after another in one array, and so do their gradients.
  auto const layers = [](auto* data, auto const& go) {
    auto* const b1 = data + inputs * hidden;
    auto* const w2 = b1 + hidden;
    go(view(data, inputs, hidden), view(b1, 1, hidden), view(w2, hidden, classes),
       view(w2 + hidden * classes, 1, classes));
  };
  check<float>(
      random.size(), 1, 1e-6,
      [&](auto const& go, float* to) {
        layers(random.data(), [&](auto const&... net) {
          layers(to, [&](auto const&... gradient) {
            go(networks::gradients, view(points.x.data(), count, inputs), view(points.labels.data(), count), net...,
               gradient..., 1.F / static_cast<float>(count));
          });
        });
      },
      0.F);
  check<int>(points.labels.size(), 0, 0, [&](auto const& go, int* found) {
    layers(random.data(), [&](auto const&... net) {
      go(networks::classify, view(points.x.data(), count, inputs), net..., view(found, count));
    });
  });
  check<float>(3 * random.size(), 1, 1e-6, [&](auto const& go, float* to) {
    for (int i = 0; i < 3; ++i) std::copy(random.begin(), random.end(), to + i * static_cast<int>(random.size()));
    auto const part = [&](int i) { return view(to + i * static_cast<int>(random.size()), 1, random.size()); };
    go(networks::update, part(0), part(1), part(2), 0.3F);
  });
}
