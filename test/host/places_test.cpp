// Tests counts, ranks and elements at places, and sorts of them, on the host and in both simulators.
#include "kernels/place_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("elements are counted by value and ranked in their order, taken from places and put there", "[W13][L11]") {
  for (Executor const on : executors_without_device) check_places(on);
}

TEST_CASE("values of a long vector are counted", "[W13][L11]") {
  for (Executor const on : executors_without_device)
    for (std::int64_t const n : {0, 1, 1000, 1024}) check_counted_values<512>(on, n);
}

TEST_CASE("a radix sort orders keys and carries values, stable, of any size and kind", "[W13][L11]") {
  for (Executor const on : executors_without_device) check_radix_sorts<256>(on, 1000);
}
