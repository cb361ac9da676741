// Tests the PTX of asserts and prints.
#include "codegen/nvptx/nvptx.hpp"
#include "compiler/compile.hpp"
#include "ptxas.hpp"
#include "support/module.hpp"

using namespace tegula;
using tegula::test::ContainsSubstring;

namespace {

std::string ptx_of(std::string const& body) {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = "sm_90a";
  auto const module = test::module_of(
      "kernel @k(%x: in tensor<?xf32>, %h: in tensor<?x?xbf16>, %y: out tensor<?xf32>, %ok: bool, %n: i32) {\n"
      "  %0 = constant {value = 0 : i64} : i64\n"
      "  %1 = constant {value = 4 : i64} : i64\n"
      "  grid %1\n"
      "  %b = block_index : i64\n" +
      body + "  return\n}\n");
  return compiler::compile(module, options).image;
}

void check_assembles(std::string const& ptx) {
  std::string const ptxas = test::find_ptxas();
  if (ptxas.empty()) return;
  CHECK(test::ptxas_complaints(test::assemble(ptxas, ptx), false) == "");
}

}  // namespace

TEST_CASE("an assert of a scalar calls __assertfail in one thread, of a tile in each that holds a false element") {
  std::string const ptx = ptx_of(R"(
  assert %ok, %b, %0, %0 {message = "100%", file = "k.cpp", line = 12}
  %t = load %x, %0 : tile<64xf32>
  %c = constant {value = 0 : f32} : tile<64xf32>
  %m = compare %t, %c {predicate = ge} : tile<64xbool>
  assert %m, %b, %0, %0 {message = "m", file = "k.cpp", line = 13}
)");
  CHECK_THAT(ptx, ContainsSubstring("__assertfail"));
  CHECK_THAT(ptx, ContainsSubstring("vprintf"));
  check_assembles(ptx);
}

TEST_CASE("prints of all elements assemble; elements that are never shown make no code") {
  std::string const ptx = ptx_of(R"(
  %t = load %x, %0 : tile<64xf32>
  %u = load %h, %0, %0 : tile<128x64xbf16>
  %w = cast %t : tile<64xf64>
  %c = constant {value = 0 : f32} : tile<64xf32>
  %m = compare %t, %c {predicate = ge} : tile<64xbool>
  %i = cast %t : tile<64xi8>
  print %b, %0, %0, %n, %t, %u, %w, %m, %i, %ok, %1 {text = "100% \"quoted\""}
  print %b, %0, %0
)");
  check_assembles(ptx);
  std::size_t calls = 0;
  for (std::size_t at = ptx.find("call"); at != std::string::npos; at = ptx.find("call", at + 1)) ++calls;
  CHECK(calls < 60);
}
