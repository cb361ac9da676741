// Lesson 1 of lib/doc/tutorial.md: adds two vectors.
#include <tegula/tegula.hpp>

#include <cstdio>
#include <random>
#include <vector>

using namespace tegula;

// [begin: kernel]
constexpr auto add = kernel("add", [](in<float, 1> a, in<float, 1> b, out<float, 1> c) {
  auto g = grid_over(c, shape<256>);   // one block for each 256 elements of c
  tile x = load(a, shape<256>, g[0]);  // tile number g[0] of a: 256 elements
  tile y = load(b, shape<256>, g[0]);
  store(c, shape<256>, x + y, g[0]);
});
// [end]

// [begin: number]
constexpr auto scaled_add =
    kernel("scaled_add", [](in<float, 1> a, in<float, 1> b, out<float, 1> c, arg<float> factor) {
      auto g = grid_over(c, shape<256>);
      store(c, shape<256>, load(a, shape<256>, g[0]) + factor * load(b, shape<256>, g[0]), g[0]);
    });
// [end]

int main() {
  // [begin: launch]
  std::int64_t const n = 10'000;
  std::vector<float> a(n), b(n), c(n), d(n);
  std::mt19937 engine(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& x : a) x = uniform(engine);
  for (float& x : b) x = uniform(engine);

  device const where = device::best();  // a GPU if there is one, else this CPU
  stream const order(where);
  buffer<float> const device_a(where, a), device_b(where, b);  // memory of the device, filled with a and b
  buffer<float> device_c(where, n), device_d(where, n);
  launch(order, add, device_a, device_b, device_c);
  launch(order, scaled_add, device_a, device_b, device_d, 0.5F);
  device_c.copy_to(c);  // waits for the launches
  device_d.copy_to(d);
  // [end]

  // [begin: check]
  int wrong_sums = 0, wrong_scaled = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    double const x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    if (c[i] != static_cast<float>(x + y)) ++wrong_sums;
    if (d[i] != static_cast<float>(x + 0.5 * y)) ++wrong_scaled;
  }
  std::printf("add: %d of %d sums are wrong\n", wrong_sums, static_cast<int>(n));
  std::printf("scaled_add: %d of %d sums are wrong\n", wrong_scaled, static_cast<int>(n));
  // [end]
}

// [begin: output]
// add: 0 of 10000 sums are wrong
// scaled_add: 0 of 10000 sums are wrong
// [end]
