// Runs a kernel on every executor of this machine, and draws what it takes.
#pragma once

#include <tegula/tegula.hpp>

#include <cstdint>
#include <random>
#include <vector>

#include "support/catch.hpp"

namespace tegula::test {

/// Draws numbers from -1 to 1.
template <class T>
std::vector<T> drawn(std::int64_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> numbers(-1, 1);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = T(numbers(random));
  return values;
}
/// Returns an element as a double.
template <class T>
double at(std::vector<T> const& values, std::int64_t i) {
  return static_cast<double>(static_cast<float>(values[static_cast<std::size_t>(i)]));
}

inline void check_clean(simulation const& found) {
  INFO(found.report);
  CHECK(found.clean);
}

/// Runs a kernel on the host, as tiles and warp by warp in two orders: `run(way, output)` calls `way` with the kernel
/// and its arguments. Then calls `check` with the output, which was 99 in every place.
template <class T, class Run, class Check>
void each_way(std::size_t size, Run const& run, Check const& check) {
  for (int way = 0; way < 4; ++way) {
    std::vector<T> output(size, T(99.0F));
    INFO("way " << way);
    run(
        [&](auto const& kernel, auto const&... x) {
          if (way == 0) launch(host_stream(), kernel, x...);
          if (way == 1) check_clean(simulate(kernel, x...));
          if (way > 1) check_clean(simulate(kernel, x..., schedule::seed(static_cast<std::uint64_t>(way))));
        },
        output.data());
    check(output);
  }
}

}  // namespace tegula::test
