// Tests stores of tiles that hang over the end of a tensor, on the host and after the passes for the GPU. Nothing
// behind the end, nor between the rows of a view, is written.
#include <algorithm>
#include <cmath>
#include <vector>

#include "support/catch.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;

namespace {

inline constexpr auto copied = kernel("copied", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<24, 48>);
  store(y, shape<24, 48>, load(x, shape<24, 48>, g[0], g[1]), g[0], g[1]);
});

/// The same by element offsets: every tile but the first begins where none would, the last ones behind the end.
inline constexpr auto shifted = kernel("shifted", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid(ceil_div(y.extent(0), 24) + 1, ceil_div(y.extent(1), 48) + 1);
  auto row = g[0] * 24 - 5, column = g[1] * 48 - 7;
  store(y, shape<24, 48>, load(x, shape<24, 48>, elem(row), elem(column)), elem(row), elem(column));
});

constexpr std::int64_t guard = 64, gap = 3;
constexpr float poison = -12345;

/// Holds a matrix with poison before, behind and between its rows.
struct Guarded {
  std::int64_t rows, columns;
  std::vector<float> all;
  Guarded(std::int64_t m, std::int64_t n)
      : rows(m), columns(n), all(static_cast<std::size_t>(2 * guard + m * (n + gap)), poison) {}
  [[nodiscard]] view<float, 2> matrix() {
    return view<float, 2>(all.data() + guard, {rows, columns}, {columns + gap, 1});
  }
  /// Counts elements that are neither copied right nor, outside of the matrix, still poison.
  [[nodiscard]] std::int64_t wrong(std::vector<float> const& from) const {
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(all.size()); ++i) {
      std::int64_t const at = i - guard, row = at / (columns + gap), column = at % (columns + gap);
      bool const inside = at >= 0 && row < rows && column < columns;
      float const expected = inside ? from[static_cast<std::size_t>(row * columns + column)] : poison;
      count += all[static_cast<std::size_t>(i)] != expected ? 1 : 0;
    }
    return count;
  }
};

template <class Run>
void check_extents(Run const& run) {
  for (std::int64_t const rows : {1, 23, 24, 25, 71})
    for (std::int64_t const columns : {1, 47, 48, 49, 97}) {
      std::vector<float> x(static_cast<std::size_t>(rows * columns));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
      Guarded y(rows, columns);
      INFO(rows << " x " << columns);
      run(view<float const, 2>(x.data(), {rows, columns}), y.matrix());
      CHECK(y.wrong(x) == 0);
    }
}

}  // namespace

TEST_CASE("a partial tile is stored up to the end of the tensor on the host", "[host][B15]") {
  stream const here(device::host());
  check_extents([&](auto x, auto y) { launch(here, copied, x, y); });
  check_extents([&](auto x, auto y) { launch(here, shifted, x, y); });
}

TEST_CASE("a partial tile is stored up to the end of the tensor by the kernel for the GPU", "[host][B15]") {
  check_extents([&](auto x, auto y) { CHECK(simulate(copied, x, y, schedule::seed(7)).clean); });
  check_extents([&](auto x, auto y) { CHECK(simulate(shifted, x, y).clean); });
}
