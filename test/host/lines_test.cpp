// Tests that compiled kernels name the user's functions and lines where the options ask for it. test/gdb/lines.cmake
// stops at such a line.
#include <fmt/format.h>

#include <vector>

#include "runtime/cuda/ptxas.hpp"
#include "support/catch.hpp"
#include "support/options.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using test::ContainsSubstring;

namespace {

constexpr int doubled_line = __LINE__ + 1;
inline constexpr auto doubled = function(
    "doubled", [](auto x) { return x + x; }, noinline);

constexpr int store_line = __LINE__ + 3;
inline constexpr auto twice_doubled = kernel("twice_doubled", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<256>);
  store(y, shape<256>, doubled(doubled(load(x, shape<256>, g[0]))), g[0]);
});

CompileOptions options_with_lines(Target target, bool lines) {
  CompileOptions options;
  options.target = target;
  options.lines = lines;
  if (target == Target::cuda) options.facts.assign(2, {true, true});
  return options;
}

/// Returns the body of a function in PTX.
std::string body_of(std::string const& ptx, std::string const& name) {
  std::size_t at = ptx.find(name);
  while (at != std::string::npos) {
    std::size_t const open = ptx.find('{', at), end = ptx.find(';', at);
    if (open < end) return ptx.substr(open, ptx.find("\n}", open) - open);
    at = ptx.find(name, at + 1);  // a declaration or a call
  }
  return "";
}

}  // namespace

TEST_CASE("PTX names the lines of a kernel and of its functions, and the assembler keeps them", "[F7]") {
  std::string const with_lines = compile(twice_doubled, options_with_lines(Target::cuda, true)).image;
  std::string const without = compile(twice_doubled, options_with_lines(Target::cuda, false)).image;
  CHECK_FALSE(runtime::cuda::has_lines(without));
  REQUIRE(runtime::cuda::has_lines(with_lines));
  CHECK_THAT(with_lines, ContainsSubstring("lines_test.cpp\""));
  auto const at = [](int line) { return fmt::format(".loc\t1 {} ", line); };
  CHECK_THAT(body_of(with_lines, "tegula_twice_doubled("), ContainsSubstring(at(store_line)));
  std::string const inside = body_of(with_lines, "doubled_0");
  CHECK_THAT(inside.empty() ? body_of(with_lines, "doubled(") : inside, ContainsSubstring(at(doubled_line)));

  support::Options const environment = support::read_options();
  if (runtime::cuda::find_ptxas(environment).empty()) TEGULA_SKIP("ptxas is not in PATH");
  auto const cubin = [&](std::string const& ptx) {
    return runtime::cuda::assemble(environment, ptx, "sm_90a", "twice_doubled").cubin;
  };
  CHECK_THAT(cubin(with_lines), ContainsSubstring("lines_test.cpp"));
  CHECK_THAT(cubin(with_lines), ContainsSubstring(".debug_line"));
  CHECK_THAT(cubin(without), !ContainsSubstring("lines_test.cpp"));
}

TEST_CASE("objects for the host name lines if they are asked for, and compute the same", "[F7]") {
  CompileOptions const lines = options_with_lines(Target::host, true);
  CHECK_THAT(compile(twice_doubled, lines).image, ContainsSubstring("lines_test.cpp"));
  CHECK_THAT(compile(twice_doubled, options_with_lines(Target::host, false)).image,
             !ContainsSubstring("lines_test.cpp"));
  std::vector<float> x(1000), y(1000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 500;
  view const from(x.data(), 1000), to(y.data(), 1000);
  launch(host_stream(), with(lines), twice_doubled, from, to);
  for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(y[i] == 4 * x[i]);
  CHECK_THAT(explain(with(lines), twice_doubled, from, to), ContainsSubstring("lines = 1"));
}
