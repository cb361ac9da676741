// Tests tensor maps as kernel parameters on a device: two streams at once, no copies, captured graphs, reused memory.
#include <dlfcn.h>

#include <vector>

#include "hand_written_ptx.hpp"
#include "jit/kernel_cache.hpp"
#include "runtime/cuda/driver.hpp"
#include "support/catch.hpp"
#include "kernels/column_sums.hpp"
#include "tegula/runtime/counters.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::column_sums;

namespace {

std::vector<float> sums_of(buffer<float, 2> const& y) {
  std::vector<float> values(static_cast<std::size_t>(y.size()));
  y.copy_to(values);
  return values;
}

bool all_are(std::vector<float> const& values, float wanted) {
  for (float const value : values)
    if (value != wanted) return false;
  return true;
}

/// Finds a function of the driver that Tegula itself does not use.
template <class F>
F* driver_function(char const* name) {
  static void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
  REQUIRE(library != nullptr);
  auto* const found = reinterpret_cast<F*>(::dlsym(library, name));
  REQUIRE(found != nullptr);
  return found;
}

using Handle = void*;

/// Captures one launch into a graph.
template <class... X>
Handle captured(cuda_stream const& order, X&... arguments) {
  Handle graph = nullptr;
  REQUIRE(driver_function<int(CUstream_st*, int)>("cuStreamBeginCapture_v2")(order.handle(), 0) == 0);
  launch(order, column_sums, arguments...);
  REQUIRE(driver_function<int(CUstream_st*, Handle*)>("cuStreamEndCapture")(order.handle(), &graph) == 0);
  return graph;
}

}  // namespace

TEST_CASE("two streams run one kernel at once with different tensor maps", "[D2]") {
  TEGULA_NEED_HOPPER();
  cuda_stream const first, second;
  constexpr std::int64_t rows = 64, columns = 256;
  buffer<float, 2> a(first.where(), rows, columns), b(first.where(), rows, columns);
  buffer<float, 2> x(first.where(), 1, columns), y(first.where(), 1, columns);
  a.fill(1), b.fill(3);
  prepared const one = prepare(column_sums, a, x), other = prepare(column_sums, b, y);
  for (int round = 0; round < 100; ++round) {
    x.fill(-1), y.fill(-1);
    for (int i = 0; i < 100; ++i) one(first), other(second);
    first.synchronize(), second.synchronize();
    REQUIRE(all_are(sums_of(x), rows));
    REQUIRE(all_are(sums_of(y), 3 * rows));
  }
}

TEST_CASE("launches copy nothing to the device, and share the maps of equal tensors", "[D4][H10][H11][N6]") {
  TEGULA_NEED_HOPPER();
  cuda_stream const order;
  constexpr std::int64_t rows = 32, columns = 640;
  buffer<float, 2> a(order.where(), rows + 16, columns), x(order.where(), 1, columns);
  a.fill(2), x.fill(-1);
  launch(order, column_sums, a, x);  // compiled, loaded and encoded
  LaunchCounters const before = launch_counters();
  for (int i = 0; i < 100; ++i) launch(order, column_sums, tensor_view(a), x);
  buffer<float, 2> other(order.where(), 1, columns);
  launch(order, column_sums, a, other);
  LaunchCounters const after = launch_counters();
  CHECK(after.launches - before.launches == 101);
  CHECK(after.copies_to_device == before.copies_to_device);
  CHECK(after.maps_encoded == before.maps_encoded);
  CHECK(after.maps_shared > before.maps_shared);
  // Equal views of one storage share a map, shifted ones do not.
  device_view<float, 2> const upper = a.on_device().slice(0, 0, rows), lower = a.on_device().slice(0, 16, rows + 16);
  launch(order, column_sums, upper, x);
  launch(order, column_sums, a.on_device().slice(0, 0, rows), x);
  CHECK(launch_counters().maps_encoded == after.maps_encoded + 1);
  launch(order, column_sums, lower, x);
  CHECK(launch_counters().maps_encoded == after.maps_encoded + 2);
  order.synchronize();
  CHECK(all_are(sums_of(x), 2 * rows));
}

TEST_CASE("memory that is used again for a tensor of other extents never meets an old map", "[D5]") {
  TEGULA_NEED_HOPPER();
  cuda_stream const order;
  buffer<float> storage(order.where(), 128 * 1024);
  storage.fill(1);
  for (int i = 0; i < 200; ++i) {
    std::int64_t const rows = 16 * (1 + i % 7), columns = 64 * (1 + i % 5);
    device_view<float, 2> const x(storage.data(), rows, columns);
    buffer<float, 2> y(order.where(), 1, columns);
    y.fill(order, -1);
    launch(order, column_sums, x, y);
    order.synchronize();
    INFO(rows << " x " << columns);
    REQUIRE(all_are(sums_of(y), static_cast<float>(rows)));
  }
}

TEST_CASE("a captured launch replays, and runs on other memory after an update of its node", "[D6][N6]") {
  TEGULA_NEED_HOPPER();
  cuda_stream const order;
  constexpr std::int64_t rows = 48, columns = 320;
  buffer<float, 2> a(order.where(), rows, columns), b(order.where(), rows, columns);
  buffer<float, 2> x(order.where(), 1, columns), y(order.where(), 1, columns);
  a.fill(1), b.fill(5), x.fill(-1), y.fill(-1);
  launch(order, column_sums, a, x);  // compiled before the capture
  order.synchronize();
  runtime::cuda::ContextScope const current(order.where().number());
  auto* const replay = driver_function<int(Handle, CUstream_st*)>("cuGraphLaunch");
  Handle executable = nullptr;
  REQUIRE(driver_function<int(Handle*, Handle, unsigned long long)>("cuGraphInstantiateWithFlags")(
              &executable, captured(order, a, x), 0) == 0);
  x.fill(-1);
  for (int i = 0; i < 1000; ++i) REQUIRE(replay(executable, order.handle()) == 0);
  order.synchronize();
  CHECK(all_are(sums_of(x), rows));
  x.fill(-1);
  struct Result {
    int result;
    Handle node, from;
  } result = {};
  REQUIRE(driver_function<int(Handle, Handle, Result*)>("cuGraphExecUpdate_v2")(executable, captured(order, b, y),
                                                                                &result) == 0);
  REQUIRE(replay(executable, order.handle()) == 0);
  order.synchronize();
  CHECK(all_are(sums_of(y), 5 * rows));
  CHECK(all_are(sums_of(x), -1));  // the first memory is no longer named
}

TEST_CASE("one binary serves 50 shapes on a device", "[H8][H9]") {
  TEGULA_NEED_HOPPER();
  cuda_stream const order;
  std::int64_t const before = jit::counters().compilations;
  for (int i = 0; i < 50; ++i) {
    std::int64_t const rows = 1 + 5 * i, columns = 4 * (60 - i);
    buffer<float, 2> x(order.where(), rows, columns), y(order.where(), 1, columns);
    x.fill(1), y.fill(-1);
    launch(order, column_sums, x, y);
    order.synchronize();
    REQUIRE(all_are(sums_of(y), static_cast<float>(rows)));
  }
  CHECK(jit::counters().compilations - before <= 1);
}

TEST_CASE("a view by TMA and one by pointers are arguments of one kernel", "[H4][H14][sanitize]") {
  TEGULA_NEED_HOPPER();
  cuda_stream const order;
  CHECK(order.where().has_tma());
  buffer<float, 2> storage(order.where(), 40, 132), y(order.where(), 1, 128);
  storage.fill(1);
  tensor_view const whole(storage);
  CHECK(whole.has_tma());
  for (std::int64_t const from : {0, 1, 4}) {
    device_view<float, 2> const part = storage.on_device().slice(1, from, from + 128);
    CHECK(tensor_view(order.where(), part).has_tma() == (from != 1));
    y.fill(-1);
    launch(order, column_sums, part, y);
    order.synchronize();
    CHECK(all_are(sums_of(y), 40));
  }
}
