// Tests what explain and TEGULA_ADVICE print on the host, and that a wrong value of the option is refused.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "launch_support.hpp"
#include "support/catch.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::ContainsSubstring;

namespace {

constexpr std::uint32_t line_of_load = __LINE__ + 3;
inline constexpr auto doubled = kernel("doubled", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<16, 64>);
  store(y, shape<16, 64>, load(x, shape<16, 64>, g[0], g[1]) * 2, g[0], g[1]);
});

inline constexpr auto product = kernel("product", [](in<float, 2> A, in<float, 2> B, out<float, 2> C) {
  auto g = grid_over(C, shape<64, 64>);
  tile sums = loop(ceil_div(A.extent(1), 64), zeros<float>(shape<64, 64>), [&](auto k, auto sum) {
    return dot(load(A, shape<64, 64>, g[0], k), load(B, shape<64, 64>, k, g[1]), sum);
  });
  store(C, shape<64, 64>, sums, g[0], g[1]);
});

struct Tensors {
  std::int64_t const n = 512;
  buffer<float, 2> x{device::host(), n, n}, y{device::host(), n, n};
  Tensors() { x.fill(3); }
  [[nodiscard]] view<float, 2> columns() { return view<float, 2>(x.data(), {n, n}, {1, n}); }
};

/// Runs a test case of this program under TEGULA_ADVICE, and returns what it prints.
std::string said_under(char const* value, std::string const& specification) {
  std::string pattern = (std::filesystem::temp_directory_path() / "tegula-advice-XXXXXX").string();
  std::filesystem::path const folder = ::mkdtemp(pattern.data());
  ::setenv("TEGULA_ADVICE", value, 1);
  test::run_self(specification, (folder / "output").string());
  ::unsetenv("TEGULA_ADVICE");
  std::ostringstream text;
  text << std::ifstream(folder / "output").rdbuf();
  std::filesystem::remove_all(folder);
  return text.str();
}

std::size_t count_of(std::string const& text, std::string const& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string const remedy =
    "load of `in0` takes one element at once (axis 0 of its tensor is contiguous, not the last "
    "one); pass `in0` with axes exchanged";

}  // namespace

TEST_CASE("explain says what limits a launch, and what helps", "[N17]") {
  Tensors on;
  std::string const good = explain(doubled, on.x, on.y), bad = explain(doubled, on.columns(), on.y);
  INFO(good << bad);
  CHECK_THAT(good, ContainsSubstring("  limit: memory, ") && ContainsSubstring(" GB/s expected\n"));
  CHECK_THAT(good, !ContainsSubstring("measured"));
  CHECK_THAT(good, !ContainsSubstring("axes exchanged"));
  CHECK_THAT(bad, ContainsSubstring(fmt::format("advice_test.cpp:{}: {}", line_of_load, remedy)));
  Advice const found = advice(doubled, on.columns(), on.y);
  REQUIRE(found.slow.size() == 1);
  CHECK(found.slow[0].kind == SlowSpot::Kind::narrow_access);
  CHECK(found.slow[0].where.line() == line_of_load);
  CHECK(advice(doubled, on.x, on.y).slow.empty());
  // The same tensors, as if they lay on a GPU.
  CHECK_THAT(advice(sm_90a, doubled, on.columns(), on.y).str(), ContainsSubstring("limit: latency"));
}

TEST_CASE("advice on the host names idle threads, not multiprocessors", "[N17]") {
  buffer<float, 2> const A(device::host(), 64, 2048), B(device::host(), 2048, 64);
  buffer<float, 2> C(device::host(), 64, 64);
  int const threads = device::host().limits().processors;
  std::string const all = fmt::to_string(threads), idle = fmt::to_string(threads - 1);
  Advice const found = advice(product, A, B, C);
  INFO(found.str());
  REQUIRE(found.slow.empty() == (threads == 1));
  if (threads > 1) CHECK(found.slow[0].what == "1 block leaves " + idle + " of " + all + " threads idle");
  if (threads > 1) CHECK(found.slow[0].remedy == "take smaller tiles");
}

TEST_CASE("child that launches with advice", "[.]") {
  Tensors on;
  for (int i = 0; i < 3; ++i) launch(host_stream(), doubled, on.columns(), on.y);
  launch(host_stream(), doubled, on.x, on.y);  // other code
  std::printf("%s", explain(doubled, on.x, on.y).c_str());
  launch(host_stream(), doubled, grid(2, 2), on.x, on.y);
  prepare(doubled, on.x, on.y)(host_stream());
}

TEST_CASE("TEGULA_ADVICE prints the advice at the first launch of each code, and explain what was measured", "[N17]") {
  std::string const said = said_under("on", "child that launches with advice");
  INFO(said);
  CHECK(count_of(said, "tegula: advice: doubled on host\n  limit: memory, ") == 4);  // strided, dense, grid, prepared
  CHECK(count_of(said, remedy) == 1);
  CHECK(count_of(said, " % measured\n") >= 1);
  CHECK_THAT(said, ContainsSubstring("kernel doubled on host"));
  std::string const silent = said_under("off", "child that launches with advice");
  CHECK_THAT(silent, !ContainsSubstring("tegula: advice"));
  CHECK_THAT(silent, !ContainsSubstring("measured"));
}

TEST_CASE("a wrong value of TEGULA_ADVICE is refused with its grammar", "[N17]") {
  CHECK_THAT(said_under("yes", "child that launches with advice"),
             ContainsSubstring("TEGULA_ADVICE=\"yes\": not understood; grammar: on | off"));
}
