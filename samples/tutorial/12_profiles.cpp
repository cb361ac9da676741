// Lesson 12 of lib/doc/tutorial.md: records when blocks and warps do what.
#include <tegula/tegula.hpp>

#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

using namespace tegula;

// [begin: softmax]
constexpr auto softmax = kernel("softmax", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 1024>);
  region whole("row", g[0]);  // until the end of the scope, with a number
  tile v = load(x, shape<1, 1024>, g[0], 0, pad(-inf));
  record(start, "exponentials");
  tile e = exp(v - max(v, axis<1>));
  record(stop, "exponentials");
  store(y, shape<1, 1024>, e / sum(e, axis<1>), g[0], 0);
});
// [end]

// [begin: product]
template <int BM, int BN>
constexpr auto product = kernel("product", [](in<bf16, 2> A, in<bf16, 2> B, out<float, 2> C) {
  auto g = grid_over(C, shape<BM, BN>);
  tile sums = loop(
      ceil_div(A.extent(1), 64), zeros<float>(shape<BM, BN>),
      [&](auto k, auto sum) { return dot(load(A, shape<BM, 64>, g[0], k), load(B, shape<64, BN>, k, g[1]), sum); },
      stages<4>);
  store(C, shape<BM, BN>, sums, g[0], g[1]);
});
// [end]

int main() {
  std::mt19937 engine(12);
  std::uniform_real_distribution<float> uniform(-4, 4);
  device const where = device::best();
  stream const order(where);
  std::size_t const rows = 60, columns = 1000;
  std::vector<float> x(rows * columns), y(rows * columns);
  for (float& value : x) value = uniform(engine);
  buffer<float, 2> device_x(where, rows, columns), device_y(where, rows, columns);
  device_x.copy_from(x);

  // [begin: profile]
  CompileOptions options;
  options.profile.user = true;                            // what the kernel records, not what the compiler adds
  options.profile.granularity = ProfileGranularity::cta;  // one warp of each block
  Profile const found = profile(order, with(options), softmax, device_x, device_y);
  for (ProfileStatistic const& one : found.statistics())
    std::printf("%s: %d times\n", found.label(one.name).c_str(), static_cast<int>(one.count));
  found.save("tutorial_profile");  // softmax.html, softmax.trace.json and others
  // [end]

  device_y.copy_to(y);
  double worst = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    double total = 0;
    for (std::size_t j = 0; j < columns; ++j) total += std::exp(static_cast<double>(x[i * columns + j]));
    for (std::size_t j = 0; j < columns; ++j)
      worst = std::max(worst, std::abs(static_cast<double>(y[i * columns + j]) -
                                       std::exp(static_cast<double>(x[i * columns + j])) / total));
  }
  std::printf("softmax of %zu rows: %s\n", rows, worst < 1e-6 ? "right" : "wrong");

  // [begin: virtual time]
  CompileOptions all;
  all.profile.user = all.profile.compiler = true;
  std::vector<bf16> const a(256 * 512, bf16(1.F)), b(512 * 256, bf16(1.F));
  buffer<bf16, 2> A(device::host(), 256, 512), B(device::host(), 512, 256);
  A.copy_from(a);
  B.copy_from(b);
  buffer<float, 2> C(device::host(), 256, 256);
  Profile const small = simulate(with(all), product<64, 64>, A, B, C, schedule::timed()).profile;
  Profile const large = simulate(with(all), product<128, 256>, A, B, C, schedule::timed()).profile;
  for (Profile const* one : {&small, &large})
    for (ProfileWait const& wait : one->waits())
      std::printf("ring of %s: consumers wait for %s than half of their time\n", wait.ring.c_str(),
                  wait.consumers > 50 ? "more" : "less");
  // [end]
}

// [begin: output]
// row: 60 times
// exponentials: 60 times
// softmax of 60 rows: right
// ring of in0, in1: consumers wait for more than half of their time
// ring of in0, in1: consumers wait for less than half of their time
// [end]
