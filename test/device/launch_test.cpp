// Tests the typed launcher on a CUDA device: the same kernels and calls as on the host.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <numeric>
#include <vector>

#include "support/catch.hpp"
#include "kernels/product_onto.hpp"
#include "tegula/target/tma_rules.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::ContainsSubstring;

#define TEGULA_NEED_DEVICE() \
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str())

namespace {

inline constexpr auto vadd = kernel("vadd", [](in<float, 1> a, in<float, 1> b, out<float, 1> c) {
  require(a.extent(0) == c.extent(0), "vadd: a and c differ in length");
  auto g = grid_over(c, shape<1024>);
  store(c, shape<1024>, load(a, shape<1024>, g[0]) + load(b, shape<1024>, g[0]), g[0]);
});

std::vector<float> counting(std::size_t n, float start) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), start);
  return values;
}

}  // namespace

TEST_CASE("vadd on a device adds at ragged extents, dense, strided and unaligned") {
  TEGULA_NEED_DEVICE();
  cuda_stream const order;
  for (std::int64_t n : {1, 1023, 1024, 1025, 100'003}) {
    auto const size = static_cast<std::size_t>(n);
    buffer a(order.where(), counting(3 * size + 1, 0));
    buffer b(order.where(), counting(size, 50));
    buffer<float> c(order.where(), n + 2);
    std::vector<float> out(size + 2);
    auto const right = [&](std::int64_t at, std::int64_t first, std::int64_t step) {
      c.copy_to(out);
      for (std::int64_t i = 0; i < n; ++i) {
        auto const sum = static_cast<float>(first + i * step) + static_cast<float>(50 + i);
        if (out[static_cast<std::size_t>(at + i)] != sum) return false;
      }
      return out[size + 1] == -1 && (at == 0 || out[0] == -1);
    };
    c.fill(-1);
    launch(order, vadd, a.on_device().slice(0, 0, n), b, c.on_device().slice(0, 0, n));
    CHECK(right(0, 0, 1));
    c.fill(-1);
    launch(order, vadd, a.on_device().slice(0, 1, n + 1), b, c.on_device().slice(0, 1, n + 1));
    CHECK(right(1, 1, 1));
    c.fill(-1);
    launch(order, vadd, a.on_device().slice(0, 0, 3 * n, 3), b, c.on_device().slice(0, 0, n));
    CHECK(right(0, 0, 3));
  }
}

TEST_CASE("a tensor with an axis longer than TMA's coordinates runs by pointers on a device", "[device]") {
  TEGULA_NEED_DEVICE();
  cuda_stream const order;
  constexpr std::int64_t tile = 64, depth = 128;
  std::vector<f16> a(depth), b(depth * tile);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = f16(static_cast<float>(i % 5) - 2);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = f16(static_cast<float>(i % 7) - 3);
  buffer const row(order.where(), a), right(order.where(), b);
  buffer<float> result(order.where(), 2 * tile * tile);
  for (std::int64_t const rows : {tma_rule::max_extent, tma_rule::max_extent + tile, std::int64_t{5} << 30}) {
    INFO(rows << " rows");
    std::int64_t const from = rows / tile - 1;  // the last tile of rows, and one outside of the tensor
    std::vector<float> host(2 * tile * tile, -1), found(2 * tile * tile, -1);
    launch(host_stream(), test::product_from, view<f16 const, 2>(a.data(), {rows, depth}, {0, 1}),
           view(b.data(), depth, tile), view(host.data(), 2 * tile, tile), from);
    launch(order, test::product_from, device_view<f16 const, 2>(row.on_device().data(), {rows, depth}, {0, 1}),
           device_view<f16 const, 2>(right.on_device().data(), {depth, tile}),
           device_view<float, 2>(result.on_device().data(), {2 * tile, tile}), from);
    result.copy_to(found);
    CHECK(found == host);
  }
}

TEST_CASE("prepare, explain and errors on a device") {
  TEGULA_NEED_DEVICE();
  cuda_stream const order;
  buffer a(order.where(), counting(5000, 0));
  buffer b(order.where(), counting(5000, 0));
  buffer<float> c(order.where(), 5000);
  prepared const go = prepare(vadd, a, b, c);
  for (int i = 0; i < 10; ++i) go(order);
  std::vector<float> out(5000);
  c.copy_to(out);
  CHECK(out[4999] == 9998);
  std::string const text = explain(vadd, a, b, c);
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("kernel vadd on cuda:0 (sm_"));
  CHECK_THAT(text, ContainsSubstring("grid: 5 x 1 x 1 blocks"));
  CHECK_THAT(text, ContainsSubstring("threads per CTA"));
  std::vector<float> host_memory(5000);
  stream const erased = order;
  CHECK_THROWS_WITH(launch(erased, vadd, a, host_memory, c),
                    ContainsSubstring("argument 2: host memory on a stream of cuda:0"));
  CHECK_THROWS_WITH(launch(host_stream(), vadd, a, b, c), ContainsSubstring("CUDA device on a stream of the host"));
  CHECK_THROWS_WITH(launch(order, vadd, a.on_device().slice(0, 0, 9), b, c), ContainsSubstring("differ in length"));
  simulation const simulated = simulate(vadd, a, b, c);
  CHECK(simulated.clean);
  c.copy_to(out);
  CHECK(out[4999] == 9998);
}

namespace {

constexpr auto const& product = test::product_onto<128, 128, 64>;

}  // namespace

TEST_CASE("a grid stated in a launch on a device is a number of tiles, also of a persistent kernel") {
  TEGULA_NEED_DEVICE();
  cuda_stream const order;
  constexpr std::int64_t rows = 3 * 128, columns = 4 * 128, depth = 128;
  buffer<f16, 2> a(order.where(), rows, depth), b(order.where(), depth, columns);
  buffer<float, 2> c(order.where(), rows, columns);
  a.fill(f16(1.0f));
  b.fill(f16(2.0f));
  for (auto const& [tall, wide] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {2, 3}, {0, 2}, {3, 4}, {5, 6}}) {
    c.fill(1);
    launch(order, product, grid(tall, wide), a, b, c);
    std::vector<float> out(static_cast<std::size_t>(rows * columns));
    order.synchronize();
    detail::download(out.data(), c.allocation(), rows * columns * 4, nullptr);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        bool const written = i / 128 < tall && j / 128 < wide;
        wrong += out[static_cast<std::size_t>(i * columns + j)] != (written ? 2 * depth + 1 : 1) ? 1 : 0;
      }
    CAPTURE(tall, wide);
    CHECK(wrong == 0);
  }
  CHECK_THROWS_WITH(launch(order, product, grid(3), a, b, c), ContainsSubstring("has rank 1"));
  CHECK_THROWS_WITH(launch(order, product, grid(std::int64_t{1} << 20, std::int64_t{1} << 20), a, b, c),
                    ContainsSubstring("more blocks than the 2147483647"));
}

TEST_CASE("a forked child of a process that has used CUDA is refused with the reason, and the parent continues") {
  TEGULA_NEED_DEVICE();
  cuda_stream const order;
  buffer a(order.where(), counting(1000, 0)), b(order.where(), counting(1000, 5));
  buffer<float> c(order.where(), 1000);
  prepared const go = prepare(vadd, a, b, c);
  go(order);
  order.synchronize();
  pid_t const child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a child that hangs ends with its parent, which CTest stops
    int refused = 0;
    auto const expect = [&](auto const& action) {
      try {
        action();
      } catch (UserError const& error) {
        refused += std::string(error.what()).find("forked") != std::string::npos ? 1 : 0;
      }
    };
    expect([&] { go(order); });
    expect([&] { launch(order, vadd, a, b, c); });
    expect([&] { cuda_stream const another; });
    expect([&] { c.fill(1); });
    { buffer<float> const gone = std::move(c); }  // the parent's memory stays
    bool const host = device::cuda_count() == 0 && device::best().is_host();
    ::_exit(refused == 4 && host ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  go(order);
  std::vector<float> out(1000);
  c.copy_to(order, out);
  order.synchronize();
  CHECK(out[999] == 999 + 1004);
}
