// Defines kernels with asserts and prints, and checks of the output of a child process.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>

#include "../host/launch_support.hpp"
#include "support/catch.hpp"
#include "support/executors.hpp"

namespace tegula::test {

constexpr std::uint32_t line_of_tile_assert = __LINE__ + 4;
inline constexpr auto checked = kernel("checked", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile v = load(x, shape<64>, g[0]);
  device_assert(v >= 0, "x is negative (100% of it)");
  store(y, shape<64>, v * 2, g[0]);
});

constexpr std::uint32_t line_of_scalar_assert = __LINE__ + 3;
inline constexpr auto bounded = kernel("bounded", [](in<int, 2> x, out<int, 2> y) {
  auto g = grid_over(y, shape<1, 64>);
  device_assert(load(x, g[0], 0) < 10, "too large");
  store(y, shape<1, 64>, load(x, shape<1, 64>, g[0], g[1]), g[0], g[1]);
});

inline constexpr auto never = kernel("never", [](out<int, 1> y) {
  auto g = grid_over(y, shape<64>);
  device_assert(sizeof(int) == 4, "holds");
  device_assert(false, "never reached");
  store(y, shape<64>, 1, g[0]);
});

inline constexpr auto talks = kernel("talks", [](in<int, 1> x, in<bf16, 2> h, out<int, 1> y) {
  auto g = grid_over(y, shape<2>);
  tile v = load(x, shape<2>, g[0]);
  device_print("100% of", g[0], 0.5f, g[0] == 1, v);
  device_print("all", load(h, shape<16, 8>, 0, 0));
  device_print("end");
  store(y, shape<2>, v, g[0]);
});

/// A product whose loop checks its tiles and its index.
template <bool with_assert>
inline constexpr auto checked_product = kernel("checked_product", [](in<bf16, 2> a, in<bf16, 2> b, out<float, 2> c) {
  auto at = grid_over(c, shape<64, 64>);
  tile sums = loop(
      ceil_div(a.extent(1), 64), zeros<float>(shape<64, 64>),
      [&](auto k, auto acc) {
        if constexpr (with_assert) device_assert(k < 4, "long product");
        return dot(load(a, shape<64, 64>, at[0], k), load(b, shape<64, 64>, k, at[1]), acc);
      },
      stages<2>);
  if constexpr (with_assert) device_assert(abs(sums) < 1e6f, "large sum");
  store(c, shape<64, 64>, sums, at[0], at[1]);
});

/// Runs a hidden test case in a child, which must pass, and returns all that it printed.
inline std::string output_of_child(std::string const& name) {
  std::string pattern = (std::filesystem::temp_directory_path() / "tegula-child-XXXXXX").string();
  std::filesystem::path const folder = ::mkdtemp(pattern.data());
  int const status = run_self(name, (folder / "output").string());
  std::ostringstream text;
  text << std::ifstream(folder / "output").rdbuf();
  std::filesystem::remove_all(folder);
  INFO(text.str());
  CHECK(status == 0);
  return text.str();
}

/// Launches `checked` so that block 2 fails, and prints the error, as a program would.
inline void fail_and_say(Executor on) {
  Array<float, 1> x({300}, 1), y({300});
  x[130] = -1;
  try {
    run_on(on, checked, x, y);
    std::fputs("no error\n", stderr);
  } catch (Error const& error) {
    std::fprintf(stderr, "caught: %s\n", error.what());
  }
}

}  // namespace tegula::test
