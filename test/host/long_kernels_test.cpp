// Kernels of 20 000 ops: on the host, in both simulators and through the cuda pipeline, on a small stack and with work
// that grows with their length.

#include "launch_support.hpp"
#include "support/catch.hpp"
#include "support/count_allocations.hpp"
#include "support/small_stack.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::FreshCaches;
using tegula::test::on_stack_of;

namespace {

constexpr int most = 20'000;
constexpr std::size_t small_stack = std::size_t{512} << 10;

/// Sums and products of one tile, each of the one before.
auto tile_chain(int ops) {
  return kernel("tile_chain", [ops](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    tile v = load(x, shape<64>, g[0]);
    for (int i = 0; i < ops; i += 2) v = v * 0.75F + static_cast<float>(i % 5);
    store(y, shape<64>, v, g[0]);
  });
}

/// Scalars each of which is read twice by the next.
auto doubled_chain(int ops) {
  return kernel("doubled_chain", [ops](in<float, 1> x, out<float, 1> y, arg<std::int64_t> n) {
    auto g = grid_over(y, shape<64>);
    auto at = g[0] + n;
    for (int i = 0; i < ops; i += 5) at = at * 3 - at * 2;
    store(y, shape<64>, load(x, shape<64>, at), g[0]);
  });
}

/// Chains of 20 000 scalar ops of one kind each.
auto divided_chain(int ops) {
  return kernel("divided_chain", [ops](in<float, 1> x, out<float, 1> y, arg<std::int64_t> n) {
    auto g = grid_over(y, shape<64>);
    auto at = g[0] + n;
    for (int i = 0; i < ops; i += 2) at = (at + 7 * i) % (i + 3);
    store(y, shape<64>, load(x, shape<64>, at), g[0]);
  });
}
auto largest_chain(int ops) {
  return kernel("largest_chain", [ops](in<float, 1> x, out<float, 1> y, arg<std::int64_t> n) {
    auto g = grid_over(y, shape<64>);
    auto at = g[0];
    for (int i = 0; i < ops; i += 2) at = max(at + n, at);
    store(y, shape<64>, load(x, shape<64>, at), g[0]);
  });
}
auto selected_chain(int ops) {
  return kernel("selected_chain", [ops](in<float, 1> x, out<float, 1> y, arg<std::int64_t> n) {
    auto g = grid_over(y, shape<64>);
    auto at = g[0] + n;
    for (int i = 0; i < ops; i += 3) at = select(at > i, at - i, at + 1);
    store(y, shape<64>, load(x, shape<64>, at % 3), g[0]);
  });
}
auto summed_chain(int ops) {
  return kernel("summed_chain", [ops](in<float, 1> x, out<float, 1> y, arg<std::int64_t> n) {
    auto g = grid_over(y, shape<64>);
    auto at = g[0] + n;
    auto sum = at;
    for (int i = 0; i < ops; i += 2) sum = sum + (at + i);
    store(y, shape<64>, load(x, shape<64>, sum % 3), g[0]);
  });
}
auto float_chain(int ops) {
  return kernel("float_chain", [ops](in<float, 1> x, out<float, 1> y, arg<float> a) {
    auto g = grid_over(y, shape<64>);
    auto scale = a * 2.0F;
    for (int i = 0; i < ops; i += 2) scale = scale * 0.75F + static_cast<float>(i % 5);
    store(y, shape<64>, load(x, shape<64>, g[0]) + scale, g[0]);
  });
}
/// A requirement about a scalar each of whose ops reads the one before twice.
auto required_chain(int ops) {
  return kernel("required_chain", [ops](in<float, 1> x, out<float, 1> y, arg<std::int64_t> n) {
    auto at = y.extent(0) + n;
    for (int i = 0; i < ops; i += 3) at = at * 3 - at * 2;
    require(at > 0, "y has elements");
    auto g = grid_over(y, shape<64>);
    store(y, shape<64>, load(x, shape<64>, g[0]), g[0]);
  });
}

struct Way {
  std::string name;
  test::Allocations made;
};

/// Runs a kernel in every way, which must give the same, and counts the work of each.
template <class K, class... Rest>
std::vector<Way> run(K const& kernel, Rest... rest) {
  FreshCaches const fresh(support::CacheMode::off);
  std::vector<float> x(200), host(130, -1), tiles(130, -1), warps(130, -1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  std::vector<Way> ways;
  auto const count = [&](char const* name, auto const& work) {
    ways.push_back({name, test::allocations_of([&] { on_stack_of(small_stack, work); })});
  };
  count("host", [&] { launch(host_stream(), kernel, x, host, rest...); });
  count("tiles", [&] { CHECK(simulate(kernel, x, tiles, rest...).clean); });
  count("warps", [&] { CHECK(simulate(kernel, x, warps, rest..., schedule::seed(1)).clean); });
  CHECK(host == tiles);
  CHECK(host == warps);
  count("cuda", [&] {
    CompileOptions options;
    options.target = Target::cuda;
    CHECK(!compile(kernel, options).image.empty());
  });
  return ways;
}

/// Runs the longest kernel of a kind, and one of a quarter of its length: four times the work, and not sixteen.
template <class MakeKernel, class... Rest>
void check(MakeKernel const& make, Rest... rest) {
  std::vector<Way> const part = run(make(most / 4), rest...), whole = run(make(most), rest...);
  for (std::size_t i = 0; i < part.size(); ++i) {
    test::Allocations const less = part[i].made, more = whole[i].made;
    INFO(part[i].name << ": " << less.count << " allocations of " << less.bytes << " bytes, " << more.count << " of "
                      << more.bytes << " for four times the length");
    CHECK(more.count < 5 * less.count);
    CHECK(more.bytes < 6 * less.bytes);
  }
}

}  // namespace

TEST_CASE("a chain of 20000 tile ops runs everywhere on a small stack") { check(tile_chain); }
TEST_CASE("a chain whose scalars are read twice runs everywhere on a small stack") { check(doubled_chain, 0); }
TEST_CASE("a chain of 20000 remainders runs everywhere") { check(divided_chain, 1); }
TEST_CASE("a chain of 20000 sums and maxima runs everywhere") { check(largest_chain, 0); }
TEST_CASE("a chain of 20000 comparisons and choices runs everywhere") { check(selected_chain, 1); }
TEST_CASE("a sum of 10000 indices runs everywhere") { check(summed_chain, 1); }
TEST_CASE("a chain of 20000 scalar floats runs everywhere") { check(float_chain, 1.0F); }
TEST_CASE("a requirement of 20000 ops is computed in every way") { check(required_chain, 0); }
