// A program for the debugger: check.cmake steps through its kernel and compares what the debugger prints.
#include <tegula/tegula.hpp>

#include <cstdio>
#include <vector>

using namespace tegula;

inline constexpr auto running_sum = kernel("running_sum", [](in<float, 2> x, out<float, 2> y, arg<float> scale) {
  auto g = grid_over(y, shape<2, 4>);
  auto block = g[0];
  tile sum = loop(ceil_div(x.extent(1), 4), zeros<float>(shape<2, 4>), [&](auto k, auto so_far) {
    tile part = load(x, shape<2, 4>, g[0], k);
    tile next = so_far + part * scale;
    return next;  // break here: in the loop
  });
  if_(
      block == 1,
      [&] {
        store(y, shape<2, 4>, -sum, block, g[1]);  // break here: in the branch
      },
      [&] {
        store(y, shape<2, 4>, sum, g[0], g[1]);  // break here: in the other branch
      });
});

int main() {
  constexpr std::int64_t rows = 4, columns = 8;
  std::vector<float> x(rows * columns), y(rows * 4);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  view<float, 2> to(y.data(), {rows, 4});
  launch(host_stream(), running_sum, view<float const, 2>(x.data(), {rows, columns}), to, 0.5F);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < 4; ++column) {
      float const first = x[static_cast<std::size_t>(row * columns + column)];
      float const wanted = (first + (first + 4)) * 0.5F * (row < 2 ? 1.0F : -1.0F);
      if (y[static_cast<std::size_t>(row * 4 + column)] == wanted) continue;
      std::printf("row %d, column %d differs\n", static_cast<int>(row), static_cast<int>(column));
      return 1;
    }
  std::puts("right");
}
