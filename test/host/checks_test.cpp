// Tests CompileOptions::checks on the host and in both simulators: what each finds, and what it lets pass.
#include "kernels/debug_kernels.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

using namespace tegula;
using namespace tegula::test;

namespace {

constexpr std::uint32_t line_of_gather = __LINE__ + 4;
inline constexpr auto picks = kernel("picks", [](in<int, 1> at, in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile index = load(at, shape<64>, g[0]);
  store(y, shape<64>, gather(x, index), g[0]);
});

constexpr std::uint32_t line_of_scatter = __LINE__ + 4;
inline constexpr auto scatters = kernel("scatters", [](in<int, 1> at, in<float, 1> x, inout<float, 1> y) {
  auto g = grid_over(x, shape<64>);
  tile index = load(at, shape<64>, g[0]);
  scatter(y, load(x, shape<64>, g[0]), index, mask(index < 1000));
});

constexpr std::uint32_t line_of_element = __LINE__ + 3;
inline constexpr auto one = kernel("one", [](in<int, 1> at, in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, full(shape<64>, load(x, load(at, g[0]))), g[0]);
});

constexpr std::uint32_t line_of_box = __LINE__ + 3;
inline constexpr auto shifted = kernel("shifted", [](in<float, 1> x, out<float, 1> y, arg<int> by) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, elem(g[0] * 64 + by)), g[0]);
});
inline constexpr auto halo = kernel("halo", [](in<float, 1> x, out<float, 1> y, arg<int> by) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, elem(g[0] * 64 + by), pad(0)), g[0]);
});

constexpr std::uint32_t line_of_product = __LINE__ + 3;
inline constexpr auto scaled = kernel("scaled", [](in<int, 1> at, in<float, 1> x, out<float, 1> y, arg<int> by) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, gather(x, load(at, shape<64>, g[0]) * by, mask(load(at, shape<64>, g[0]) < 0)), g[0]);
});
constexpr std::uint32_t line_of_index = __LINE__ + 3;
inline constexpr auto far = kernel("far", [](in<float, 1> x, out<float, 1> y, arg<std::int64_t> by) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, elem(by * by), pad(0)), g[0]);
});

constexpr std::uint32_t line_of_division = __LINE__ + 4;
inline constexpr auto divides = kernel("divides", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, g[0], pad(1.f));
  store(y, shape<64>, 1.f / v, g[0]);
});
inline constexpr auto softened = kernel("softened", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 128>);
  tile v = load(x, shape<1, 128>, g[0], 0, pad(-std::numeric_limits<float>::infinity()));
  tile e = exp(v - max(v, axis<1>));
  store(y, shape<1, 128>, e / sum(e, axis<1>), g[0], 0);
});
inline constexpr auto multiplied = kernel("multiplied", [](in<f16, 2> a, in<f16, 2> b, out<f16, 2> c) {
  auto g = grid_over(c, shape<64, 64>);
  tile sums = loop(
      ceil_div(a.extent(1), 32), zeros<float>(shape<64, 64>),
      [&](auto k, auto acc) { return dot(load(a, shape<64, 32>, g[0], k), load(b, shape<32, 64>, k, g[1]), acc); },
      stages<2>);
  store(c, shape<64, 64>, cast<f16>(sums), g[0], g[1]);
});

/// Divides the elements of segment g[0] by their sum; segments may be empty, and blocks behind their end are idle.
template <bool optional>
inline constexpr auto segments = kernel("segments",
                                        [](in<int, 1> ends, in<float, 1> x, out<float, 1> y, arg<int> longest) {
                                          auto g = grid(ends.extent(0) - 1, ceil_div(longest, 64));
                                          auto first = load(ends, g[0]), last = load(ends, g[0] + 1);
                                          auto from = slice(x, axis<0>, first, last);
                                          auto to = slice(y, axis<0>, first, last);
                                          tile v = load(from, shape<64>, g[1], pad(0));
                                          tile mean = v / sum(v, axis<0>);
                                          if constexpr (optional)
                                            store(to, shape<64>, log2(mean * 2 + 1), g[1], may_be_outside);
                                          if constexpr (!optional) store(to, shape<64>, log2(mean * 2 + 1), g[1]);
                                        });
inline constexpr auto adds_boxes = kernel("adds_boxes", [](in<float, 1> x, inout<float, 1> y, arg<int> by) {
  auto g = grid_over(x, shape<64>);
  atomic_add(y, shape<64>, load(x, shape<64>, g[0]), g[0] + by);
});
// Access elements behind masks at several indices, some of them scalars.
inline constexpr auto masked_gather = kernel("masked_gather", [](in<int, 1> at, inout<float, 2> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile i = load(at, shape<64>, g[0]);
  store(y, shape<64>, gather(x, i, i + 1, mask(i < 7)), g[0]);
});
inline constexpr auto masked_row = kernel("masked_row", [](in<int, 1> at, inout<float, 2> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile i = load(at, shape<64>, g[0]);
  store(y, shape<64>, gather(x, g[0] * 9, i, mask(i < 0)), g[0]);
});
inline constexpr auto masked_scatter = kernel("masked_scatter", [](in<int, 1> at, inout<float, 2> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile i = load(at, shape<64>, g[0]);
  scatter(x, 1.0F, i, i, mask(i < 8));
});
inline constexpr auto masked_add = kernel("masked_add", [](in<int, 1> at, inout<float, 2> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile i = load(at, shape<64>, g[0]);
  atomic_add(x, 1.0F, i, i, mask(i < 8));
});
inline constexpr auto masked_exchange =
    kernel("masked_exchange", [](in<int, 1> at, inout<float, 2> x, out<float, 1> y) {
      auto g = grid_over(y, shape<64>);
      tile i = load(at, shape<64>, g[0]);
      atomic_compare_exchange(x, 0.0F, 1.0F, i, i, mask(i < 8));
    });
inline constexpr auto masked_cube = kernel("masked_cube", [](in<int, 1> at, inout<float, 3> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile i = load(at, shape<64>, g[0]);
  atomic_add(x, 1.0F, 0, i, i, mask(i < 8));
  scatter(x, 1.0F, i, i, i, mask(i < 8));
  store(y, shape<64>, gather(x, i, 0, i, mask(i < 8)), g[0]);
});
/// Divides where a mask says that the quotient is taken.
inline constexpr auto chosen = kernel("chosen", [](in<float, 1> x, in<int, 1> takes, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, g[0], pad(1));
  store(y, shape<64>, select(load(takes, shape<64>, g[0], pad(0)) != 0, 1 / v * 2, 0), g[0]);
});

/// Returns what a checked run finds: the error of a launch, or the report; empty: nothing.
template <class Kernel, class... X>
std::string found(Executor on, Checks checks, Kernel const& kernel, X&... arguments) {
  support::Options options = support::options();
  options.check_bounds = checks.bounds, options.check_overflow = checks.overflow, options.check_nan = checks.nan;
  support::ScopedOptions const scope(options);
  FreshCaches const fresh(support::CacheMode::off);
  try {
    return run_on(on, kernel, arguments...);
  } catch (UserError const& error) {
    return error.what();
  }
}

constexpr Checks bounds{true, false, false}, overflow{false, true, false}, of_nan{false, false, true};
constexpr Checks every{true, true, true};

std::string in_line(std::uint32_t line) { return fmt::format("checks_test.cpp:{}", line); }

}  // namespace

TEST_CASE("checks of bounds find indices of gather and scatter outside; -1 and masks leave elements out") {
  for (Executor const on : executors_without_device) {
    INFO(name(on));
    Array<int, 1> at({150});
    Array<float, 1> x({100}, 2.0F), y({150});
    for (int i = 0; i < 150; ++i) at[i] = i % 100;
    at[70] = -1;
    CHECK(found(on, every, picks, at, x, y) == "");
    CHECK(y[70] == 0);
    CHECK(y[149] == 2);
    at[140] = 100;
    CHECK(found(on, {}, picks, at, x, y) == "");
    std::string const text = found(on, bounds, picks, at, x, y);
    CHECK_THAT(text, ContainsSubstring("picks[2, 0, 0]"));
    CHECK_THAT(text, ContainsSubstring("gather: an index of axis 0 is outside of in1"));
    CHECK_THAT(text, ContainsSubstring(in_line(line_of_gather)));
    CHECK(found(on, overflow, picks, at, x, y) == "");

    Array<float, 1> from({128}, 1.0F), to({100});
    for (int i = 0; i < 150; ++i) at[i] = i < 100 ? i : 5000;  // those behind 100 are masked
    CHECK(found(on, bounds, scatters, at, from, to) == "");
    at[3] = 999;
    CHECK_THAT(found(on, bounds, scatters, at, from, to), ContainsSubstring(in_line(line_of_scatter)));
  }
}

TEST_CASE("checks of bounds find single elements and whole tiles outside; borders and stated pads pass") {
  for (Executor const on : executors_without_device) {
    INFO(name(on));
    Array<int, 1> at({2}, 3);
    Array<float, 1> x({100}, 2.0F), y({128});
    CHECK(found(on, bounds, one, at, x, y) == "");
    at[1] = -1;
    std::string const text = found(on, bounds, one, at, x, y);
    CHECK_THAT(text, ContainsSubstring("one[1, 0, 0]"));
    CHECK_THAT(text, ContainsSubstring("load: the index along axis 0 is outside of in1"));
    CHECK_THAT(text, ContainsSubstring(in_line(line_of_element)));

    int by = 35;  // the last tile begins inside
    CHECK(found(on, bounds, shifted, x, y, by) == "");
    by = 36;
    std::string const outside = found(on, bounds, shifted, x, y, by);
    CHECK_THAT(outside, ContainsSubstring("shifted[1, 0, 0]"));
    CHECK_THAT(outside, ContainsSubstring("the whole tile of 64 along axis 0 is outside of in0"));
    CHECK_THAT(outside, ContainsSubstring(in_line(line_of_box)));
    CHECK(found(on, bounds, halo, x, y, by) == "");
    CHECK(found(on, {}, shifted, x, y, by) == "");
  }
}

TEST_CASE("checks of overflow find wrapped numbers from which indices follow") {
  for (Executor const on : executors_without_device) {
    INFO(name(on));
    Array<int, 1> at({64}, 3);
    Array<float, 1> x({100}, 2.0F), y({64});
    int by = 10;
    CHECK(found(on, every, scaled, at, x, y, by) == "");
    by = 1 << 30;
    std::string const text = found(on, overflow, scaled, at, x, y, by);
    CHECK_THAT(text, ContainsSubstring("overflow: mul of i32 wraps"));
    CHECK_THAT(text, ContainsSubstring(in_line(line_of_product)));
    for (std::int64_t const factor : {std::int64_t{3000000000}, std::int64_t{-3000000000}}) {
      std::int64_t large = factor;
      CHECK(found(on, overflow, far, x, y, large) == "");
    }
    for (std::int64_t const factor : {std::int64_t{4000000000}, std::numeric_limits<std::int64_t>::min()}) {
      std::int64_t large = factor;
      CHECK_THAT(found(on, overflow, far, x, y, large), ContainsSubstring(in_line(line_of_index)));
    }
  }
}

TEST_CASE("checks of NaN find what finite values make, and let infinities of the kernel pass") {
  for (Executor const on : executors_without_device) {
    INFO(name(on));
    Array<float, 1> x({100}, 2.0F), y({100});
    CHECK(found(on, every, divides, x, y) == "");
    x[70] = 0;
    std::string const text = found(on, of_nan, divides, x, y);
    CHECK_THAT(text, ContainsSubstring("divides[1, 0, 0]"));
    CHECK_THAT(text, ContainsSubstring("nan: div of finite values gives NaN or infinity in f32"));
    CHECK_THAT(text, ContainsSubstring(in_line(line_of_division)));
    x[70] = std::numeric_limits<float>::quiet_NaN();  // given, not made
    CHECK(found(on, of_nan, divides, x, y) == "");

    Array<float, 2> logits({3, 100}, 1.0F), weights({3, 100});
    CHECK(found(on, every, softened, logits, weights) == "");
    CHECK(std::abs(weights[299] - 0.01F) < 1e-6F);

    Array<f16, 2> a({64, 64}, f16(1.0F)), b({64, 64}, f16(1.0F)), c({64, 64});
    CHECK(found(on, every, multiplied, a, b, c) == "");
    CHECK(static_cast<float>(c[77]) == 64.0F);
    for (f16& value : a.values) value = f16(300.0F);
    for (f16& value : b.values) value = f16(300.0F);
    CHECK_THAT(found(on, of_nan, multiplied, a, b, c), ContainsSubstring("nan: cast"));
  }
}

TEST_CASE("without checks the code and the key are those of before; each check is part of the key") {
  CompileOptions off, with;
  with.checks.bounds = true;
  CHECK(compile(picks, off).image == compile(picks, CompileOptions()).image);
  CHECK(compile(picks, off).image != compile(picks, with).image);
  CompileOptions gpu;
  gpu.target = Target::cuda;
  gpu.facts.assign(3, {true, true});
  std::string const plain = compile(picks, gpu).image;
  gpu.checks = bounds;
  std::string const guarded = compile(picks, gpu).image;
  CHECK(plain != guarded);
  CHECK_THAT(guarded, ContainsSubstring("__assertfail"));
  CHECK(plain.find("__assertfail") == std::string::npos);
  // Kernels with every check compile for the GPU.
  gpu.checks = every;
  CHECK_FALSE(compile(softened,
                      [&] {
                        CompileOptions two = gpu;
                        two.facts.resize(2);
                        return two;
                      }())
                  .image.empty());
  CHECK_FALSE(compile(multiplied, gpu).image.empty());
}

TEST_CASE("a store that may be outside silences bounds and NaN where its box is outside, and only there", "[L7]") {
  for (Executor const on : executors_without_device) {
    INFO(name(on));
    Array<int, 1> ends({5});
    int const of[] = {0, 100, 100, 130, 200};  // the second is empty; the third and the fourth have an idle block
    for (int i = 0; i < 5; ++i) ends[i] = of[i];
    Array<float, 1> x({200}, 1.0F), y({200}, -1.0F);
    int longest = 100;
    CHECK(found(on, {true, false, true}, segments<true>, ends, x, y, longest) == "");
    CHECK(y[99] == Approx(std::log2(2.0F / 36 + 1)).epsilon(1e-5));
    CHECK(y[100] == Approx(std::log2(2.0F / 30 + 1)).epsilon(1e-5));  // on a GPU quotients are within 2 ulp
    CHECK(found(on, of_nan, segments<true>, ends, x, y, longest) == "");
    // Without the word both are found.
    CHECK_THAT(found(on, bounds, segments<false>, ends, x, y, longest),
               ContainsSubstring("store: the whole tile of 64 along axis 0 is outside"));
    CHECK_THAT(found(on, of_nan, segments<false>, ends, x, y, longest),
               ContainsSubstring("check of nan: div of finite values gives NaN"));
    // A block with elements is checked as before.
    for (int i = 130; i < 194; ++i) x[i] = 0;
    std::string const text = found(on, of_nan, segments<true>, ends, x, y, longest);
    CHECK_THAT(text, ContainsSubstring("check of nan: div of finite values gives NaN"));
    CHECK_THAT(text, ContainsSubstring("checks_test.cpp:"));
  }
}

TEST_CASE("checks of NaN leave out the elements that a select does not take", "[L7]") {
  for (Executor const on : executors_without_device) {
    INFO(name(on));
    Array<float, 1> x({100}, 2.0F), y({100});
    Array<int, 1> takes({100}, 1);
    x[70] = 0, takes[70] = 0;
    CHECK(found(on, of_nan, chosen, x, takes, y) == "");
    CHECK(y[70] == 0);
    CHECK(y[71] == 1);
    takes[70] = 1;
    CHECK_THAT(found(on, of_nan, chosen, x, takes, y), ContainsSubstring("check of nan: div of finite values"));
  }
}

TEST_CASE("checks of bounds take the box of an atomic as that of a store: a part may be outside") {
  for (Executor const on : executors_without_device) {
    INFO(name(on));
    Array<float, 1> x({100}, 1.0F), y({100});
    int by = 0;
    CHECK(found(on, bounds, adds_boxes, x, y, by) == "");
    by = 1;
    CHECK_THAT(found(on, bounds, adds_boxes, x, y, by),
               ContainsSubstring("atomic_update: the whole box along axis 0 is outside of inout1"));
  }
}

TEST_CASE("checks of bounds leave masked elements out along every axis") {
  for (Executor const on : executors_without_device) {
    INFO(name(on));
    Array<int, 1> at({128});
    Array<float, 2> x({8, 8}, 2.0F);
    Array<float, 3> cube({8, 8, 8}, 2.0F);
    Array<float, 1> y({128});
    auto const all = [&](auto const& holds) {
      holds(found(on, bounds, masked_gather, at, x, y));
      holds(found(on, bounds, masked_scatter, at, x, y));
      holds(found(on, bounds, masked_add, at, x, y));
      holds(found(on, bounds, masked_exchange, at, x, y));
      holds(found(on, bounds, masked_cube, at, cube, y));
    };
    for (int i = 0; i < 128; ++i) at[i] = i < 7 ? i : 5000;
    all([](std::string const& text) { CHECK(text == ""); });
    CHECK(y[1] > 0);
    CHECK(y[7] == 0);
    CHECK(found(on, bounds, masked_row, at, x, y) == "");  // the row of the second block is outside, and masked
    at[100] = -3;                                          // not masked
    all([](std::string const& text) { CHECK_THAT(text, ContainsSubstring("an index of axis")); });
    CHECK_THAT(found(on, bounds, masked_row, at, x, y),
               ContainsSubstring("an index of axis 0 is outside of inout1: index and extent 9 8"));
  }
}
