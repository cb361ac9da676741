// Copies of a call's tensors: as many as are wanted, equal, and where launches expect them.
#include "tune/copies.hpp"

#include <cstdint>
#include <numeric>
#include <vector>

#include "support/catch.hpp"
#include "runtime/matrix_argument.hpp"

using namespace tegula;
using tuning::Copies;

namespace {

Argument matrix(float* data, std::int64_t rows, std::int64_t columns, std::int64_t pitch) {
  Argument argument = runtime::matrix_argument(Element::f32, rows, columns);
  argument.address = data;
  argument.strides[0] = pitch;
  return argument;
}

}  // namespace

TEST_CASE("copies of a call's tensors are equal, apart from each other, and lie as the tensors do", "[N15]") {
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 1.F);
  Argument number;
  number.kind = ParameterKind::scalar;
  number.scalar = 7;
  Argument const arguments[] = {matrix(values.data() + 3, 10, 20, 50), number, matrix(values.data() + 600, 4, 8, 8)};
  stream const order(device::host());
  // Bytes from the first to the last element: (9 * 50 + 20) * 4 and 32 * 4.
  double const bytes = 4.0 * (9 * 50 + 20) + 4.0 * 32;
  Copies const copies(order, arguments, 2.5 * bytes, 64);
  REQUIRE(copies.count() == 3);
  CHECK(copies.set(0)[0].address == arguments[0].address);  // the tensors themselves
  for (int set = 1; set < 3; ++set) {
    CHECK(copies.set(set)[1].scalar == 7);
    for (int i : {0, 2}) {
      auto const at = static_cast<std::size_t>(i);
      Argument const &copy = copies.set(set)[at], &tensor = arguments[i];
      CHECK(copy.address != tensor.address);
      CHECK(copy.address != copies.set(3 - set)[at].address);
      CHECK(copy.allocation == nullptr);
      CHECK((reinterpret_cast<std::uintptr_t>(copy.address) - reinterpret_cast<std::uintptr_t>(tensor.address)) % 256 ==
            0);
      for (std::int64_t r = 0; r < tensor.extents[0]; ++r)
        for (std::int64_t c = 0; c < tensor.extents[1]; ++c)
          CHECK(static_cast<float const*>(copy.address)[r * copy.strides[0] + c] ==
                static_cast<float const*>(tensor.address)[r * tensor.strides[0] + c]);
    }
  }
  CHECK(Copies(order, arguments, 0, 64).count() == 1);
  CHECK(Copies(order, arguments, 1e9, 5).count() == 5);
  Argument const empty[] = {matrix(values.data(), 0, 20, 50)};
  CHECK(Copies(order, empty, 1e3, 4).count() == 4);
}
