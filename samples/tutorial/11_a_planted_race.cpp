// Lesson 11 of lib/doc/tutorial.md: plants a race and lets the simulator find it.
#include <tegula/tegula.hpp>

#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

using namespace tegula;

// [begin: race]
/// Adds up a vector. Each block adds its part to the total, which is wrong: another block may add in between.
constexpr auto total_with_a_race = kernel("total_with_a_race", [](in<float, 1> x, inout<float, 1> total) {
  auto g = grid_over(x, shape<256>);
  tile part = sum(load(x, shape<256>, g[0]), axis<0>);
  tile before = load(total, shape<1>, 0);
  store(total, shape<1>, before + part, 0);
});
// [end]

// [begin: mended]
constexpr auto total_by_atomics = kernel("total_by_atomics", [](in<float, 1> x, inout<float, 1> total) {
  auto g = grid_over(x, shape<256>);
  atomic_add(total, sum(load(x, shape<256>, g[0])), 0);  // sum(x) without an axis is a number for the block
});
// [end]

// [begin: print]
/// Prints the lines of a report that say where and what, without the folder of the source.
void print(char const* what, simulation const& found) {
  std::printf("%s: %s after %d blocks\n", what, found.clean ? "clean" : "not clean", static_cast<int>(found.blocks));
  std::string rest = found.report;
  while (!rest.empty()) {
    std::string const line = rest.substr(0, rest.find('\n'));
    rest.erase(0, line.size() + 1);
    std::size_t const file = line.find("11_a_planted_race.cpp:");
    if (file != std::string::npos && line[0] != ' ')
      std::printf("  %s\n", line.substr(file, line.find(';') - file).c_str());
  }
}
// [end]

int main() {
  std::mt19937 engine(11);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> x(1000), total(1, 0.F);
  for (float& value : x) value = uniform(engine);
  double expected = 0;
  for (float const value : x) expected += static_cast<double>(value);

  // [begin: simulate]
  print("with a race", simulate(total_with_a_race, x, total));
  std::printf("  its total is %s\n", std::abs(static_cast<double>(total[0]) - expected) < 1e-4 ? "right" : "wrong");

  total[0] = 0;
  print("by atomics", simulate(total_by_atomics, x, total));
  std::printf("  its total is %s\n", std::abs(static_cast<double>(total[0]) - expected) < 1e-4 ? "right" : "wrong");

  total[0] = 0;
  print("by atomics, as warps of a GPU", simulate(total_by_atomics, x, total, schedule::seed(7)));
  std::printf("  its total is %s\n", std::abs(static_cast<double>(total[0]) - expected) < 1e-4 ? "right" : "wrong");
  // [end]
}

// [begin: output]
// with a race: not clean after 4 blocks
//   11_a_planted_race.cpp:17: block (1, 0, 0) loads element [0] of %inout1, which block (0, 0, 0) stores to too
//   11_a_planted_race.cpp:18: block (1, 0, 0) stores to element [0] of %inout1, which block (0, 0, 0) stores to too
//   11_a_planted_race.cpp:18: block (1, 0, 0) stores to element [0] of %inout1, which block (0, 0, 0) loads too
//   its total is right
// by atomics: clean after 4 blocks
//   its total is right
// by atomics, as warps of a GPU: clean after 4 blocks
//   its total is right
// [end]
