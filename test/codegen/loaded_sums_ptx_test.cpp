// Tests that products whose sums begin with loaded elements are not serialised: the last op before the instructions
// that defines a sum is one of arithmetic, not a load.
#include <regex>

#include "codegen/ptxas.hpp"
#include "compiler/compile.hpp"
#include "kernels/divided_kernels.hpp"
#include "support/module.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("sums that begin with a loaded tile keep wgmma in flight", "[B1]") {
  CompileOptions options;
  options.target = Target::cuda;
  static std::regex const tensor("(in|inout) tensor<([^>]*)>");
  auto module =
      module_of(std::regex_replace(lower_onto.trace().text(), tensor, "$1 tensor<$2> {unit_inner, aligned_16}"));
  std::string const ptx = compiler::compile(module, options).image;
  CHECK(ptx.find("wgmma.mma_async") != std::string::npos);
  static std::regex const join("or\\.b32");
  auto const joins = std::distance(std::sregex_iterator(ptx.begin(), ptx.end(), join), std::sregex_iterator());
  CHECK(joins >= 128);  // one for each sum of a thread
  if (std::string const ptxas = find_ptxas(); !ptxas.empty()) CHECK(ptxas_complaints(assemble(ptxas, ptx)) == "");
}
