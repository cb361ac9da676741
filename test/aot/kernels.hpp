// Defines kernels that are compiled while the tests are built, and by the JIT for comparison.
#pragma once

#include <string>

#include <tegula/tegula.hpp>

namespace tegula::test {

inline constexpr auto scaled_sum =
    kernel("scaled_sum", [](in<float, 1> a, in<float, 1> b, arg<float> scale, out<float, 1> y) {
      require(a.extent(0) == b.extent(0), "scaled_sum: both vectors have one length");
      auto g = grid_over(y, shape<1024>);
      store(y, shape<1024>, load(a, shape<1024>, g[0]) * scale + load(b, shape<1024>, g[0]), g[0]);
    });

template <int BM, int BN, int BK>
inline constexpr auto product = [] {
  return kernel("product", [](in<bf16, 2> a, in<bf16, 2> b, out<float, 2> c) {
    require(a.extent(1) == b.extent(0), "product: a is M x K and b is K x N, but the two K differ");
    auto g = grid_over(c, shape<BM, BN>);
    tile sum = loop(
        ceil_div(a.extent(1), BK), zeros<float>(shape<BM, BN>),
        [&](auto k, auto acc) { return dot(load(a, shape<BM, BK>, g[0], k), load(b, shape<BK, BN>, k, g[1]), acc); },
        stages<3>);
    store(c, shape<BM, BN>, sum, g[0], g[1]);
  });
}();

/// Labels say the problems that the table gives them.
inline constexpr TunedChoice product_choices[] = {{{64, 64, 64, 64, 64, 64}, "small", 1e-6},
                                                  {{512, 64, 64, 512, 512, 512}, "large", 1e-6},
                                                  {{1, 1, 1, 1, 1, 1}, "gone", 1e-6}};
inline constexpr TunedTable product_on_gpu = {"tuned", "sm_90a", "any", "any", 6, product_choices, 3};
/// Returns variants with a table for GPUs and one for this machine's CPU.
inline auto tuned_product() {
  static std::string const architecture = device::host().architecture(), name = device::host().name();
  static TunedTable const on_host = {"tuned", architecture.c_str(), name.c_str(), "any", 6, product_choices, 3};
  CompileOptions options;
  options.stages = 2;
  return variants("tuned", variant("large", product<128, 64, 64>), variant("small", with(options), product<64, 64, 64>))
      .tuned(product_on_gpu)
      .tuned(on_host);
}

inline constexpr auto row_softmax = kernel("row_softmax", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 256>);
  require(y.extent(1) <= 256, "row_softmax: a row must fit one tile");
  tile v = load(x, shape<1, 256>, g[0], 0, pad(-inf));
  tile e = exp(v - max(v, axis<1>));
  store(y, shape<1, 256>, e / sum(e, axis<1>, order::pairwise), g[0], 0);  // the same tree on every CPU
});

inline constexpr auto checked_copy = kernel("checked_copy", [](in<std::int32_t, 1> x, out<std::int32_t, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, g[0]);
  device_assert(v >= 0, "a negative number");
  store(y, shape<64>, v, g[0]);
});

}  // namespace tegula::test
