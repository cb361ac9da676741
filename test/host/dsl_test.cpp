// Kernels of the language, launched on the host and run in the simulator: each result against values worked out here.
#include <fmt/format.h>

#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/catch.hpp"
#include "support/count_allocations.hpp"
#include "support/small_stack.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;

namespace {

/// Launches and simulates, as tiles and warp by warp, with the same inputs; `out` starts as -1 each time. The results
/// must have the same bits.
template <class K, class T, class... X>
void run_both(K const& kernel, std::vector<T>& out, X const&... rest) {
  std::vector<T> simulated(out), by_warps(out);
  launch(stream(device::host()), kernel, rest..., out);
  auto const report = simulate(kernel, rest..., simulated);
  INFO(report.report);
  CHECK(report.clean);
  CHECK(out == simulated);
  auto const warps = simulate(kernel, rest..., by_warps, schedule::seed(1));
  INFO(warps.report);
  CHECK(warps.clean);
  CHECK(out == by_warps);
}

std::vector<float> counted(int n, float first = 0) {
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& value : values) value = first++;
  return values;
}

}  // namespace

TEST_CASE("expand_dims, squeeze and trans move elements, not values", "[F23][F24][F25][F26]") {
  auto const outer = kernel("outer", [](in<float, 1> a, in<float, 1> b, out<float, 2> y) {
    auto g = grid_over(y, shape<8, 16>);
    tile column = expand_dims(load(a, shape<8>, g[0]), axis<1>);
    tile row = expand_dims(load(b, shape<16>, g[1]), 0_c);
    store(y, shape<8, 16>, column * 100 + row, g[0], g[1]);
  });
  std::vector<float> const a = counted(11), b = counted(19, 1);
  std::vector<float> y(11 * 19, -1);
  {
    std::vector<float> simulated(y);
    launch(stream(device::host()), outer, a, b, view(y.data(), 11, 19));
    CHECK(simulate(outer, a, b, view(simulated.data(), 11, 19)).clean);
    CHECK(y == simulated);
  }
  bool right = true;
  for (std::size_t i = 0; i < 11; ++i)
    for (std::size_t j = 0; j < 19; ++j) right = right && y[i * 19 + j] == a[i] * 100 + b[j];
  CHECK(right);

  auto const round = kernel("round", [](in<float, 1> x, out<float, 1> z) {
    auto g = grid_over(z, shape<16>);
    tile v = load(x, shape<16>, g[0]);
    tile there = trans(expand_dims(v, axis<0, -1>), axis<2, 1, 0>);
    store(z, shape<16>, squeeze(there, axis<0, -1>) + squeeze(expand_dims(v, axis<-1>), axis<1>), g[0]);
  });
  std::vector<float> const x = counted(37);
  std::vector<float> z(37, -1);
  run_both(round, z, x);
  for (std::size_t i = 0; i < z.size(); ++i) CHECK(z[i] == 2 * x[i]);
}

TEST_CASE("masks by index predicates, select and borders") {
  auto const k = kernel("triangle", [](in<float, 2> x, out<float, 2> y) {
    auto g = grid_over(y, shape<8, 8>);
    tile row = iota(shape<8, 1>, axis<0>) + g[0] * 8;
    tile column = iota(shape<1, 8>, axis<1>) + g[1] * 8;
    tile v = load(x, shape<8, 8>, g[0], g[1], pad(7));
    store(y, shape<8, 8>, select((column <= row) & !(column == 3), v, -inf), g[0], g[1]);
  });
  std::vector<float> const x = counted(13 * 11, 1);
  std::vector<float> y(13 * 11, -1), simulated(y);
  launch(stream(device::host()), k, view(x.data(), 13, 11), view(y.data(), 13, 11));
  CHECK(simulate(k, view(x.data(), 13, 11), view(simulated.data(), 13, 11)).clean);
  CHECK(y == simulated);
  bool right = true;
  for (std::size_t i = 0; i < 13; ++i)
    for (std::size_t j = 0; j < 11; ++j)
      right = right && y[i * 11 + j] == (j <= i && j != 3 ? x[i * 11 + j] : -std::numeric_limits<float>::infinity());
  CHECK(right);
}

TEST_CASE("mask_outside replaces elements beyond an extent") {
  auto const k = kernel("limited", [](in<float, 1> x, out<float, 1> y, arg<int> limit) {
    auto g = grid_over(y, shape<8>);
    store(y, shape<8>, mask_outside(load(x, shape<8>, g[0]), axis<0>, g[0], limit, -5), g[0]);
  });
  std::vector<float> const x = counted(20, 1);
  std::vector<float> y(20, -1);
  launch(stream(device::host()), k, x, y, 13);
  for (std::size_t i = 0; i < 20; ++i) CHECK(y[i] == (i < 13 ? x[i] : -5));
}

TEST_CASE("element offsets, negative and beyond the end") {
  auto const k = kernel("shifted", [](in<float, 1> x, out<float, 1> y, arg<std::int64_t> by) {
    auto g = grid_over(y, shape<16>);
    store(y, shape<16>, load(x, shape<16>, elem(g[0] * 16 + by), pad(-2)), g[0]);
  });
  std::vector<float> const x = counted(40);
  for (std::int64_t by : {-7, 0, 5, 100}) {
    std::vector<float> y(40, -1);
    launch(stream(device::host()), k, x, y, by);
    for (std::int64_t i = 0; i < 40; ++i)
      CHECK(y[static_cast<std::size_t>(i)] == (i + by < 0 || i + by >= 40 ? -2 : static_cast<float>(i + by)));
  }
}

namespace {

struct Affine {
  in<float, 1> factor;
  arg<float> offset;
};
struct Inputs {
  in<float, 1> x;
  Affine affine;
};
constexpr auto affine = kernel("affine", [](Inputs inputs, out<float, 1> y) {
  auto g = grid_over(y, shape<16>);
  store(y, shape<16>,
        load(inputs.x, shape<16>, g[0]) * load(inputs.affine.factor, shape<16>, g[0]) + inputs.affine.offset, g[0]);
});

}  // namespace

TEST_CASE("structs of parameters are parameters, their members in place") {
  std::vector<float> const x = counted(21), factor = counted(21, 2);
  std::vector<float> y(21, -1);
  run_both(affine, y, x, factor, 3.0F);
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == x[i] * factor[i] + 3);
}

TEST_CASE("if_ and loop take the branches and trip counts that arguments decide", "[F33]") {
  auto const k = kernel("control", [](in<float, 1> x, arg<int> rounds, out<float, 1> y) {
    auto g = grid_over(y, shape<16>);
    tile v = load(x, shape<16>, g[0]);
    auto [a, b] = loop(rounds, carry(v, zeros<float>(shape<16>)), [&](auto i, auto s, auto t) {
      tile step = if_(
          i % 2 == 0, [&] { return s + 1; }, [&] { return s * 2; });
      return carry(step, t + step);
    });
    tile r = if_(
                 rounds > 2, [&] { return carry(a, b); }, [&] { return carry(b, a); })
                 .template get<0>();
    store(y, shape<16>, r, g[0]);
  });
  std::vector<float> const x = counted(21);
  for (int rounds : {0, 1, 2, 3, 5}) {
    INFO("rounds " << rounds);
    std::vector<float> y(21, -1);
    run_both(k, y, x, rounds);
    for (std::size_t e = 0; e < y.size(); ++e) {
      float s = x[e], t = 0;
      for (int i = 0; i < rounds; ++i) t += s = i % 2 == 0 ? s + 1 : s * 2;
      CHECK(y[e] == (rounds > 2 ? s : t));
    }
  }
}

TEST_CASE("a loop whose step is not positive is not run, or refused where the host knows the step") {
  auto const k = kernel("steps", [](arg<int> n, arg<int> step, out<float, 2> y) {
    auto g = grid_over(y, shape<1, 4>);
    tile first = loop(range(0, n, g[0] - 1), zeros<float>(shape<1, 4>), [&](auto, auto sum) { return sum + 1; });
    tile both = if_(
        n > 0,
        [&] { return loop(range(0, n, step), first, [&](auto i, auto sum) { return sum + 10 * cast<float>(i + 1); }); },
        [&] { return first * 2; });
    store(y, shape<1, 4>, both, g[0], 0);
  });
  auto const run = [&](int step) {
    std::vector<float> y(16), tiles(16), warps(16);
    launch(stream(device::host()), k, 5, step, view(y.data(), 4, 4));
    auto const report = simulate(k, 5, step, view(tiles.data(), 4, 4));
    CHECK(report.report.find("a loop's step is -1 but must be at least 1; it is not run") != std::string::npos);
    CHECK(tiles == y);
    (void)simulate(k, 5, step, view(warps.data(), 4, 4), schedule::seed(1));
    CHECK(warps == y);
    return std::vector<float>{y[0], y[4], y[8], y[12]};
  };
  CHECK(run(2) == std::vector<float>{90, 90, 95, 93});
  CHECK(run(0) == std::vector<float>{0, 0, 5, 3});
  CHECK(run(-3) == std::vector<float>{0, 0, 5, 3});

  auto const known = kernel("known", [](arg<int> step, out<float, 1> y) {
    auto g = grid_over(y, shape<1>);
    store(y, shape<1>, loop(range(0, 10, step), zeros<float>(shape<1>), [](auto, auto sum) { return sum + 1; }), g[0]);
  });
  std::vector<float> y(1);
  launch(stream(device::host()), known, 3, y);
  CHECK(y[0] == 4);
  for (int const step : {0, -2}) {
    CHECK_THROWS_WITH(
        launch(stream(device::host()), known, step, y),
        test::ContainsSubstring(fmt::format("the step must be positive; found {} (argument 1) > 0", step)));
    CHECK_THROWS_WITH(simulate(known, step, y), test::ContainsSubstring("the step must be positive"));
    CHECK_THROWS_WITH(simulate(known, step, y, schedule::seed(1)),
                      test::ContainsSubstring("the step must be positive"));
  }
}

TEST_CASE("several values of loops, branches and functions have the values of each executor") {
  auto const two = function([](auto x, auto n) {
    return loop(n, carry(x, x + 1), [&](auto, auto a, auto b) { return carry(a + b, b - a); });
  });
  auto const k = kernel("several", [&](in<float, 1> x, arg<int> n, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile v = load(x, shape<64>, g[0]);
    auto [a, b] = loop(3, carry(v, v * 2), [&](auto, auto p, auto q) {
      return if_(
          n == 1, [&] { return two(p + q, n); },
          [&] { return loop(n, carry(p, q), [&](auto, auto r, auto s) { return carry(s, r); }); });
    });
    auto [c, d] = two(a - b, 2);
    store(y, shape<64>, a + b * 3 + c * 5 + d * 7, g[0]);
  });
  for (int n = 0; n < 4; ++n) {
    std::vector<float> const x = counted(100);
    std::vector<float> y(100, -1);
    run_both(k, y, x, n);
    auto const times = [](float v, int count) {
      std::pair<float, float> at{v, v + 1};
      for (int i = 0; i < count; ++i) at = {at.first + at.second, at.second - at.first};
      return at;
    };
    std::pair<float, float> at{x[9], x[9] * 2};
    for (int i = 0; i < 3; ++i) {
      if (n == 1)
        at = times(at.first + at.second, n);
      else if (n % 2 == 1)
        std::swap(at.first, at.second);
    }
    auto const [c, d] = times(at.first - at.second, 2);
    CHECK(y[9] == at.first + at.second * 3 + c * 5 + d * 7);
  }
}

TEST_CASE("within a block a load sees the stores before it, and a tile bound earlier does not") {
  auto const k = kernel("in_place", [](inout<float, 1> x, out<float, 1> y) {
    auto g = grid_over(x, shape<16>);
    tile before = load(x, shape<16>, g[0]);
    store(x, shape<16>, before * 10, g[0]);
    tile after = load(x, shape<16>, g[0]);
    store(x, shape<16>, after + before, g[0]);
    store(y, shape<16>, load(x, shape<16>, g[0]) - after, g[0]);
  });
  std::vector<float> x = counted(21), y(21, -1);
  launch(stream(device::host()), k, x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(x[i] == static_cast<float>(11 * i));
    CHECK(y[i] == static_cast<float>(i));
  }
}

TEST_CASE("a chain of any length compiles, on a small stack, and has the simulator's values") {
  constexpr int ops = 4000;
  auto const k = kernel("chain", [](in<float, 1> x, arg<int> n, out<float, 1> y) {
    auto count = n + 1;
    for (int i = 0; i < ops; ++i) count = 5 - count;
    require(count > 0, "chain: n must not be negative");
    auto g = grid_over(y, shape<64>);
    tile v = load(x, shape<64>, g[0]);
    for (int i = 1; i <= ops; ++i) v = v * 0.75F + static_cast<float>(i % 5);
    store(y, shape<64>, v * cast<float>(count), g[0]);
  });
  std::vector<float> const x = counted(100);
  std::vector<float> y(100, -1);
  test::on_stack_of(std::size_t{2} << 20, [&] {
    std::vector<float> tiles(100);
    launch(stream(device::host()), k, x, 2, y);
    CHECK(simulate(k, x, 2, tiles).clean);
    CHECK(tiles == y);
    CHECK_THROWS_WITH(launch(stream(device::host()), k, x, -1, y), test::ContainsSubstring("n must not be negative"));
  });
  float expected = x[70];
  for (int i = 1; i <= ops; ++i) expected = expected * 0.75F + static_cast<float>(i % 5);
  CHECK(y[70] == expected * 3);
}

TEST_CASE("the work of a compilation grows with the loads of a kernel, not with their square") {
  auto const work = [](int loads) {
    auto const k = kernel("loads", [loads](in<float, 2> x, out<float, 1> y) {
      auto g = grid_over(y, shape<256>);
      tile v = load(x, shape<256>, 0, g[0]);
      for (int i = 1; i < loads; ++i) v = max(v, load(x, shape<256>, i, g[0]));
      store(y, shape<256>, v, g[0]);
    });
    CompileOptions options;
    options.target = Target::cuda;
    return test::allocations_of([&] { (void)compile(k, options); });
  };
  auto const once = work(100), twice = work(200);
  INFO("100 loads: " << once.count << " allocations of " << once.bytes << " bytes, 200 loads: " << twice.count << ", "
                     << twice.bytes);
  CHECK(10 * twice.count < 25 * once.count);
  CHECK(10 * twice.bytes < 25 * once.bytes);
}

TEST_CASE("a grid over four axes covers each tile once") {
  auto const k = kernel("rank4", [](in<float, 4> x, out<float, 4> y) {
    auto g = grid_over(y, shape<1, 2, 4, 8>);
    store(y, shape<2, 4, 8>, load(x, shape<2, 4, 8>, g[0], g[1], g[2], g[3]) + 1, g[0], g[1], g[2], g[3]);
  });
  std::vector<float> const x = counted(3 * 5 * 6 * 9);
  std::vector<float> y(x.size(), -1);
  launch(stream(device::host()), k, view(x.data(), 3, 5, 6, 9), view(y.data(), 3, 5, 6, 9));
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == x[i] + 1);
}

TEST_CASE("elements convert by cast alone, with the meanings of host scalars") {
  auto const k = kernel("casts", [](in<float, 1> x, out<int, 1> y) {
    auto g = grid_over(y, shape<16>);
    tile v = load(x, shape<16>, g[0]);
    tile narrow = cast<float>(cast<bf16>(v)) + cast<float>(cast<f16>(v));
    store(y, shape<16>, cast<int>(narrow * 8) + cast<int>(v > 1) * 1000, g[0]);
  });
  std::vector<float> const x = {0.1F, 1.7F, -2.3F, 3.14159F, 100.7F, -0.49F, 65519.F, 1e6F};
  std::vector<int> y(x.size(), -1);
  run_both(k, y, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto const v = host(x[i]);
    auto const narrow = cast<float>(cast<bf16>(v)) + cast<float>(cast<f16>(v));
    CHECK(y[i] == (cast<int>(narrow * 8) + cast<int>(v > 1) * 1000).value());
  }
}

TEST_CASE("pairwise sums have the bits of the balanced tree") {
  auto const k = kernel("pairwise", [](in<float, 2> x, out<float, 1> y) {
    auto g = grid_over(y, shape<4>);
    store(y, shape<4>, squeeze(sum(load(x, shape<4, 11>, g[0], 0), axis<1>, order::pairwise), axis<1>), g[0]);
  });
  std::vector<float> x(6 * 11);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0F / static_cast<float>(3 * i + 1) * (i % 3 == 0 ? -1.0F : 1e3F);
  std::vector<float> y(6, -1);
  launch(stream(device::host()), k, view(x.data(), 6, 11), y);
  for (std::size_t row = 0; row < 6; ++row) {
    std::vector<float> level(x.begin() + static_cast<std::ptrdiff_t>(row * 11),
                             x.begin() + static_cast<std::ptrdiff_t>(row * 11 + 11));
    while (level.size() > 1) {
      std::vector<float> next;
      for (std::size_t i = 0; i + 1 < level.size(); i += 2) next.push_back(level[i] + level[i + 1]);
      if (level.size() % 2 == 1) next.push_back(level.back());
      level = next;
    }
    CHECK(y[row] == level[0]);
  }
}

TEST_CASE("a requirement is checked at the launch and named in the error") {
  auto const k = kernel("same_size", [](in<float, 1> x, out<float, 1> y) {
    require(x.extent(0) == y.extent(0), "same_size: both have one length");
    auto g = grid_over(y, shape<16>);
    store(y, shape<16>, load(x, shape<16>, g[0]), g[0]);
  });
  std::vector<float> const x(10);
  std::vector<float> y(11);
  CHECK_THROWS_WITH(launch(stream(device::host()), k, x, y),
                    test::ContainsSubstring("same_size: both have one length"));
}

TEST_CASE("kernels take tensors and numbers of 8 bits") {
  auto const k = kernel("quantise", [](in<float, 1> x, in<e4m3, 1> weight, arg<std::int8_t> min, arg<e5m2> scale,
                                       out<e4m3, 1> rounded, out<std::int8_t, 1> y) {
    auto g = grid_over(y, shape<16>);
    tile v = load(x, shape<16>, g[0]);
    tile w = load(weight, shape<16>, g[0], pad(1));
    store(rounded, shape<16>, select(v < 0, w, cast<e4m3>(v)), g[0]);
    tile scaled = round(v * cast<float>(w) * cast<float>(scale));
    store(y, shape<16>, cast<std::int8_t>(max(scaled, cast<float>(min))), g[0]);
  });
  std::vector<float> const x = {0.0F, 1.06F, -3.3F, 17.0F,  1e6F, -1e6F, 447.0F, 0.004F, -0.9F, 31.5F,
                                2.5F, 0.3F,  7.7F,  -12.0F, 1.0F, 0.5F,  99.0F,  -99.0F, 3.0F};
  std::vector<e4m3> weight(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) weight[i] = e4m3(0.25 * static_cast<double>(i) - 2);
  std::vector<std::int8_t> y(x.size(), -1), simulated(y);
  std::vector<e4m3> rounded(x.size(), e4m3(-1)), rounded_simulated(rounded);
  launch(stream(device::host()), k, x, weight, -100, 1.5, rounded, y);
  auto const report = simulate(k, x, weight, -100, 1.5, rounded_simulated, simulated);
  INFO(report.report);
  CHECK(report.clean);
  CHECK(y == simulated);
  CHECK(rounded == rounded_simulated);
  for (std::size_t i = 0; i < x.size(); ++i) {
    INFO("element " << i);
    auto const v = host(x[i]);
    auto const w = host(weight[i]);
    CHECK(rounded[i] == select(v < 0, w, cast<e4m3>(v)).value());
    CHECK(y[i] == cast<std::int8_t>(max(round(v * cast<float>(w) * 1.5F), -100.F)).value());
  }
  CHECK_THROWS_WITH(launch(stream(device::host()), k, x, weight, 300, 1.5, rounded, y),
                    test::ContainsSubstring("argument 3: 300 does not fit i8"));
}

TEST_CASE("products of i8 sum in i32, of 8-bit floats and tf32 in f32") {
  auto const integers = kernel("integers", [](in<std::int8_t, 2> a, in<std::int8_t, 2> b, out<int, 2> y) {
    auto g = grid_over(y, shape<16, 16>);
    tile acc = loop(ceil_div(a.extent(1), 32), full<int>(shape<16, 16>, 5), [&](auto i, auto s) {
      return dot(load(a, shape<16, 32>, g[0], i), load(b, shape<32, 16>, i, g[1]), s);
    });
    store(y, shape<16, 16>, acc, g[0], g[1]);
  });
  auto const floats = kernel("floats", [](in<e4m3, 2> a, in<e5m2, 2> b, out<float, 2> y) {
    auto g = grid_over(y, shape<16, 16>);
    tile acc = loop(ceil_div(a.extent(1), 32), zeros<float>(shape<16, 16>), [&](auto i, auto s) {
      return s + dot(load(a, shape<16, 32>, g[0], i), load(b, shape<32, 16>, i, g[1]));
    });
    store(y, shape<16, 16>, acc, g[0], g[1]);
  });
  auto const rounded = kernel("rounded", [](in<float, 2> a, in<float, 2> b, out<float, 2> y) {
    auto g = grid_over(y, shape<16, 16>);
    tile first = dot(load(a, shape<16, 32>, g[0], 0), load(b, shape<32, 16>, 0, g[1]), tf32);
    store(y, shape<16, 16>, dot(load(a, shape<16, 32>, g[0], 1), load(b, shape<32, 16>, 1, g[1]), first, tf32), g[0],
          g[1]);
  });
  CHECK_THAT(rounded.trace().text(), test::ContainsSubstring("{precision = tf32} : tile<16x16xf32>"));
  CHECK_THAT(floats.trace().text(), test::ContainsSubstring("dot %"));
  constexpr int m = 21, n = 19, k = 50;
  std::vector<std::int8_t> a(m * k), b(k * n);
  std::vector<e4m3> c(m * k);
  std::vector<e5m2> d(k * n);
  std::vector<float> e(m * k), f(k * n);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<std::int8_t>(i * 37);
    c[i] = e4m3(static_cast<double>(i * 7 % 31) / 8 - 2);
    e[i] = static_cast<float>(i * 11 % 64) - 32;
  }
  for (std::size_t i = 0; i < b.size(); ++i) {
    b[i] = static_cast<std::int8_t>(i * 59);
    d[i] = e5m2(static_cast<double>(i * 5 % 17) / 4 - 2);
    f[i] = static_cast<float>(i * 13 % 32) / 8;
  }
  std::vector<int> y(m * n, -1), y_simulated(y);
  std::vector<float> z(m * n, -1), z_simulated(z), w(m * n, -1), w_simulated(w);
  launch(stream(device::host()), integers, view(a.data(), m, k), view(b.data(), k, n), view(y.data(), m, n));
  launch(stream(device::host()), floats, view(c.data(), m, k), view(d.data(), k, n), view(z.data(), m, n));
  launch(stream(device::host()), rounded, view(e.data(), m, k), view(f.data(), k, n), view(w.data(), m, n));
  CHECK(simulate(integers, view(a.data(), m, k), view(b.data(), k, n), view(y_simulated.data(), m, n)).clean);
  CHECK(simulate(floats, view(c.data(), m, k), view(d.data(), k, n), view(z_simulated.data(), m, n)).clean);
  CHECK(simulate(rounded, view(e.data(), m, k), view(f.data(), k, n), view(w_simulated.data(), m, n)).clean);
  CHECK(y == y_simulated);
  CHECK(z == z_simulated);
  CHECK(w == w_simulated);
  long wrong = 0;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      int integer = 5;
      double eighths = 0, tens = 0;  // all three are exact, in any order
      for (std::size_t l = 0; l < k; ++l) {
        integer += a[i * k + l] * b[l * n + j];
        eighths += static_cast<double>(c[i * k + l]) * static_cast<double>(d[l * n + j]);
        tens += static_cast<double>(e[i * k + l]) * static_cast<double>(f[l * n + j]);
      }
      if (y[i * n + j] != integer || static_cast<double>(z[i * n + j]) != eighths ||
          static_cast<double>(w[i * n + j]) != tens)
        ++wrong;
    }
  CHECK(wrong == 0);
}
