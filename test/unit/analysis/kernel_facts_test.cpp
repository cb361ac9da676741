// Tests facts of kernels with hand-written layouts, so that each figure is known.
#include <fmt/format.h>

#include "analysis/kernel_facts.hpp"

#include "analysis/register_pressure.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "support/catch.hpp"

using namespace tegula;

namespace {

using Kind = MemoryAccessFacts::Kind;

KernelFacts facts_of(std::string const& parameters, std::string const& body, int warps = 1) {
  auto const parsed =
      ir::parse(fmt::format("tegula-ir 1\n"
                            "kernel @k({}) warps = {} {{\n"
                            "  %k0 = constant {{value = 0 : i64}} : i64\n"
                            "{}  return\n"
                            "}}\n",
                            parameters, warps, body));
  INFO(parsed.diagnostics.str());
  REQUIRE(parsed.ok());
  REQUIRE(ir::verify(parsed.module, &parsed.positions).str() == "");
  return analysis::kernel_facts(parsed.module.kernel());
}

std::string const wide = "[register (1) (2), lane (4) (8) (16) (32) (64)]";
std::string const narrow = "[register (32) (64), lane (1) (2) (4) (8) (16)]";
std::string const scattered = "[register (1) (2), lane (64) (32) (16) (8) (4)]";

std::string copy(std::string const& layout, int vector) {
  std::string const with = vector == 0 ? "" : fmt::format(" {{vector = {}}}", vector);
  return "  %x = load %a, %k0" + with + " : tile<128xf32, " + layout + ">\n  store %b, %x, %k0" + with + "\n";
}

/// Moves one warp's 32x32 tile through shared memory, a row per register on the way in, a column on the way out.
std::string transposition(std::string const& memory) {
  std::string const rows = "[register (1,0) (2,0) (4,0) (8,0) (16,0), lane (0,1) (0,2) (0,4) (0,8) (0,16)]";
  std::string const columns = "[register (0,1) (0,2) (0,4) (0,8) (0,16), lane (1,0) (2,0) (4,0) (8,0) (16,0)]";
  return "  %s = buffer_alloc {align = 1024, offset = 0} : shared<32x32xf32, " + memory + ">\n" +
         "  %x = load %a, %k0, %k0 : tile<32x32xf32, " + rows + ">\n  buffer_store %s, %x\n  barrier\n" +
         "  %y = buffer_load %s : tile<32x32xf32, " + columns + ">\n  store %b, %y, %k0, %k0\n";
}

std::string const vectors =
    "%a: in tensor<?xf32> {unit_inner, aligned_16}, %b: out tensor<?xf32> {unit_inner, aligned_16}";
std::string const matrices =
    "%a: in tensor<?x?xf32> {unit_inner, aligned_16}, %b: out tensor<?x?xf32> {unit_inner, aligned_16}";

}  // namespace

TEST_CASE("facts: whole sectors are touched once by neighbouring lanes, at any width", "[N14]") {
  for (auto const& [layout, vector, bytes] :
       {std::tuple(wide, 4, 16), std::tuple(wide, 2, 8), std::tuple(narrow, 0, 4), std::tuple(scattered, 4, 16)}) {
    INFO(layout << " " << vector);
    KernelFacts const facts = facts_of(vectors, copy(layout, vector));
    REQUIRE(facts.accesses.size() == 2);
    CHECK(facts.accesses[0].kind == Kind::load);
    CHECK(facts.accesses[0].memory == "a");
    CHECK(facts.accesses[1].kind == Kind::store);
    CHECK(facts.accesses[1].memory == "b");
    for (MemoryAccessFacts const& access : facts.accesses) {
      CHECK(access.bytes == bytes);
      CHECK(access.cost == 16);
      CHECK(access.min == 16);
    }
    CHECK(facts.wasted_sectors() == 0);
    CHECK(facts.narrowest_access() == bytes);
  }
}

TEST_CASE("facts: elements apart from each other waste sectors", "[N14]") {
  SECTION("no unit stride: a sector an element") {
    KernelFacts const facts = facts_of("%a: in tensor<?xf32>, %b: out tensor<?xf32>", copy(wide, 0));
    CHECK(facts.accesses.at(0).cost == 128);
    CHECK(facts.accesses.at(0).min == 16);
    CHECK(facts.wasted_sectors() == 2 * (128 - 16));
  }
  SECTION("a column: a sector a row") {
    std::string const column = "tile<32x1xf32, [lane (1,0) (2,0) (4,0) (8,0) (16,0)]>";
    KernelFacts const facts =
        facts_of(matrices, "  %x = load %a, %k0, %k0 : " + column + "\n  store %b, %x, %k0, %k0\n");
    CHECK(facts.accesses.at(0).cost == 32);
    CHECK(facts.accesses.at(0).min == 4);
  }
  SECTION("copies of an element are loaded from one sector and stored by one owner") {
    std::string const one = "tile<8xf32, [lane (1) (2) (4) (0) (0)]>";
    KernelFacts const facts = facts_of(vectors, "  %x = load %a, %k0 : " + one + "\n  store %b, %x, %k0\n");
    CHECK(facts.accesses.at(0).cost == 1);
    CHECK(facts.accesses.at(1).cost == 1);
    CHECK(facts.wasted_sectors() == 0);
  }
}

TEST_CASE("facts: the swizzle removes the bank conflicts of a transposition", "[N14]") {
  KernelFacts const dense = facts_of(matrices, transposition("dense"));
  KernelFacts const swizzled = facts_of(matrices, transposition("swizzled(128)"));
  REQUIRE(dense.accesses.size() == 4);
  CHECK(dense.accesses[1].kind == Kind::buffer_store);
  CHECK(dense.accesses[1].memory == "s");
  CHECK(dense.accesses[1].cost == dense.accesses[1].min);
  // 16-byte vectors along a row of 128 bytes: the 8 lanes of a group meet in the same four banks.
  CHECK(dense.accesses[2].kind == Kind::buffer_load);
  CHECK(dense.accesses[2].bytes == 16);
  CHECK(dense.accesses[2].min == 32);
  CHECK(dense.accesses[2].cost == 8 * 32);
  CHECK(dense.bank_conflicts() == 7 * 32);
  CHECK(swizzled.accesses[2].bytes == 16);
  CHECK(swizzled.bank_conflicts() == 0);
}

TEST_CASE("facts: matrix moves count as 16 bytes a thread without conflicts", "[N14]") {
  KernelFacts const facts =
      facts_of("%a: in tensor<?x?xbf16> {unit_inner, aligned_16}",
               "  %s = buffer_alloc {align = 1024, offset = 0} : shared<64x64xbf16, swizzled(128)>\n"
               "  %x = load %a, %k0, %k0 : tile<64x64xbf16, wgmma>\n  buffer_store %s, %x\n",
               4);
  CHECK(facts.accesses.at(1).bytes == 16);
  CHECK(facts.bank_conflicts() == 0);
  CHECK(facts.warps == 4);
}

TEST_CASE("facts: a wait is exposed when no work runs between it and its operation", "[N14]") {
  auto const loop = [](std::string const& between, std::string const& pending) {
    std::string const rows = "tile<64x16xf32, wgmma>";
    return facts_of("%a: in tensor<?x?xf32> {unit_inner, aligned_16}, %n: i64",
                    "  %s = buffer_alloc {align = 1024, offset = 0} : shared<64x64xbf16, swizzled(128)>\n"
                    "  %t = buffer_alloc {align = 1024, offset = 8192} : shared<64x16xbf16, swizzled(32)>\n"
                    "  %k1 = constant {value = 1 : i64} : i64\n"
                    "  %zero = constant {value = 0 : f32} : " +
                        rows + "\n  for %i = %k0 to %n step %k1 {\n    wgmma_fence\n" +
                        "    %d = wgmma %s, %t : pending<64x16xf32, wgmma>\n    wgmma_commit\n" + between +
                        "    %r = wgmma_wait %d {pending = " + pending + "} : " + rows + "\n    yield\n  }\n",
                    4)
        .exposed_waits;
  };
  std::string const work = "    %x = load %a, %k0, %k0 : tile<64x16xf32, wgmma>\n";
  CHECK(loop("", "0") == 1);
  CHECK(loop("    %j = add %i, %k1 : i64\n", "0") == 1);
  CHECK(loop(work, "0") == 0);
}

TEST_CASE("facts: registers follow the live ranges of values", "[N14]") {
  // x, y and their sum: x and y at once, then the sum alone.
  constexpr int of_tile = 32;
  std::string const tile = "tile<1024xf32, [register (1) (2) (128) (256) (512), lane (4) (8) (16) (32) (64)]>";
  auto const load = [&](std::string const& name) { return "  %" + name + " = load %a, %k0 : " + tile + "\n"; };
  std::string const add = "  %z = add %x, %y : " + tile + "\n";
  int const one = facts_of(vectors, load("x") + "  store %b, %x, %k0\n").registers_estimated;
  int const two = facts_of(vectors, load("x") + load("y") + add + "  store %b, %z, %k0\n").registers_estimated;
  CHECK(one > of_tile);
  CHECK(two == one + of_tile);
  // A loop keeps the values that it reads or carries until its end.
  std::string const parameters = vectors + ", %n: i64";
  std::string const loop = "  %k1 = constant {value = 1 : i64} : i64\n" + load("x") + load("y") +
                           "  %r = for %i = %k0 to %n step %k1 carry (%c = %y) : " + tile +
                           " {\n    %z = add %c, %x : " + tile + "\n    yield %z\n  }\n  store %b, %r, %k0\n";
  int const scalars = 2 * 2;  // n and i, or less
  int const looped = facts_of(parameters, loop).registers_estimated;
  CHECK(looped > two);
  CHECK(looped <= two + scalars);
  CHECK(analysis::registers_of(ir::Type::scalar(Element::i64)) == 2);
  CHECK(analysis::registers_of(ir::Type::scalar(Element::f16)) == 1);
}
