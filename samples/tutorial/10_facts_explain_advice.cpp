// Lesson 10 of lib/doc/tutorial.md: asks why kernels are slow, and changes what the answers name.
#include <tegula/tegula.hpp>

#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

using namespace tegula;

// [begin: rows]
template <class Stages>
constexpr auto row_sums(Stages stages) {
  return kernel("row_sums", [stages](in<float, 2> x, out<float, 1> y) {
    auto g = grid_over(y, shape<16>);
    tile total = loop(
        ceil_div(x.extent(1), 64), zeros<float>(shape<16, 1>),
        [&](auto k, auto before) { return before + sum(load(x, shape<16, 64>, g[0], k), axis<1>); }, stages);
    store(y, shape<16>, squeeze(total, axis<1>), g[0]);
  });
}
// [end]

// [begin: product]
/// C = A * B^T, with B stored as N x K.
template <class T, class... Precision>
constexpr auto product(Precision... precision) {
  return kernel("product", [precision...](in<T, 2> A, in<T, 2> B, out<float, 2> C) {
    auto g = grid_over(C, shape<128, 128>);
    tile sums = loop(ceil_div(A.extent(1), 64), zeros<float>(shape<128, 128>), [&](auto k, auto sum) {
      return dot(load(A, shape<128, 64>, g[0], k), trans(load(B, shape<128, 64>, g[1], k)), sum, precision...);
    });
    store(C, shape<128, 128>, sums, g[0], g[1]);
  });
}
// [end]

// [begin: advice]
/// Describes a dense tensor of a GPU that need not be there. Advice asks for extents and strides, never for elements.
template <class T, class... Extents>
auto somewhere(std::uintptr_t number, Extents... extents) {
  return device_view<T, sizeof...(Extents)>(reinterpret_cast<T*>(number << 40), {extents...});
}

void print(char const* what, Advice const& found) {
  std::printf("%s: limit %s\n", what, name(found.limit));
  for (SlowSpot const& spot : found.slow) std::printf("  %s: %s\n", name(spot.kind), spot.remedy.c_str());
}
// [end]

int main() {
  // [begin: ask]
  std::int64_t const n = 8192;
  auto const x = somewhere<float>(1, n, n), z = somewhere<float>(2, n, n), c = somewhere<float>(3, n, n);
  auto const sums = somewhere<float>(4, n);
  print("row_sums", advice(sm_90a, row_sums(stages<0>), x, sums));
  print("row_sums, stages<4>", advice(sm_90a, row_sums(stages<4>), x, sums));

  print("product of floats", advice(sm_90a, product<float>(), x, z, c));
  print("product of floats, tf32", advice(sm_90a, product<float>(tf32), x, z, c));

  auto const a = somewhere<bf16>(5, n, n), b = somewhere<bf16>(6, n, n);
  auto const odd = somewhere<bf16>(7, n, n - 3), odd_b = somewhere<bf16>(8, n, n - 3);
  print("product of bf16, rows of 8189", advice(sm_90a, product<bf16>(), odd, odd_b, c));
  print("product of bf16, rows of 8192", advice(sm_90a, product<bf16>(), a, b, c));
  // [end]

  // [begin: facts]
  for (AccessPath const& one : facts(product<bf16>()).loads)
    std::printf("load of %s: %s of %s\n", one.memory.c_str(), name(one.path), one.tile.c_str());
  for (DotPath const& one : facts(product<bf16>()).dots) std::printf("dot of bf16: %s\n", name(one.path));
  for (DotPath const& one : facts(product<float>()).dots) std::printf("dot of float: %s\n", name(one.path));
  // [end]

  // [begin: page]
  explain(sm_90a, product<bf16>(), a, b, c).save("product.html");
  // [end]

  std::mt19937 engine(10);
  std::uniform_real_distribution<float> uniform(-1, 1);
  device const where = device::best();
  std::size_t const rows = 40, columns = 300;
  std::vector<float> values(rows * columns), found(rows);
  for (float& value : values) value = uniform(engine);
  buffer<float, 2> device_x(where, rows, columns);
  device_x.copy_from(values);
  buffer<float> device_y(where, rows);
  launch(stream(where), row_sums(stages<4>), device_x, device_y);
  device_y.copy_to(found);
  double worst = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < columns; ++j) sum += static_cast<double>(values[i * columns + j]);
    worst = std::max(worst, std::abs(static_cast<double>(found[i]) - sum));
  }
  std::printf("row_sums of %zu rows: %s\n", rows, worst < 1e-4 ? "right" : "wrong");
}

// [begin: output]
// row_sums: limit memory
//   no stages: give the loop stages<4>
// row_sums, stages<4>: limit memory
// product of floats: limit issue slots
//   product: ask for tf32, dot(a, b, tf32), or cast the operands to bf16
// product of floats, tf32: limit tensor cores
// product of bf16, rows of 8189: limit tensor cores
//   pointer load: pad the rows of `in0` to a multiple of 8 elements (8192)
//   pointer load: pad the rows of `in1` to a multiple of 8 elements (8192)
// product of bf16, rows of 8192: limit tensor cores
// load of in0: tma of 128x64xbf16
// load of in1: tma of 128x64xbf16
// dot of bf16: wgmma
// dot of float: lanes
// row_sums of 40 rows: right
// [end]
