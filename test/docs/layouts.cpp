// Checks what lib/doc/layouts.md says of layouts: paths, sectors and advice, for a GPU that need not be there.
#include <tegula/tegula.hpp>

#include <cstdint>
#include <cstdio>
#include <string>

using namespace tegula;

namespace {

// [begin: scaled]
constexpr auto scaled = kernel("scaled", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<64, 64>);
  store(y, shape<64, 64>, load(x, shape<64, 64>, g[0], g[1]) * 2, g[0], g[1]);
});
// [end]

// [begin: exchanged]
/// As scaled, of a tensor whose axes were exchanged: x(j, i) is read as rows, and its tiles are transposed.
constexpr auto exchanged = kernel("exchanged", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<64, 64>);
  store(y, shape<64, 64>, trans(load(x, shape<64, 64>, g[1], g[0])) * 2, g[0], g[1]);
});
// [end]

constexpr auto narrow = kernel("narrow", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1024, 4>);
  store(y, shape<1024, 4>, load(x, shape<1024, 4>, g[0], g[1]) * 2, g[0], g[1]);
});

// [begin: product]
/// B is stored as N x K, as the weights of most models are.
constexpr auto product = kernel("product", [](in<bf16, 2> A, in<bf16, 2> B, out<float, 2> C) {
  auto g = grid_over(C, shape<128, 128>);
  tile sums = loop(
      ceil_div(A.extent(1), 64), zeros<float>(shape<128, 128>),
      [&](auto k, auto before) {
        return dot(load(A, shape<128, 64>, g[0], k), trans(load(B, shape<128, 64>, g[1], k)), before);
      },
      stages<4>);
  store(C, shape<128, 128>, sums, g[0], g[1]);
});
// [end]

// [begin: heads]
/// Scores of attention. Q and K are (token, head, 64), as a projection leaves them: no copy exchanges axes.
constexpr auto scores = kernel("scores", [](in<bf16, 3> Q, in<bf16, 3> K, out<float, 3> S) {
  auto g = grid_over(S, shape<128, 128>);  // head, query, key
  tile q = squeeze(load(Q, shape<128, 1, 64>, g[1], g[0], 0), axis<1>);
  tile k = squeeze(load(K, shape<128, 1, 64>, g[2], g[0], 0), axis<1>);
  store(S, shape<128, 128>, dot(q, trans(k)), g[0], g[1], g[2]);
});
// [end]

template <class T>
T* at(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);  // never touched
}

int failures = 0;

template <class Kernel, class... Views>
void check(char const* name, char const* expected, Kernel const& kernel, Views const&... views) {
  Advice const found = advice(sm_90a, kernel, views...);
  std::string const text = found.str();
  bool const right = *expected == '\0' ? found.slow.empty() : text.find(expected) != std::string::npos;
  std::printf("%s: %s\n", name, right ? "as the page says" : text.c_str());
  failures += right ? 0 : 1;
}

void check(char const* name, bool right) {
  std::printf("%s: %s\n", name, right ? "as the page says" : "wrong");
  failures += right ? 0 : 1;
}

}  // namespace

int main() {
  std::int64_t const n = 8192, m = 4096;
  auto const x = [&](std::int64_t row, std::int64_t column, std::uintptr_t offset = 0) {
    return device_view<float, 2>(at<float>(0x10000000 + offset), {n, n}, {row, column});
  };
  device_view<float, 2> const y(at<float>(0x800000000), n, n);
  check("dense", "", scaled, x(n, 1), y);
  check("the other axis contiguous", "pass `in0` with axes exchanged, and take trans of its tiles", scaled, x(1, n), y);
  check("exchanged", "", exchanged, x(n, 1), y);
  check("every second column", "pass `in0` with a contiguous last axis", scaled, x(2 * n, 2), y);
  check("rows of 16 bytes", "take 32 columns", narrow, x(n, 1), y);

  auto const a = [&](std::int64_t row, std::uintptr_t offset = 0) {
    return device_view<bf16, 2>(at<bf16>(0x400000000 + offset), {m, m}, {row, 1});
  };
  device_view<bf16, 2> const b(at<bf16>(0x500000000), m, m);
  device_view<float, 2> const c(at<float>(0x700000000), m, m);
  check("product", "", product, a(m), b, c);
  check("rows of 4097", "pad the rows of `in0` to a multiple of 8 elements (4104)", product, a(m + 1), b, c);
  check("rows padded", "", product, a(m + 8), b, c);
  check("an odd address", "begin `in0` at a multiple of 16 bytes", product, a(m, 2), b, c);

  KernelFacts const of_scores = facts(scores);
  check("boxes with a unit axis", of_scores.loads[0].path == Path::tma && of_scores.dots[0].path == Path::wgmma);
  check("sectors", facts(scaled).wasted_sectors() == 0 && facts(narrow).wasted_sectors() == 128);
  return failures == 0 ? 0 : 1;
}
