// Pins the paths of a kernel, as lib/doc/fallbacks.md shows it.
#include <tegula/tegula.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

using namespace tegula;

namespace {

constexpr auto product = kernel("product", [](in<bf16, 2> A, in<bf16, 2> B, out<float, 2> C) {
  auto g = grid_over(C, shape<128, 128>);
  tile sums = loop(
      ceil_div(A.extent(1), 64), zeros<float>(shape<128, 128>),
      [&](auto k, auto before) {
        return dot(load(A, shape<128, 64>, g[0], k), load(B, shape<64, 128>, k, g[1]), before);
      },
      stages<4>);
  store(C, shape<128, 128>, sums, g[0], g[1]);
});

// [begin: pinned]
/// Tells whether a kernel takes the fast ways alone.
template <class Kernel>
bool is_fast(Kernel const& kernel) {
  KernelFacts const found = facts(kernel);
  auto const copied = [](AccessPath const& at) { return at.path == Path::tma; };
  auto const by_wgmma = [](DotPath const& at) { return at.path == Path::wgmma; };
  auto const as_written = [](RingDepth const& ring) { return ring.used >= ring.written; };
  return std::all_of(found.loads.begin(), found.loads.end(), copied) &&
         std::all_of(found.dots.begin(), found.dots.end(), by_wgmma) &&
         std::all_of(found.rings.begin(), found.rings.end(), as_written) && found.padded.empty() &&
         found.spill_bytes <= 0;  // -1 where there is no ptxas
}
// [end]

// [begin: stated]
constexpr auto stated =
    kernel("stated", [](in<bf16, 2, along<1, multiple_of<8>>> x, out<bf16, 2, along<1, multiple_of<8>>> y) {
      auto g = grid_over(y, shape<64, 64>);
      store(y, shape<64, 64>, load(x, shape<64, 64>, g[0], g[1]), g[0], g[1]);
    });
// [end]

bool is_refused() {
  std::vector<bf16> x(100), y(100);
  try {
    launch(host_stream(), stated, view<bf16, 2>(x.data(), 1, 100), view<bf16, 2>(y.data(), 1, 100));
    return false;
  } catch (UserError const& error) {
    std::puts(error.what());
    return true;
  }
}

}  // namespace

int main() {
  bool const right = is_fast(product) && !is_fast(stated) && is_refused();
  std::puts(right ? "right" : "wrong");
  return right ? 0 : 1;
}
