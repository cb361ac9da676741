// Tests that reductions and scans by a combiner, sorts and top_k compile for the GPU: within warps by shuffles, and
// without spills.
#include <regex>

#include "codegen/ptxas.hpp"
#include "compiler/compile.hpp"
#include "kernels/combine_kernels.hpp"
#include "support/module.hpp"
#include "kernels/sort_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Compiles a kernel for dense tensors, as a launch does.
template <class Kernel>
std::string ptx_of(Kernel const& kernel) {
  CompileOptions options;
  options.target = Target::cuda;
  static std::regex const tensor("(in|out) tensor<([^>]*)>");
  auto module = module_of(std::regex_replace(kernel.trace().text(), tensor, "$1 tensor<$2> {unit_inner, aligned_16}"));
  return compiler::compile(module, options).image;
}

template <class Kernel>
void check(char const* name, Kernel const& kernel) {
  INFO(name);
  std::string const ptx = ptx_of(kernel);
  CHECK(ptx.find("shfl.sync.bfly") != std::string::npos);
  if (std::string const ptxas = find_ptxas(); !ptxas.empty()) CHECK(ptxas_complaints(assemble(ptxas, ptx)) == "");
}

/// Normalises rows by their mean and the mean of their squares, which need each other not.
constexpr auto normalised_rows = kernel("normalised_rows", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 4096>);
  tile v = load(x, shape<1, 4096>, g[0], 0);
  tile mean = sum(v, axis<1>) / 4096;
  tile squares = sum(v * v, axis<1>) / 4096;
  store(y, shape<1, 4096>, (v - mean) * rsqrt(squares - mean * mean + 1e-5F), g[0], 0);
});

int count(std::string const& text, std::string const& what) {
  int found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("reductions between warps that need each other not share a barrier") {
  std::string const ptx = ptx_of(normalised_rows);
  CHECK(count(ptx, "bar.sync 0;") == 1);
}

TEST_CASE("combiners, sorts and top_k run within warps by shuffles on Hopper, without spills") {
  check("largest of rows", place_of_largest<float, 1, 8, 1024>);
  check("largest of ragged rows", place_of_largest<float, 1, 8, 1000>);
  check("log of sums of exponentials", log_sum_exp<64, 128>);
  check("recurrence", recurrence<float, 1, 16, 128, false, false>);
  check("recurrence from the end", recurrence<float, 1, 8, 200, true, true>);
  check("sorted rows", sorted_tiles<float, 1, 4, 256, false>);
  check("largest eight", largest<float, 8, 1000, 8>);
  check("largest 64", largest<float, 1, 4096, 64>);
  // The rows of a warp are its own: nothing goes through shared memory.
  CHECK(ptx_of(place_of_largest<float, 1, 16, 128>).find("bar.sync") == std::string::npos);
}
