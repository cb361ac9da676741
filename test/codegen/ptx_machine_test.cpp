// Tests the machine that runs PTX: values by the PTX ISA's tables, and refusals of all that it does not compute.
#include <fmt/format.h>

#include "codegen/ptx_machine.hpp"
#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Runs instructions in one thread and returns the 64 bits of %rd9 after them. %rd1 .. %rd3, as which a test may read
/// them under any name of a register, hold the inputs.
std::uint64_t run(std::string const& instructions, std::vector<std::uint64_t> const& inputs = {}) {
  std::uint64_t result = 0;
  std::string text = ".visible .entry k(\n";
  for (int i = 0; i < 4; ++i) text += fmt::format("\t.param .u64 k_param_{}{}", i, i < 3 ? ",\n" : "\n");
  text += ")\n{\n\tld.param.u64 \t%rd0, [k_param_0];\n";
  for (std::size_t i = 0; i < inputs.size(); ++i)
    text += fmt::format("\tld.param.u64 \t%rd{}, [k_param_{}];\n", i + 1, i + 1);
  text += "\t" + instructions + "\n\tst.global.b64 \t[%rd0], %rd9;\n\tret;\n}\n";
  PtxMachine machine(text);
  machine.allow(&result, sizeof result, true);
  std::vector<std::uint64_t> parameters = {reinterpret_cast<std::uint64_t>(&result)};
  parameters.insert(parameters.end(), inputs.begin(), inputs.end());
  parameters.resize(4);
  machine.run_cta(1, 0, parameters, {0, 0, 0});
  return result;
}

std::uint64_t f32(float value) { return std::bit_cast<std::uint32_t>(value); }
std::uint64_t f64(double value) { return std::bit_cast<std::uint64_t>(value); }
std::uint64_t cut_u32(std::uint64_t value) { return value & 0xFFFFFFFF; }
constexpr std::uint64_t s32(std::int32_t value) { return static_cast<std::uint32_t>(value); }

}  // namespace

TEST_CASE("the PTX machine extracts fields with their sign", "[ptx]") {
  auto const bfe = [](char const* type, std::uint64_t from, std::uint64_t first, std::uint64_t count) {
    return run(std::string("bfe.") + type + " \t%rd9, %rd1, %rd2, %rd3;", {from, first, count});
  };
  CHECK(bfe("u32", 0xF80, 4, 8) == 0xF8);
  CHECK(bfe("s32", 0xF80, 4, 8) == 0xFFFFFFF8);
  CHECK(bfe("s32", 0x780, 4, 8) == 0x78);
  CHECK(bfe("s32", 0x80000000, 28, 8) == 0xFFFFFFF8);
  CHECK(bfe("u32", 0x80000000, 28, 8) == 8);
  CHECK(bfe("s32", 0xFFFFFFFF, 3, 0) == 0);
  CHECK(bfe("u32", 0xFFFFFFFF, 40, 4) == 0);
  CHECK(bfe("s32", 0xFFFFFFFF, 40, 4) == 0xFFFFFFFF);
  CHECK(bfe("s64", std::uint64_t{1} << 63, 60, 4) == ~std::uint64_t{7});
}

TEST_CASE("the PTX machine shifts by the lower 32 bits of an amount, and clamps them", "[ptx]") {
  auto const shift = [](char const* op, std::uint64_t value, std::uint64_t amount) {
    return run(std::string(op) + " \t%rd9, %rd1, %rd2;", {value, amount});
  };
  CHECK(shift("shl.b64", 1, 63) == std::uint64_t{1} << 63);
  CHECK(shift("shl.b64", 1, 64) == 0);
  CHECK(shift("shl.b64", 1, (std::uint64_t{1} << 32) + 5) == 32);
  CHECK(shift("shl.b32", 1, 32) == 0);
  CHECK(shift("shr.u64", ~std::uint64_t{0}, 0xFFFFFFFF) == 0);
  CHECK(shift("shr.s64", std::uint64_t{1} << 63, 200) == ~std::uint64_t{0});
  CHECK(shift("shr.s32", 0x80000000, 4) == 0xF8000000);
  CHECK(run("shf.l.clamp.b32 \t%rd9, %rd1, %rd2, %rd3;", {5, 9, 32}) == 5);
  CHECK(run("shf.l.wrap.b32 \t%rd9, %rd1, %rd2, %rd3;", {5, 9, 32}) == 9);
  CHECK(run("shf.r.wrap.b32 \t%rd9, %rd1, %rd2, %rd3;", {0x33221100, 0x77665544, 40}) == 0x44332211);
  CHECK(run("lop3.b32 \t%rd9, %rd1, %rd2, %rd3, 106;", {0xabcd, 0xf0, 0x4b000080}) == 0x4b000040);
  CHECK(run("prmt.b32.f4e \t%rd9, %rd1, %rd2, %rd3;", {0x33221100, 0x77665544, 6}) == 0x55443322);
}

TEST_CASE("the PTX machine clamps floats to the range of the integer type", "[ptx]") {
  auto const cvt = [](std::string const& types, std::uint64_t value) {
    return run("cvt." + types + " \t%rd9, %rd1;", {value});
  };
  CHECK(cvt("rzi.u64.f64", f64(1.5e19)) == 15000000000000000000U);
  CHECK(cvt("rzi.u64.f64", f64(1e20)) == ~std::uint64_t{0});
  CHECK(cvt("rzi.u64.f64", f64(-3)) == 0);
  CHECK(cvt("rzi.u64.f32", f32(9.3e18F)) == static_cast<std::uint64_t>(9.3e18F));
  CHECK(cvt("rzi.u32.f32", f32(4e9F)) == 4000000000U);
  CHECK(cvt("rzi.u32.f32", f32(5e9F)) == 0xFFFFFFFF);
  CHECK(cut_u32(cvt("rzi.s32.f32", f32(-5e9F))) == 0x80000000);
  CHECK(cut_u32(cvt("rzi.s32.f64", f64(-7.9))) == s32(-7));
  CHECK(cvt("rzi.s64.f64", f64(1e19)) == 0x7FFFFFFFFFFFFFFF);
  CHECK(cvt("rni.s32.f32", f32(2.5F)) == 2);
  CHECK(cvt("rpi.s32.f32", f32(2.25F)) == 3);
  CHECK(cvt("rmi.u32.f32", f32(2.75F)) == 2);
  CHECK(cvt("rzi.s32.f32", 0x7FC00000) == 0);
  CHECK(cvt("rzi.u64.f32", 0x7FC00000) == std::uint64_t{1} << 63);
}

TEST_CASE("the PTX machine rounds integers to floats once", "[ptx]") {
  auto const cvt = [](std::string const& types, std::uint64_t value) {
    return run("cvt." + types + " \t%rd9, %rd1;", {value});
  };
  CHECK(cvt("rn.f32.u64", ~std::uint64_t{0}) == f32(0x1p64F));
  CHECK(cvt("rn.f32.s64", ~std::uint64_t{0}) == f32(-1));
  CHECK(cvt("rn.f64.u64", (std::uint64_t{1} << 63) + 1025) == f64(0x1p63 + 2048));
  CHECK(cvt("rn.f32.u64", (std::uint64_t{1} << 63) + (std::uint64_t{1} << 39) + 1) == f32(0x1p63F + 0x1p40F));
  CHECK(cvt("rn.f32.s64", static_cast<std::uint64_t>(-((std::int64_t{1} << 62) + (std::int64_t{1} << 38) + 1))) ==
        f32(-(0x1p62F + 0x1p39F)));
  CHECK(cvt("rn.bf16.u64", (std::uint64_t{1} << 63) + (std::uint64_t{1} << 55) + 1) == bf16_bits(0x1p63 + 0x1p56));
  CHECK(cvt("rn.f16.s32", s32(-2049)) == f16_bits(-2048));
  CHECK(cvt("rz.f32.f64", f64(1 + 0x1.8p-23)) == f32(1 + 0x1p-23F));
  CHECK(cvt("rna.tf32.f32", f32(1 + 0x1p-11F)) == f32(1 + 0x1p-10F));
}

TEST_CASE("the PTX machine converts integers and floats of 8 bits", "[ptx]") {
  auto const cvt = [](std::string const& types, std::uint64_t value) {
    return run("cvt." + types + " \t%rd9, %rd1;", {value});
  };
  CHECK(cut_u32(cvt("s32.s8", 0x1F0)) == s32(-16));
  CHECK(cvt("u32.u8", 0x1F0) == 0xF0);
  CHECK((cvt("s8.s32", 0x1F0) & 0xFFFF) == 0xFFF0);
  CHECK(cvt("u8.u32", 0x1F0) == 0xF0);
  auto const pair = [](std::string const& type, float high, float low) {
    return run("cvt.rn.satfinite." + type + "x2.f32 \t%rd9, %rd1, %rd2;", {f32(high), f32(low)});
  };
  CHECK(pair("e4m3", 1, -2) == (e4m3_bits(1) << 8 | e4m3_bits(-2)));
  CHECK(pair("e4m3", 1e9F, 449) == (e4m3_bits(448) << 8 | e4m3_bits(448)));
  CHECK(pair("e5m2", 0.3F, 57344) == (e5m2_bits(0.3F) << 8 | e5m2_bits(57344)));
  CHECK(cvt("rn.f16x2.e4m3x2", e4m3_bits(-1.5) << 8 | e4m3_bits(448)) ==
        (std::uint64_t{f16_bits(-1.5)} << 16 | f16_bits(448)));
  CHECK(cvt("rn.f16x2.e5m2x2", e5m2_bits(0.25) << 8 | e5m2_bits(-57344)) ==
        (std::uint64_t{f16_bits(0.25)} << 16 | f16_bits(-57344)));
}

TEST_CASE("the PTX machine takes minima and products by the table", "[ptx]") {
  CHECK(run("min.f32 \t%rd9, %rd1, %rd2;", {f32(0), f32(-0.0F)}) == f32(-0.0F));
  CHECK(run("max.f32 \t%rd9, %rd1, %rd2;", {f32(-0.0F), f32(0)}) == f32(0));
  CHECK(run("max.f32 \t%rd9, %rd1, %rd2;", {0x7FC00000, f32(3)}) == f32(3));
  CHECK(run("min.f32 \t%rd9, %rd1, %rd2;", {0x7FC00000, 0x7FC00000}) == 0x7FFFFFFF);
  CHECK(run("ex2.approx.ftz.f32 \t%rd9, %rd1;", {f32(-130)}) == f32(0));
  CHECK(run("ex2.approx.f32 \t%rd9, %rd1;", {f32(-130)}) == f32(0x1p-130F));
  CHECK(run("mul.hi.s32 \t%rd9, %rd1, %rd2;", {s32(-3), 0x40000000}) == 0xFFFFFFFF);
  CHECK(run("mul.hi.u16 \t%rd9, %rd1, %rd2;", {0xFFFF, 0x8000}) == 0x7FFF);
  CHECK(run("abs.s64 \t%rd9, %rd1;", {std::uint64_t{1} << 63}) == std::uint64_t{1} << 63);
  CHECK(run("max.relu.s32 \t%rd9, %rd1, %rd2;", {s32(-3), s32(-7)}) == 0);
  CHECK(run("max.relu.s32 \t%rd9, %rd1, %rd2;", {s32(-3), s32(7)}) == 7);
  CHECK(run("min.relu.s32 \t%rd9, %rd1, %rd2;", {s32(5), s32(7)}) == 5);
  CHECK(run("popc.b32 \t%rd9, %rd1;", {0x1F0000F01}) == 9);
}

TEST_CASE("the PTX machine refuses forms that it does not compute", "[ptx]") {
  for (char const* text : {"add.sat.s32 \t%rd9, %rd1, %rd2;",
                           "add.rz.f32 \t%rd9, %rd1, %rd2;",
                           "add.cc.u32 \t%rd9, %rd1, %rd2;",
                           "mul24.lo.s32 \t%rd9, %rd1, %rd2;",
                           "min.NaN.f32 \t%rd9, %rd1, %rd2;",
                           "fma.rn.relu.f16 \t%rd9, %rd1, %rd2, %rd3;",
                           "fma.rn.f16 \t%rd9, %rd1, %rd2, %rd3;",
                           "add.f16x2 \t%rd9, %rd1, %rd2;",
                           "cvt.sat.s8.s32 \t%rd9, %rd1;",
                           "cvt.rzi.sat.s32.f32 \t%rd9, %rd1;",
                           "cvt.s32.f32 \t%rd9, %rd1;",
                           "cvt.rz.f16.f32 \t%rd9, %rd1;",
                           "cvt.rn.relu.f16.f32 \t%rd9, %rd1;",
                           "cvt.rz.f32.u32 \t%rd9, %rd1;",
                           "cvt.rn.e4m3x2.f32 \t%rd9, %rd1, %rd2;",
                           "cvt.rn.satfinite.e4m3x2.f16x2 \t%rd9, %rd1;",
                           "prmt.b32.b4e \t%rd9, %rd1, %rd2, %rd3;",
                           "setp.lt.and.s32 \t%rd9, %rd1, %rd2, %rd3;",
                           "setp.lt.ftz.f32 \t%rd9, %rd1, %rd2;",
                           "bfind.u32 \t%rd9, %rd1;",
                           "max.relu.s64 \t%rd9, %rd1, %rd2;",
                           "mov.b64 \t%rd9, %clock64;",
                           "mov.u32 \t%rd9, %ntid.x;",
                           "ld.local.b64 \t%rd9, [%rd0];",
                           "ld.b64 \t%rd9, [%rd0];",
                           "shfl.sync.up.b32 \t%rd9, %rd1, 1, 0, -1;",
                           "bar.arrive \t1, 64;"}) {
    INFO(text);
    CHECK_THROWS_WITH(run(text, {1, 2, 3}), ContainsSubstring("the machine does not"));
  }
}
