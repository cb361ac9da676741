// Tests the objects of host code generation, and its refusals.
#include <fmt/format.h>

#include <cstring>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "codegen/host/host.hpp"
#include "compiler/compile.hpp"
#include "ir/text/text.hpp"
#include "support/catch.hpp"
#include "support/elementary.hpp"
#include "tegula/support/error.hpp"

namespace {

using namespace tegula;

ir::Module parse(std::string const& text) {
  ir::ParseResult result = ir::parse("tegula-ir 1\n" + text);
  INFO(result.diagnostics.str());
  REQUIRE(result.ok());
  return std::move(result.module);
}

CompiledKernel compile(std::string const& text, std::string const& architecture) {
  CompileOptions options;
  options.architecture = architecture;
  return compiler::compile(parse(text), options);
}

/// Names of the undefined symbols of a 64-bit little-endian ELF object.
std::set<std::string> undefined_symbols(std::string const& object) {
  auto const read = [&](std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    REQUIRE(at + size <= object.size());
    std::memcpy(&value, object.data() + at, size);
    return value;
  };
  std::set<std::string> names;
  std::size_t const sections = read(0x28, 8);
  std::size_t const entry_size = read(0x3A, 2);
  std::size_t const count = read(0x3C, 2);
  bool found = false;
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t const section = sections + i * entry_size;
    if (read(section + 4, 4) != 2) continue;  // SHT_SYMTAB
    found = true;
    std::size_t const table = read(section + 0x18, 8);
    std::size_t const size = read(section + 0x20, 8);
    std::size_t const strings = read(sections + read(section + 0x28, 4) * entry_size + 0x18, 8);
    for (std::size_t symbol = table + 24; symbol < table + size; symbol += 24)
      if (read(symbol + 6, 2) == 0) names.insert(object.c_str() + strings + read(symbol, 4));
  }
  REQUIRE(found);
  return names;
}

TEST_CASE("host objects call nothing but memory functions", "[host]") {
  // Every op on every element it takes, on scalars and on tiles.
  std::vector<std::string> const functions = test::elementary_names();
  for (char const* element : {"i32", "i64", "f16", "bf16", "f32", "f64"}) {
    bool const floats = element[0] != 'i';
    std::vector<std::string> binary = {"add", "sub", "mul", "div", "min", "max"};
    std::vector<std::string> unary = {"neg", "abs"};
    if (floats)
      unary.insert(unary.end(), functions.begin(), functions.end());
    else
      binary.insert(binary.end(), {"rem", "multiply_high", "ceil_div", "shl", "shr", "and", "or", "xor"});
    std::string const tile = std::string("tile<50x") + element + ">";
    std::string text = std::string("kernel @all(%a: in tensor<?x") + element + ">, %s: " + element +
                       ", %c: out tensor<?x" + element + ">) {\n" +
                       "  %o = constant {value = 0 : i64} : i64\n  %v0 = load %a, %o : " + tile +
                       "\n  %w0 = add %s, %s : " + element + "\n";
    int at = 0;
    auto const next = [&](std::string const& op, bool two) {
      std::string const from = fmt::to_string(at);
      std::string const to = fmt::to_string(++at);
      text += "  %v" + to + " = " + op + " %v" + from + (two ? ", %v0" : "") + " : " + tile + "\n";
      text += "  %w" + to + " = " + op + " %w" + from + (two ? ", %s" : "") + " : " + element + "\n";
    };
    for (std::string const& op : binary) next(op, true);
    for (std::string const& op : unary) next(op, false);
    for (char const* to : {"i32", "i64", "f16", "bf16", "f32", "f64"}) {
      if (std::string(to) == element) continue;
      std::string const from = fmt::to_string(at);
      std::string const back = fmt::to_string(++at);
      text += "  %t" + back + " = cast %v" + from + " : tile<50x" + to + ">\n  %v" + back + " = cast %t" + back +
              " : " + tile + "\n";
      text += "  %u" + back + " = cast %w" + from + " : " + to + "\n  %w" + back + " = cast %u" + back + " : " +
              element + "\n";
    }
    text += fmt::format(
        "  %x = splat %w{0} : {1}\n"
        "  %y = add %x, %v{0} : {1}\n"
        "  %r = reduce %y {{axis = 0, combine = max}} : tile<1x{2}>\n"
        "  %b = broadcast %r : {1}\n"
        "  %z = sub %y, %b : {1}\n"
        "  store %c, %z, %o\n"
        "  return\n"
        "}}\n",
        at, tile, element);
    for (char const* cpu : {"x86-64-v2", "x86-64-v3", "x86-64-v4", ""}) {
      INFO(element << " on cpu \"" << cpu << "\"");
      for (std::string const& name : undefined_symbols(compile(text, cpu).image))
        CHECK((name == "memcpy" || name == "memset" || name == "memmove"));
    }
  }
}

TEST_CASE("two compilations give the same object bytes", "[host]") {
  std::string const text = R"(
kernel @k(%a: in tensor<?x?xf32>, %c: out tensor<?x?xf32>) {
  %o = constant {value = 0 : i64} : i64
  %x = load %a, %o, %o : tile<16x48xf32>
  %e = exp %x : tile<16x48xf32>
  %r = reduce %e {axis = 1} : tile<16x1xf32>
  %b = broadcast %r : tile<16x48xf32>
  %y = div %e, %b : tile<16x48xf32>
  store %c, %y, %o, %o
  return
}
)";
  CHECK(compile(text, "x86-64-v3").image == compile(text, "x86-64-v3").image);
  CHECK(compile(text, "x86-64-v3").image != compile(text, "x86-64-v4").image);
}

constexpr char const* copy_text = R"(
kernel @copy(%a: in tensor<?xf32>, %c: out tensor<?xf32>) {
  %o = constant {value = 0 : i64} : i64
  %x = load %a, %o : tile<64xf32>
  store %c, %x, %o
  return
}
)";

TEST_CASE("a host CPU that is unknown or too old is refused by name", "[host]") {
  CHECK_THROWS_AS(compile(copy_text, "no-such-cpu"), UserError);
  CHECK_THROWS_WITH(compile(copy_text, "no-such-cpu"), test::ContainsSubstring("unknown CPU \"no-such-cpu\""));
  CHECK_THROWS_WITH(compile(copy_text, "x86-64"), test::ContainsSubstring("the minimum is x86-64-v2"));
}

TEST_CASE("tiles beyond the host's scratch are refused with need and limit", "[host]") {
  std::string const text = R"(
kernel @big(%a: in tensor<?x?xf32>, %c: out tensor<?x?xf32>) {
  %o = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %n = extent %c {axis = 0} : i64
  %x = load %a, %o, %o : tile<4096x4096xf32>
  %r, %s, %t, %u = for %i = %o to %n step %one carry (%p = %x, %q = %x, %v = %x, %w = %x) : tile<4096x4096xf32>, tile<4096x4096xf32>, tile<4096x4096xf32>, tile<4096x4096xf32> {
    yield %q, %v, %w, %p
  }
  %y = add %r, %s : tile<4096x4096xf32>
  %z = mul %t, %u : tile<4096x4096xf32>
  %k = add %y, %z : tile<4096x4096xf32>
  store %c, %k, %o, %o
  return
}
)";
  CHECK_THROWS_AS(compile(text, "x86-64-v3"), UserError);
  CHECK_THROWS_WITH(compile(text, "x86-64-v3"), test::ContainsSubstring("bytes needed, 268435456 allowed"));
}

TEST_CASE("a host object that cannot run here is refused before it is mapped", "[host]") {
  CompiledKernel kernel = compile(copy_text, "");
  CHECK(codegen::load_host(kernel).entries.size() == kernel.phases.size());
  CompiledKernel empty = kernel;
  empty.image.clear();
  CHECK_THROWS_AS(codegen::load_host(empty), UserError);
  CompiledKernel broken = kernel;
  broken.image.resize(broken.image.size() / 2);
  CHECK_THROWS_AS(codegen::load_host(broken), UserError);
  CompiledKernel renamed = kernel;
  renamed.phases.front().entry = "other";
  CHECK_THROWS_WITH(codegen::load_host(renamed), test::ContainsSubstring("other"));
  CompiledKernel device = kernel;
  device.image_kind = ImageKind::ptx;
  CHECK_THROWS_AS(codegen::load_host(device), UserError);
  CompiledKernel other_cpu = kernel;
  other_cpu.architecture = "bdver4";  // its XOP and FMA4 are in no CPU made since
  CHECK_THROWS_WITH(codegen::load_host(other_cpu), test::ContainsSubstring("this CPU lacks"));
}

TEST_CASE("a separate phase packs the operands of a contraction", "[host]") {
  std::string const text = R"(
kernel @gemm(%A: in tensor<?x?xf32>, %B: in tensor<?x?xf32>, %C: out tensor<?x?xf32>) {
  %m = extent %C {axis = 0} : i64
  %n = extent %C {axis = 1} : i64
  %t = constant {value = 64 : i64} : i64
  %g0 = ceil_div %m, %t : i64
  %g1 = ceil_div %n, %t : i64
  grid %g0, %g1
  %i = block_index {axis = 0} : i64
  %j = block_index {axis = 1} : i64
  %i0 = mul %i, %t : i64
  %j0 = mul %j, %t : i64
  %k = extent %A {axis = 1} : i64
  %trips = ceil_div %k, %t : i64
  %lo = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %zero = constant {value = 0.0 : f32} : tile<64x64xf32>
  %acc = for %s = %lo to %trips step %one carry (%sum = %zero) : tile<64x64xf32> {
    %k0 = mul %s, %t : i64
    %a = load %A, %i0, %k0 : tile<64x64xf32>
    %b = load %B, %k0, %j0 : tile<64x64xf32>
    %next = dot %a, %b, %sum : tile<64x64xf32>
    yield %next
  }
  store %C, %acc, %i0, %j0
  return
}
)";
  CompiledKernel const kernel = compile(text, "x86-64-v3");
  REQUIRE(kernel.phases.size() == 2);
  CHECK(kernel.phases[0].blocks >= 0);
  CHECK(kernel.phases[1].blocks == -1);
  CHECK(kernel.workspace_bytes >= 0);
  // With FMA the micro-kernel is 6 x 16 on 256-bit vectors, 12 x 32 on 512-bit ones; without, products are rounded.
  CompileOptions options;
  options.architecture = "x86-64-v3";
  std::string const v3 = codegen::host_llvm_ir(parse(text), options, true);
  CHECK_THAT(v3, test::ContainsSubstring("multiply_6x16"));
  CHECK_THAT(v3, test::ContainsSubstring("llvm.fma.v8f32"));
  options.architecture = "x86-64-v2";
  CHECK_THAT(codegen::host_llvm_ir(parse(text), options, true), !test::ContainsSubstring("llvm.fma"));
}

std::string softmax_llvm(char const* architecture) {
  CompileOptions options;
  options.architecture = architecture;
  ir::Module const module = parse(R"(
kernel @softmax(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) {
  %n = extent %y {axis = 0} : i64
  %one = constant {value = 1 : i64} : i64
  grid %one, %n
  %i = block_index {axis = 1} : i64
  %z = constant {value = 0 : i64} : i64
  %v = load %x, %i, %z {pad = -inf : f32} : tile<1x1024xf32>
  %m = reduce %v {axis = 1, combine = max} : tile<1x1xf32>
  %mb = broadcast %m : tile<1x1024xf32>
  %d = sub %v, %mb : tile<1x1024xf32>
  %e = exp %d : tile<1x1024xf32>
  %s = reduce %e {axis = 1} : tile<1x1xf32>
  %sb = broadcast %s : tile<1x1024xf32>
  %q = div %e, %sb : tile<1x1024xf32>
  store %y, %q, %i, %z
  return
}
)");
  return codegen::host_llvm_ir(compiler::lower(module, options), options, true);
}

// Protects the loops over elements from integer divisions, which cost more than the rest of an iteration.
TEST_CASE("block indices are divided once, outside the loops over elements", "[host]") {
  std::string const text = softmax_llvm("x86-64-v3");
  CHECK_THAT(text, !test::ContainsSubstring("urem"));
  std::istringstream lines(text);
  std::string block;
  int divisions = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != ' ' && line.find(':') != std::string::npos) block = line;
    if (line.find(" udiv ") == std::string::npos) continue;
    ++divisions;
    INFO(block << '\n' << line);
    CHECK(block.compare(0, 4, "then") == 0);
  }
  CHECK(divisions <= 2);
}

// Protects vectors from code for a lesser CPU: it gives the same bits, but slower, so no other test sees it.
TEST_CASE("code of exp and of quotients uses the vector instructions of each x86-64 level", "[host]") {
  std::string const v4 = softmax_llvm("x86-64-v4");
  CHECK_THAT(v4, test::ContainsSubstring("llvm.x86.avx512.mask.scalef.ps.512"));
  CHECK_THAT(v4, !test::ContainsSubstring("ashr"));  // no other scaling is left
  // One exact reduction in each of the two copies of the exponential, two corrections of two steps of each quotient.
  std::string const v3 = softmax_llvm("x86-64-v3");
  CHECK_THAT(v3, test::ContainsSubstring("llvm.fma.v8f32") && !test::ContainsSubstring("scalef"));
  CHECK_THAT(v3, test::ContainsSubstring("ashr <8 x i32>"));
  CHECK_THAT(softmax_llvm("x86-64-v2"), !test::ContainsSubstring("llvm.fma"));
}

}  // namespace
