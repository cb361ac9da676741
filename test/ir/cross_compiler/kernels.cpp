// Prints the IR of the sample kernels, and of kernels whose expressions bind values and call functions while C++ leaves
// the order of evaluation open. Built by two compilers; the bytes must be equal.
#include <cstdio>
#include <string>

#include "kernels.hpp"

namespace {

using namespace tegula;

constexpr auto twice = function([](auto x) {
  auto y = let(x + x);
  return y * y;
});

constexpr auto helpers = kernel("helpers", [](in<float, 1> a, in<float, 1> b, inout<float, 1> c, arg<int> n) {
  auto g = grid_over(c, shape<64>);
  auto at = [&](auto const& tensor, int step) {
    tile t = load(tensor, shape<64>, g[0] + step);
    return t * cast<float>(g[0] % (n + step));
  };
  tile v =
      (at(a, 1) + at(b, 2)) * (at(b, 3) - at(a, 4)) + twice(load(c, shape<64>, g[0])) * twice(load(a, shape<64>, g[0]));
  store(c, shape<64>, max(twice(v + 1), twice(v - 1)), g[0]);
  tile w =
      if_((g[0] + n) * 2 < (g[0] - n) * 3, [&] { return at(c, 0) + at(a, 0); }, [&] { return at(a, 0) + at(c, 0); });
  store(c, shape<64>, w, g[0]);
});

constexpr auto sum_and_difference = function([](auto x, auto y) { return carry(x + y, x - y); });

constexpr auto several = kernel("several", [](in<float, 1> a, inout<float, 1> b, arg<int> n) {
  auto g = grid_over(b, shape<64>);
  tile x = load(a, shape<64>, g[0]);
  auto [p, q] = loop(range(0, n, n), carry(twice(x) + 1, load(b, shape<64>, g[0])), [&](auto i, auto s, auto t) {
    return if_(
        i < n,
        [&] { return loop(n, carry(t + twice(s), s), [&](auto, auto u, auto v) { return carry(v, twice(u)); }); },
        [&] { return sum_and_difference(twice(s), load(a, shape<64>, i)); });
  });
  auto [r, s] = sum_and_difference(twice(p) - q, twice(q) - p);
  auto [u, v] = let(carry(r * s, twice(r) - s));
  store(b, shape<64>, u + v, g[0]);
});

template <class K>
void print(K const& k) {
  std::fputs(k.trace().text().c_str(), stdout);
}

}  // namespace

int main() {
  print(samples::vadd);
  print(samples::softmax<1024>);
  print(samples::gemm<128, 256, 64>(samples::bias_relu));
  print(samples::gemm<64, 64, 32>([](auto acc, auto) { return exp(acc); }));
  print(samples::attention<128, 128, 64>);
  print(helpers);
  print(several);
}
