// Tests events, page-locked memory and memory in the order of a stream on the host, and their refusals.
#include <cstdint>
#include <numeric>
#include <vector>

#include "support/catch.hpp"
#include "tegula/runtime/buffer.hpp"
#include "tegula/runtime/event.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using tegula::test::ContainsSubstring;

TEST_CASE("an event of the host is reached") {
  stream const order(device::host());
  event point;
  CHECK(point.reached());
  point.record(order);
  CHECK(point.reached());
  CHECK(point.handle() == nullptr);
  CHECK_NOTHROW(point.synchronize());
  CHECK_NOTHROW(order.wait(point));
  CHECK(event(order).reached());
}

TEST_CASE("an event of an existing program needs its device and its handle") {
  CHECK_THROWS_WITH(event(device::host(), nullptr), ContainsSubstring("the device is the host"));
  if (device::cuda_count() > 0) CHECK_THROWS_WITH(event(device::cuda(), nullptr), ContainsSubstring("is null"));
}

TEST_CASE("a buffer of the host's stream and a page-locked one of the host are plain memory") {
  stream const order(device::host());
  buffer<int, 2> x(order, 3, 4);
  CHECK(x.where() == device::host());
  CHECK(x.extent(1) == 4);
  auto staging = buffer<int, 2>::pinned(device::host(), 3, 4);
  CHECK(staging.where() == device::host());
  CHECK(reinterpret_cast<std::uintptr_t>(staging.data()) % 256 == 0);
  std::vector<int> values(12), found(12);
  std::iota(values.begin(), values.end(), 5);
  staging.copy_from(values);
  x.copy_from(order, staging);
  x.copy_to(found);
  CHECK(found == values);
  buffer<int, 2> const smaller(order, 3, 3);
  CHECK_THROWS_WITH(x.copy_from(order, smaller), ContainsSubstring("9 elements does not fit a buffer of 12"));
  CHECK(buffer<int>(order, 0).data() == nullptr);
  CHECK(buffer<int>::pinned(device::host(), 0).data() == nullptr);
  CHECK_THROWS_WITH(buffer<int>(order, std::int64_t{1} << 60), ContainsSubstring("cannot allocate"));
  CHECK_THROWS_WITH((buffer<int, 2>::pinned(device::host(), 4, -1)), ContainsSubstring("extent -1 of axis 1"));
}

TEST_CASE("the host reaches its own memory alone") {
  CHECK(device::host().can_access(device::host()));
  CHECK_NOTHROW(device::host().enable_access(device::host()));
  if (device::cuda_count() == 0) return;
  CHECK_FALSE(device::host().can_access(device::cuda()));
  CHECK_FALSE(device::cuda().can_access(device::host()));
  CHECK_THROWS_WITH(device::cuda().enable_access(device::host()), ContainsSubstring("cannot reach memory of host"));
}
