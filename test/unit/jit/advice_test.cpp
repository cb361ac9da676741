// Tests advice on a corpus of kernels as users write them: it is given where something can be gained, with line, tensor
// and remedy, and not where nothing can. Tensors have extents and addresses, but no memory: nothing runs.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tegula/dsl/dsl.hpp"
#include "tegula/jit/advice.hpp"
#include "tegula/target/target_info.hpp"

using namespace tegula;
using test::ContainsSubstring;
using Kind = SlowSpot::Kind;
using Limit = Advice::Limit;

namespace {

/// Returns the n-th address of tensors that nobody reads.
template <class T>
T* place(int n, std::int64_t bytes_behind = 0) {
  return reinterpret_cast<T*>((std::uintptr_t{1} << 40) * static_cast<std::uintptr_t>(n + 1) +
                              static_cast<std::uintptr_t>(bytes_behind));
}
template <class T, class... Extent>
auto dense(int n, Extent... extents) {
  return device_view<T, static_cast<int>(sizeof...(Extent))>(place<T>(n), {static_cast<std::int64_t>(extents)...});
}
template <class T>
device_view<T, 2> strided(int n, std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column) {
  return device_view<T, 2>(place<T>(n), {rows, columns}, {row, column});
}

// ---- kernels.

constexpr std::uint32_t line_of_vadd = __LINE__ + 2;
template <int n>
constexpr auto vadd = kernel("vadd", [](in<float, 1> a, in<float, 1> b, out<float, 1> c) {
  auto g = grid_over(c, shape<n>);
  store(c, shape<n>, load(a, shape<n>, g[0]) + load(b, shape<n>, g[0]), g[0]);
});

constexpr std::uint32_t line_of_scaled = __LINE__ + 4;
template <class T, int rows, int columns>
constexpr auto scaled = kernel("scaled", [](in<T, 2> x, out<T, 2> y) {
  auto g = grid_over(y, shape<rows, columns>);
  tile v = load(x, shape<rows, columns>, g[0], g[1]);
  store(y, shape<rows, columns>, cast<T>(cast<float>(v) * 2), g[0], g[1]);
});

template <int n>
constexpr auto softmax = kernel("softmax", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, n>);
  tile v = load(x, shape<1, n>, g[0], 0, pad(-inf));
  tile e = exp(v - max(v, axis<1>));
  store(y, shape<1, n>, e / sum(e, axis<1>), g[0], 0);
});

template <int n>
constexpr auto rms_norm = kernel("rms_norm", [](in<bf16, 2> x, in<bf16, 1> weight, out<bf16, 2> y) {
  auto g = grid_over(y, shape<1, n>);
  tile v = cast<float>(load(x, shape<1, n>, g[0], 0));
  tile w = expand_dims(cast<float>(load(weight, shape<n>, 0)), axis<0>);
  tile factor = rsqrt(sum(v * v, axis<1>) * (1.0F / n) + 1e-6F);
  store(y, shape<1, n>, cast<bf16>(v * factor * w), g[0], 0);
});

constexpr std::uint32_t line_of_product = __LINE__ + 2, line_of_dot = __LINE__ + 6;
template <class T, int BM, int BN, int BK, int depth, class R = T>
constexpr auto product = kernel("product", [](in<T, 2> A, in<T, 2> B, out<R, 2> C) {
  auto g = grid_over(C, shape<BM, BN>);
  tile acc = loop(
      ceil_div(A.extent(1), BK), zeros<float>(shape<BM, BN>),
      [&](auto k, auto sum) { return dot(load(A, shape<BM, BK>, g[0], k), load(B, shape<BK, BN>, k, g[1]), sum); },
      stages<depth>);
  store(C, shape<BM, BN>, cast<R>(acc), g[0], g[1]);
});

/// Sums a whole block, so that nothing can be divided.
constexpr std::uint32_t line_of_total = __LINE__ + 4;
template <int BM, int BN, int BK>
constexpr auto total = kernel("total", [](in<bf16, 2> A, in<bf16, 2> B, out<float, 2> C) {
  auto g = grid(C.extent(0), C.extent(1));
  tile acc = loop(
      ceil_div(A.extent(1), BK), zeros<float>(shape<BM, BN>),
      [&](auto k, auto sum) { return dot(load(A, shape<BM, BK>, g[0], k), load(B, shape<BK, BN>, k, g[1]), sum); },
      stages<4>);
  store(C, shape<1, 1>, sum(sum(acc, axis<0>), axis<1>), g[0], g[1]);
});

template <int BM, int BN, int BK>
constexpr auto product_f8 = kernel("product_f8", [](in<e4m3, 2> A, in<e4m3, 2> B, out<bf16, 2> C) {
  auto g = grid_over(C, shape<BM, BN>);
  tile acc = loop(
      ceil_div(A.extent(1), BK), zeros<float>(shape<BM, BN>),
      [&](auto k, auto sum) {
        return dot(load(A, shape<BM, BK>, g[0], k), trans(load(B, shape<BN, BK>, g[1], k)), sum);
      },
      stages<4>);
  store(C, shape<BM, BN>, cast<bf16>(acc), g[0], g[1]);
});

template <int BM, int BN, int BK>
constexpr auto product_tf32 = kernel("product_tf32", [](in<float, 2> A, in<float, 2> B, out<float, 2> C) {
  auto g = grid_over(C, shape<BM, BN>);
  tile acc = loop(
      ceil_div(A.extent(1), BK), zeros<float>(shape<BM, BN>),
      [&](auto k, auto sum) {
        return dot(load(A, shape<BM, BK>, g[0], k), trans(load(B, shape<BN, BK>, g[1], k)), sum, tf32);
      },
      stages<4>);
  store(C, shape<BM, BN>, acc, g[0], g[1]);
});

constexpr auto product_f64 = kernel("product_f64", [](in<double, 2> A, in<double, 2> B, out<double, 2> C) {
  auto g = grid_over(C, shape<64, 64>);
  tile acc = loop(
      ceil_div(A.extent(1), 16), zeros<double>(shape<64, 64>),
      [&](auto k, auto sum) { return dot(load(A, shape<64, 16>, g[0], k), load(B, shape<16, 64>, k, g[1]), sum); },
      stages<4>);
  store(C, shape<64, 64>, acc, g[0], g[1]);
});

template <int block, int d>
constexpr auto attention = kernel("attention", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V, out<bf16, 3> O,
                                                  arg<float> scale) {
  auto g = grid_over(O, shape<block, d>);
  tile q = load(Q, shape<block, d>, g[0], g[1], 0);
  auto [m, l, o] = loop(
      ceil_div(K.extent(1), block),
      carry(full(shape<block, 1>, -inf), zeros<float>(shape<block, 1>), zeros<float>(shape<block, d>)),
      [&](auto j, auto m0, auto l0, auto o0) {
        tile s = dot(q, trans(load(K, shape<block, d>, g[0], j, 0))) * scale;
        tile m1 = max(m0, max(s, axis<1>));
        tile p = exp2(s - m1);
        tile a = exp2(m0 - m1);
        return carry(m1, l0 * a + sum(p, axis<1>), dot(cast<bf16>(p), load(V, shape<block, d>, g[0], j, 0), o0 * a));
      },
      stages<2>);
  store(O, shape<block, d>, cast<bf16>(o / l), g[0], g[1], 0);
});

template <int n>
constexpr auto transposed = kernel("transposed", [](in<bf16, 2> x, out<bf16, 2> y) {
  auto g = grid_over(y, shape<n, n>);
  store(y, shape<n, n>, trans(load(x, shape<n, n>, g[1], g[0])), g[0], g[1]);
});

constexpr std::uint32_t line_of_functions = __LINE__ + 2, line_of_function = __LINE__ + 6, line_of_sin = __LINE__ + 12;
template <int which>
constexpr auto functions = kernel("functions", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<8, 1024>);
  tile v = load(x, shape<8, 1024>, g[0], g[1]);
  if constexpr (which == 0)
    store(y, shape<8, 1024>, tanh(tanh(tanh(tanh(v) * 2) * 2) * 2), g[0], g[1]);
  else if constexpr (which == 1)
    store(y, shape<8, 1024>, fast_tanh(v), g[0], g[1]);
  else if constexpr (which == 2)
    store(y, shape<8, 1024>, exp2(v), g[0], g[1]);
  else if constexpr (which == 3)
    store(y, shape<8, 1024>, sin(v) + sin(v * 2) + sin(v * 4), g[0], g[1]);
  else {
    tile p = loop(128, v, [&](auto, auto sum) { return sum * v + 1.5F; });
    store(y, shape<8, 1024>, p, g[0], g[1]);
  }
});

constexpr auto embedding = kernel("embedding", [](in<bf16, 2> table, in<std::int32_t, 1> ids, out<bf16, 2> y) {
  auto g = grid_over(y, shape<8, 1024>);
  tile row = expand_dims(load(ids, shape<8>, g[0]), axis<1>);
  store(y, shape<8, 1024>, gather(table, row, iota<int>(shape<1, 1024>, axis<1>) + cast<int>(g[1] * 1024)), g[0], g[1]);
});

constexpr std::uint32_t line_of_permuted = __LINE__ + 3;
constexpr auto permuted = kernel("permuted", [](in<bf16, 1> table, in<std::int32_t, 1> ids, out<bf16, 1> y) {
  auto g = grid_over(y, shape<2048>);
  store(y, shape<2048>, gather(table, load(ids, shape<2048>, g[0])), g[0]);
});

constexpr std::uint32_t line_of_histogram = __LINE__ + 3;
constexpr auto histogram = kernel("histogram", [](in<std::int32_t, 1> keys, inout<std::int32_t, 1> bins) {
  auto g = grid_over(keys, shape<2048>);
  atomic_add(bins, 1, load(keys, shape<2048>, g[0], pad(-1)));
});

constexpr std::uint32_t line_of_chunk = __LINE__ + 4;
template <int depth>
constexpr auto row_sums = kernel("row_sums", [](in<float, 2> x, out<float, 1> y) {
  auto g = grid_over(y, shape<1>);
  auto add = [&](auto k, auto sum) { return sum + load(x, shape<1, 2048>, g[0], k); };
  if constexpr (depth > 0)
    store(y, shape<1>,
          squeeze(sum(loop(ceil_div(x.extent(1), 2048), zeros<float>(shape<1, 2048>), add, stages<depth>), axis<1>),
                  axis<1>),
          g[0]);
  else
    store(y, shape<1>,
          squeeze(sum(loop(ceil_div(x.extent(1), 2048), zeros<float>(shape<1, 2048>), add), axis<1>), axis<1>), g[0]);
});

/// Returns the spot of a kind; fails without one.
SlowSpot spot(Advice const& advice, Kind kind) {
  INFO(advice.str());
  for (SlowSpot const& one : advice.slow)
    if (one.kind == kind) return one;
  FAIL("no spot of the kind " << name(kind));
  return {};
}

/// Checks that nothing is advised, and what is said of the limit.
void check_good(Advice const& advice, Limit limit, double min_share) {
  INFO(advice.str());
  CHECK(advice.slow.empty());
  CHECK(advice.limit == limit);
  CHECK(advice.share() >= min_share);
  CHECK(advice.share() <= 1);
}

/// Checks that the first advice is of a kind, with place, tensor, and parts of what is slow and of the remedy.
void check_bad(Advice const& advice, Kind kind, std::uint32_t line, std::string const& memory, std::string const& what,
               std::string const& remedy) {
  INFO(advice.str());
  SlowSpot const found = spot(advice, kind);
  CHECK(found.where.line() == line);
  CHECK(found.memory == memory);
  CHECK_THAT(found.what, ContainsSubstring(what));
  CHECK_THAT(found.remedy, ContainsSubstring(remedy));
  CHECK(found.gain > 0.01);
  CHECK(found.gain < 1);
  CHECK(advice.slow.size() <= 3);
  CHECK(std::is_sorted(advice.slow.begin(), advice.slow.end(),
                       [](SlowSpot const& a, SlowSpot const& b) { return a.gain > b.gain; }));
}

constexpr std::int64_t mi = std::int64_t{1} << 20, large = 8192;

template <class T>
Advice of_scaled(device_view<T, 2> x) {
  return advice(sm_90a, scaled<T, 32, 256>, x, dense<T>(1, x.extent(0), x.extent(1)));
}
template <int BM, int BN, int BK, class T = bf16>
Advice of_product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return advice(sm_90a, product<T, BM, BN, BK, 4>, dense<T>(0, m, k), dense<T>(1, k, n), dense<T>(2, m, n));
}
template <int which>
Advice of_function(CompileOptions const& options = {}) {
  return advice(sm_90a, with(options), functions<which>, dense<float>(0, large, large), dense<float>(1, large, large));
}

}  // namespace

TEST_CASE("advice: kernels that reach their limit get none", "[N17]") {
  auto const vector = [](int n) { return dense<float>(n, 64 * mi); };
  auto const matrix = [](int n) { return dense<bf16>(n, large, large); };
  SECTION("rows and elements") {
    check_good(advice(sm_90a, vadd<4096>, vector(0), vector(1), vector(2)), Limit::memory, 0.8);
    check_good(advice(sm_90a, vadd<1024>, vector(0), vector(1), vector(2)), Limit::memory, 0.8);
    check_good(advice(sm_90a, softmax<4096>, dense<float>(0, 16384, 4096), dense<float>(1, 16384, 4096)), Limit::memory,
               0.7);
    check_good(
        advice(sm_90a, rms_norm<4096>, dense<bf16>(0, 32768, 4096), dense<bf16>(1, 4096), dense<bf16>(2, 32768, 4096)),
        Limit::memory, 0.7);
    check_good(of_scaled(matrix(0)), Limit::memory, 0.8);
    check_good(of_scaled(strided<float>(0, large, large - 1, large - 1, 1)), Limit::memory, 0.7);
    check_good(advice(sm_90a, transposed<64>, matrix(0), matrix(1)), Limit::memory, 0.75);
    check_good(of_function<1>(), Limit::memory, 0.8);
    check_good(of_function<2>(), Limit::memory, 0.8);
    check_good(of_function<4>(), Limit::issue_slots, 0.8);
  }
  SECTION("rows at indices, and loops") {
    check_good(advice(sm_90a, embedding, dense<bf16>(0, 50000, 4096), dense<std::int32_t>(1, 32768),
                      dense<bf16>(2, 32768, 4096)),
               Limit::memory, 0.8);
    check_good(advice(sm_90a, row_sums<4>, dense<float>(0, 2048, 65536), dense<float>(1, 2048)), Limit::memory, 0.8);
    // Of many rows, other blocks work while one waits.
    check_good(advice(sm_90a, row_sums<0>, dense<float>(0, 65536, large), dense<float>(1, 65536)), Limit::memory, 0.8);
  }
  SECTION("products") {
    check_good(of_product<128, 256, 64>(large, large, large), Limit::tensor_cores, 0.75);
    check_good(of_product<128, 128, 64>(4096, 4096, 4096), Limit::tensor_cores, 0.75);
    check_good(advice(sm_90a, product_f8<128, 128, 128>, dense<e4m3>(0, 4096, 4096), dense<e4m3>(1, 4096, 4096),
                      dense<bf16>(2, 4096, 4096)),
               Limit::tensor_cores, 0.7);
    check_good(advice(sm_90a, product_tf32<128, 128, 32>, dense<float>(0, 4096, 4096), dense<float>(1, 4096, 4096),
                      dense<float>(2, 4096, 4096)),
               Limit::tensor_cores, 0.7);
    // No other instruction multiplies f64, and no tile of more rows helps where there are 16.
    check_good(advice(sm_90a, product_f64, dense<double>(0, 4096, 4096), dense<double>(1, 4096, 4096),
                      dense<double>(2, 4096, 4096)),
               Limit::tensor_cores, 0.75);
    check_good(of_product<16, 64, 256>(16, 16384, large), Limit::memory, 0.75);
    auto const heads = [](int n) { return dense<bf16>(n, 64, 4096, 128); };
    check_good(advice(sm_90a, attention<128, 128>, heads(0), heads(1), heads(2), heads(3), 1.0F), Limit::tensor_cores,
               0.7);
  }
}

TEST_CASE("advice: narrow accesses name the tensor, its strides and what to pass", "[N17]") {
  Advice const padded = advice(sm_90a, scaled<bf16, 32, 256>, strided<bf16>(0, large, 8191, 8191, 1),
                               strided<bf16>(1, large, 8191, 8191, 1));
  check_bad(padded, Kind::narrow_access, line_of_scaled, "in0", "takes 2 bytes at once (rows of 8191 elements)",
            "pad the rows of `in0` to a multiple of 8 elements (8192)");
  CHECK(padded.slow.size() == 2);  // each by its part
  check_bad(of_scaled(strided<e4m3>(0, large, 8191, 8191, 1)), Kind::narrow_access, line_of_scaled, "in0",
            "takes 1 byte at once", "multiple of 16 elements (8192)");
  check_bad(of_scaled(device_view<e4m3, 2>(place<e4m3>(0, 4), {large, large})), Kind::narrow_access, line_of_scaled,
            "in0", "(its address is a multiple of 4 bytes)", "begin `in0` at a multiple of 16 bytes");
  check_bad(of_scaled(strided<bf16>(0, large, large, 1, large)), Kind::narrow_access, line_of_scaled, "in0",
            "(axis 0 of its tensor is contiguous, not the last one)", "pass `in0` with axes exchanged");
  check_bad(of_scaled(strided<bf16>(0, large, large, 2 * large, 2)), Kind::narrow_access, line_of_scaled, "in0",
            "(stride 2 along the last axis)", "pass `in0` with a contiguous last axis");
  check_bad(advice(sm_90a, scaled<bf16, 256, 4>, dense<bf16>(0, large, large), dense<bf16>(1, large, large)),
            Kind::wasted_bytes, line_of_scaled, "in0", "rows of 8 bytes, of sectors of 32", "take 64 columns");
  check_bad(advice(sm_90a, permuted, dense<bf16>(0, 64 * mi), dense<std::int32_t>(1, 64 * mi), dense<bf16>(2, 64 * mi)),
            Kind::indexed, line_of_permuted, "in0", "gather from `in0` takes 2 bytes at once",
            "index rows of 8 or more adjacent elements of `in0`");
  check_bad(advice(sm_90a, histogram, dense<std::int32_t>(0, 64 * mi), dense<std::int32_t>(1, 1024)), Kind::indexed,
            line_of_histogram, "inout1", "atomic on `inout1` takes 4 bytes at once", "add up in the block before");
}

TEST_CASE("advice: slow products name the rule, the tile and what to take", "[N17]") {
  check_bad(of_product<128, 128, 32, float>(4096, 4096, 4096), Kind::product, line_of_dot, "",
            "by multiply-adds of lanes, not by tensor cores", "ask for tf32, dot(a, b, tf32)");
  check_bad(advice(sm_90a, product<bf16, 32, 32, 64, 4>, strided<bf16>(0, 4096, 4095, 4095, 1),
                   dense<bf16>(1, 4095, 4096), dense<bf16>(2, 4096, 4096)),
            Kind::pointer_load, line_of_dot, "in0", "not ahead by TMA (rows of 4095 elements)",
            "pad the rows of `in0` to a multiple of 8 elements (4096)");
  check_bad(of_product<32, 32, 64>(4096, 4096, 4096), Kind::small_tile, line_of_dot, "",
            "tiles of 32 x 32 fetch 4.0 times the bytes", "take tiles of 128 x 128");
  check_bad(of_product<128, 128, 64>(136, 65536, large), Kind::empty_tile, line_of_dot, "",
            "136 rows use 53 % of the tensor cores in tiles of 128", "take tiles of fewer rows");
  Advice const spilled = advice(sm_90a, total<256, 512, 64>, dense<bf16>(0, large, large), dense<bf16>(1, large, large),
                                dense<float>(2, large / 256, large / 512));
  check_bad(spilled, Kind::spills, line_of_total, "", "the most registers, 256, take a tile of 256x512",
            "take fewer rows or columns");
  check_bad(of_product<128, 256, 64>(512, 2048, large), Kind::grid, line_of_product, "",
            "64 blocks leave 68 of 132 multiprocessors idle", "take smaller tiles, or let CTAs share");
}

TEST_CASE("advice: loops, functions, options and launches", "[N17]") {
  check_bad(advice(sm_90a, row_sums<0>, dense<float>(0, 256, 262144), dense<float>(1, 256)), Kind::no_stages,
            line_of_chunk, "in0", "is waited for in each of 128 iterations", "stages<4>");
  check_bad(of_function<0>(), Kind::function, line_of_function, "", "tanh takes two special functions",
            "take fast_tanh");
  check_bad(of_function<3>(), Kind::function, line_of_sin, "", "sin takes about 25 instructions", "load a table");
  CompileOptions options;
  options.exact = true;
  check_bad(of_function<4>(options), Kind::rounding, line_of_functions, "", "rounded before they are added",
            "leave out exact");
  options = {};
  options.checks = {true, true, true};
  check_bad(of_function<4>(options), Kind::checks, line_of_functions, "", "checks of indices", "without TEGULA_CHECKS");
  auto const vector = [](int n, std::int64_t extent) { return dense<float>(n, extent); };
  Advice const small = advice(sm_90a, vadd<1024>, vector(0, large), vector(1, large), vector(2, large));
  check_bad(small, Kind::launch, line_of_vadd, "", "before its first block works", "in a graph");
  CHECK(small.limit == Limit::latency);
  CHECK_THAT(small.str(), ContainsSubstring("limit: latency, 2.2 of 2.3 us expected\n"));
  check_bad(advice(sm_90a, vadd<64>, vector(0, 64 * mi), vector(1, 64 * mi), vector(2, 64 * mi)), Kind::small_blocks,
            line_of_vadd, "", "1048576 blocks move 0.8 KB each", "take larger tiles");
}

TEST_CASE("advice is a line for the limit and one for each remedy", "[N17]") {
  Advice const found = of_scaled(strided<bf16>(0, large, large, 1, large));
  std::string const text = found.str(2);
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("  limit: memory, "));
  CHECK_THAT(text, ContainsSubstring(" % of 4.6 TB/s expected\n"));
  CHECK_THAT(text, ContainsSubstring(fmt::format("advice_test.cpp:{}: load of `in0` takes 2 ", line_of_scaled)));
  CHECK_THAT(text, ContainsSubstring("and take trans of its tiles: about 1."));
  Advice measured = found;
  measured.measured = 2 * measured.seconds;
  CHECK(measured.measured_share() == Approx(measured.share() / 2));
  CHECK_THAT(measured.str(), ContainsSubstring(" % measured\n"));
}
