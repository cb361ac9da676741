// Tests the typed launcher's results on the host: arguments, prepared launches, errors, explanations, the simulator.
#include <algorithm>
#include <string>
#include <vector>

#include "launch_kernels.hpp"
#include "launch_support.hpp"
#include "support/catch.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

inline constexpr auto axpy =
    kernel("axpy", [](arg<float> factor, in<float, 2> x, inout<float, 2> y, arg<std::int32_t> add) {
      auto g = grid_over(y, shape<4, 32>);
      tile t = factor * load(x, shape<4, 32>, g[0], g[1]) + load(y, shape<4, 32>, g[0], g[1]);
      store(y, shape<4, 32>, t + cast<float>(add), g[0], g[1]);
    });

struct Pair {
  in<float, 1> from;
  out<float, 1> to;
};
inline constexpr auto copy_pair = kernel("copy_pair", [](Pair p) {
  auto g = grid_over(p.to, shape<64>);
  store(p.to, shape<64>, load(p.from, shape<64>, g[0]), g[0]);
});

}  // namespace

TEST_CASE("vectors, buffers and strided views of one kernel give the same sums") {
  FreshCaches const fresh(support::CacheMode::off);
  Sums s(1000);
  launch(here, vadd, s.a, s.b, s.c);
  CHECK(s.right());
  buffer a(device::host(), s.a);
  buffer b(device::host(), s.b);
  buffer<float> c(device::host(), 1000);
  launch(host_stream(), vadd, a, b, c);
  c.copy_to(s.c);
  CHECK(s.right());
  std::vector<float> wide(3000, -5);
  launch(here, vadd, a, s.b, view(wide).slice(0, 1, 3000, 3));
  CHECK(wide[1 + 3 * 999] == 999 + 1999);
  CHECK(wide[0] == -5);
  CHECK(wide[2 + 3 * 999] == -5);
  for (std::size_t n : {0, 1, 255, 256, 257}) {
    Sums small(n);
    launch(here, vadd, small.a, small.b, small.c);
    CHECK(small.right());
  }
}

TEST_CASE("scalars are converted, structs of parameters are flat, a grid in the launch replaces the kernel's") {
  FreshCaches const fresh(support::CacheMode::off);
  std::vector<float> x(7 * 50, 2), y(7 * 50, 1);
  launch(here, axpy, 3, view(x.data(), 7, 50), view(y.data(), 7, 50), std::int64_t{4});
  CHECK(y[7 * 50 - 1] == 3 * 2 + 1 + 4);
  CHECK_THROWS_WITH(launch(here, axpy, 3.0, view(x.data(), 7, 50), view(y.data(), 7, 50), std::int64_t{1} << 40),
                    ContainsSubstring("axpy: argument 4: 1099511627776 does not fit i32"));
  std::fill(y.begin(), y.end(), 0.0f);
  launch(here, axpy, grid(1, 2), 1, view(x.data(), 7, 50), view(y.data(), 7, 50), 0);
  CHECK(y[3 * 50 + 49] == 2);  // the first row of tiles only
  CHECK(y[4 * 50] == 0);
  std::vector<float> from(100, 3), to(100);
  launch(here, copy_pair, from, to);
  CHECK(to == from);
}

TEST_CASE("a prepared launch reads the current contents of its arrays and outlives the caches") {
  FreshCaches const fresh(support::CacheMode::off);
  Sums s(300);
  prepared const go = prepare(vadd, s.a, s.b, s.c);
  jit::clear_memory_cache();
  go(here);
  CHECK(s.right());
  s.a[299] = 77;
  go(here);
  CHECK(s.right());
  auto const before = jit::counters();
  for (int i = 0; i < 100; ++i) go(here);
  CHECK(jit::counters().traces == before.traces);
  CHECK(jit::counters().compilations == before.compilations);
}

TEST_CASE("an error that only values show is a user error before the kernel runs") {
  FreshCaches const fresh(support::CacheMode::off);
  Sums s(100);
  std::vector<float> shorter(99);
  try {
    launch(here, vadd, shorter, s.b, s.c);
    FAIL("accepted");
  } catch (UserError const& error) {
    CHECK_THAT(error.what(), ContainsSubstring("vadd: a and c differ in length; found 99") && ContainsSubstring("100"));
    CHECK(error.where().line() == vadd_require_line);
    CHECK_THAT(std::string(error.where().file()), ContainsSubstring("launch_kernels.hpp"));
  }
  CHECK(s.c[0] == -1);
  CHECK_THROWS_WITH(launch(here, vadd, s.a, s.c, s.c), ContainsSubstring("arguments 2 and 3 share memory"));
  CHECK_THROWS_WITH(prepare(vadd, s.a, s.c, s.c), ContainsSubstring("arguments 2 and 3 share memory"));
  CHECK_THROWS_WITH(launch(here, vadd, s.a, s.b, view<float, 1>(nullptr, 100)),
                    ContainsSubstring("argument 3: a null address"));
  buffer<float> freed(device::host(), 100);
  auto const go = prepare(vadd, s.a, s.b, freed);
  freed.free();
  CHECK_THROWS_AS(go(here), UserError);
  CHECK_THROWS_AS(launch(here, vadd, s.a, s.b, freed), UserError);
  CHECK_THROWS_WITH(launch(here, vadd, s.a, s.b, device_view<float, 1>(s.c.data(), 100)),
                    ContainsSubstring("CUDA device on a stream of the host"));
}

TEST_CASE("the facts of a parameter's type are checked") {
  FreshCaches const fresh(support::CacheMode::off);
  constexpr auto vouched = kernel("vouched", [](in<float, 1, multiple_of<16>> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    store(y, shape<64>, load(x, shape<64>, g[0]), g[0]);
  });
  std::vector<float> x(80, 4), y(80);
  launch(here, vouched, x, y);
  CHECK(y[79] == 4);
  auto const refused = ContainsSubstring(
      "argument 1: the extent of axis 0 is not a multiple of 16, as multiple_of in its type promises; pad the "
      "tensor, or leave the fact out of the type; found 79 (axis 0 of argument 1) % 16 == 0");
  auto const part = view(x).slice(0, 0, 79);
  CHECK_THROWS_WITH(launch(here, vouched, part, y), refused);
  CHECK_THROWS_WITH(simulate(vouched, part, y), refused);
  CHECK_THROWS_WITH(simulate(vouched, part, y, schedule::seed(1)), refused);
  CHECK_THROWS_WITH(debug(vouched, part, y), refused);
  CHECK(simulate(vouched, x, y).clean);
  CHECK(debug(vouched, x, y).clean);
}

TEST_CASE("explain prints facts, grid, requirements and path") {
  FreshCaches const fresh;
  Sums s(1000);
  std::vector<float> wide(2000);
  std::string const text = explain(vadd, view(wide).slice(0, 0, 2000, 2), s.b, s.c);
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("kernel vadd on host"));
  CHECK_THAT(text, ContainsSubstring("argument 1: in %in0 1000xf32 strides (2)"));
  CHECK_THAT(text, ContainsSubstring("facts used: unit_inner"));
  CHECK_THAT(text, ContainsSubstring("grid: 4 x 1 x 1 blocks"));
  CHECK_THAT(text, ContainsSubstring("requires: vadd: a and c differ in length"));
  CHECK_THAT(text, ContainsSubstring("compiled now"));
  CHECK_THAT(explain(vadd, view(wide).slice(0, 0, 2000, 2), s.b, s.c), ContainsSubstring("found in memory"));
  jit::clear_memory_cache();
  CHECK_THAT(explain(vadd, view(wide).slice(0, 0, 2000, 2), s.b, s.c), ContainsSubstring("loaded from the disk cache"));
}

TEST_CASE("the simulator gives the same values, and TEGULA_SIMULATE sends every launch through it") {
  FreshCaches const fresh(support::CacheMode::off);
  Sums s(300);
  simulation const result = simulate(vadd, s.a, s.b, s.c);
  CHECK(result.clean);
  CHECK(result.blocks == 2);
  CHECK(s.right());
  support::Options options = support::options();
  options.simulate = true;
  support::ScopedOptions const scope(options);
  std::fill(s.c.begin(), s.c.end(), 0.0f);
  auto const start = jit::counters();
  launch(here, vadd, s.a, s.b, s.c);
  CHECK(s.right());
  prepare(vadd, s.a, s.b, s.c)(here);
  CHECK(jit::counters().compilations == start.compilations);
  CHECK_THROWS_WITH(launch(here, vadd, s.a, s.c, s.c), ContainsSubstring("share memory"));
}

TEST_CASE("the kernel after the GPU passes is simulated warp by warp under any schedule", "[N1]") {
  FreshCaches const fresh(support::CacheMode::off);
  Sums s(300);
  for (schedule::order const& order : {schedule::seed(7), schedule::latest(), schedule::earliest(), schedule::starve(1),
                                       schedule::replay("choices:1,0,2")}) {
    std::fill(s.c.begin(), s.c.end(), 0.0f);
    simulation const result = simulate(vadd, s.a, s.b, s.c, order);
    INFO(order.text << "\n" << result.report);
    CHECK(result.clean);
    CHECK(result.blocks == 2);
    CHECK(s.right());
  }
  CHECK_THROWS_WITH(simulate(vadd, s.a, s.b, s.c, schedule::replay("seeds")), ContainsSubstring("seed:"));
  CHECK_THROWS_WITH(simulate(vadd, s.a, s.c, s.c, schedule::seed(1)), ContainsSubstring("share memory"));
  support::Options options = support::options();
  options.simulate = true;
  options.simulate_schedule = "latest:3";
  support::ScopedOptions const scope(options);
  std::fill(s.c.begin(), s.c.end(), 0.0f);
  auto const start = jit::counters();
  launch(here, vadd, s.a, s.b, s.c);
  CHECK(s.right());
  CHECK(jit::counters().compilations == start.compilations);
}

TEST_CASE("compile returns the plain data of a kernel") {
  CompiledKernel const compiled = compile(vadd);
  CHECK(compiled.name == "vadd");
  CHECK(compiled.image_kind == ImageKind::host_object);
  CHECK(compiled.parameters.size() == 3);
  CHECK(compiled.launch.requirements.size() == 2);
  CHECK_FALSE(compiled.phases.empty());
}

TEST_CASE("products of operands with any strides run on the host and as warps", "[N1]") {
  FreshCaches const fresh(support::CacheMode::off);
  auto const product = kernel("product", [](in<bf16, 2> a, in<bf16, 2> b, out<float, 2> c) {
    auto g = grid_over(c, shape<64, 64>);
    tile sum = loop(
        ceil_div(a.extent(1), 32), zeros<float>(shape<64, 64>),
        [&](auto k, auto s) { return dot(load(a, shape<64, 32>, g[0], k), load(b, shape<32, 64>, k, g[1]), s); },
        stages<2>);
    store(c, shape<64, 64>, sum, g[0], g[1]);
  });
  constexpr std::int64_t rows = 72, depth = 40, pitch = 128;
  alignas(16) static bf16 memory[rows * pitch];
  for (std::size_t i = 0; i < std::size(memory); ++i) memory[i] = bf16(static_cast<float>(i * 5 % 7) - 3.0f);
  std::vector<bf16> b(static_cast<std::size_t>(depth * rows));
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = bf16(static_cast<float>(i % 5) - 2.0f);
  view<bf16, 2> const operands[] = {view<bf16, 2>(memory, {rows, depth}, {pitch, 1}),
                                    view<bf16, 2>(memory, {rows, depth}, {pitch, 1}).slice(0, 0, rows, -1),
                                    view<bf16, 2>(memory, {rows, depth}, {0, 1}),
                                    view<bf16, 2>(memory, {rows, depth}, {8, 1}),
                                    view<bf16, 2>(memory, {rows, depth}, {pitch, 2}),
                                    view<bf16, 2>(memory + 1, {rows, depth}, {pitch - 1, 1})};
  for (auto const& a : operands) {
    std::vector<float> expected(static_cast<std::size_t>(rows * rows)), c(expected.size(), -1), d(expected.size(), -1);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < rows; ++j)
        for (std::int64_t k = 0; k < depth; ++k)
          expected[static_cast<std::size_t>(i * rows + j)] +=
              static_cast<float>(a(i, k)) * static_cast<float>(b[static_cast<std::size_t>(k * rows + j)]);
    INFO("strides " << a.stride(0) << ", " << a.stride(1));
    launch(host_stream(), product, a, view(b.data(), depth, rows), view(c.data(), rows, rows));
    CHECK(c == expected);
    simulation const warps =
        simulate(product, a, view(b.data(), depth, rows), view(d.data(), rows, rows), schedule::seed(1));
    INFO(warps.report);
    CHECK(warps.clean);
    CHECK(d == expected);
  }
}
