// Tests the reading of the assembler's real logs (ptxas 13.0).
#include <fmt/format.h>

#include <string>

#include "runtime/cuda/ptxas.hpp"
#include "runtime/cuda/ptxas_log.hpp"
#include "support/catch.hpp"
#include "support/diagnostics.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::runtime::cuda;
using support::NotePolicy;
using tegula::test::ContainsSubstring;

namespace {

constexpr char const* clean_log = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'good' for 'sm_90a'
ptxas info    : Function properties for good
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 34 registers, used 0 barriers
ptxas info    : Compile time = 3.606 ms
)";

constexpr char const* serialised_log =
    R"(ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources for the wgmma pipeline in the function 'gemm'
ptxas info    : (C7519) warpgroup.arrive is injected in around line 18 by compiler to allow use of registers in GMMA in function 'gemm'
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'gemm' for 'sm_90a'
ptxas info    : Function properties for gemm
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 42 registers, used 2 barriers, 4096 bytes smem
ptxas info    : Compile time = 8.166 ms
)";

constexpr char const* spilling_log = R"(ptxas info    : 0 bytes gmem, 16 bytes cmem[4]
ptxas info    : Compiling entry function 'spill' for 'sm_90a'
ptxas info    : Function properties for spill
    712 bytes stack frame, 700 bytes spill stores, 696 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers, 712 bytes cumulative stack size
ptxas info    : Compile time = 175.984 ms
ptxas info    : Function properties for g
    16 bytes stack frame, 16 bytes spill stores, 16 bytes spill loads
)";

constexpr char const* ignored_log =
    R"(ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.
ptxas /tmp/x.ptx, line 32; warning : a warning without a code
ptxas fatal   : (C7602) Insufficient registers (128) to compile instruction at line 139 in function toobig. Try to compile with register target of 154 or higher.
ptxas fatal   : Ptx assembly aborted due to errors
)";

/// Writes one wgmma into f0..f7, its descriptors made up; `fence` stands before it.
std::string wgmma_ptx(std::string const& fence) {
  std::string ptx =
      ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry one(.param .u64 p0, .param .u64 p1)\n"
      ".maxntid 128\n{\n.reg .f32 f<8>;\n.reg .b64 d<2>;\nld.param.u64 d0, [p0];\nld.param.u64 d1, [p1];\n";
  for (char i = '0'; i < '8'; ++i) ptx += std::string("mov.f32 f") + i + ", 0f00000000;\n";
  ptx += fence +
         "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {f0,f1,f2,f3,f4,f5,f6,f7}, d1, d1, 1, 1, 1, 0, 0;\n"
         "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
  for (char i = '0'; i < '8'; ++i) ptx += fmt::format("st.global.f32 [d0+{}], f{};\n", 4 * (i - '0'), i);
  return ptx + "ret;\n}\n";
}

}  // namespace

TEST_CASE("the assembler's figures are read, and idle lines are not notes") {
  AssemblyReport const clean = parse_assembly_log(clean_log);
  CHECK(clean.registers == 34);
  CHECK(clean.barriers == 0);
  CHECK(clean.shared_bytes == 0);
  CHECK_FALSE(clean.spills());
  CHECK(clean.notes.empty());
  AssemblyReport const spilling = parse_assembly_log(spilling_log);
  CHECK(spilling.registers == 64);
  CHECK(spilling.barriers == 1);
  CHECK(spilling.stack_bytes == 728);
  CHECK(spilling.spill_store_bytes == 716);
  CHECK(spilling.spill_load_bytes == 712);
  CHECK(spilling.spills());
  CHECK(spilling.notes.empty());
  CHECK(parse_assembly_log("").notes.empty());
  AssemblyReport const driver =
      parse_assembly_log("info    : 0 bytes gmem\r\ninfo    : Used 12 registers, used 0 barriers\n");
  CHECK(driver.registers == 12);
  CHECK(driver.notes.empty());
}

TEST_CASE("the assembler's notes are read with their codes") {
  AssemblyReport const serialised = parse_assembly_log(serialised_log);
  CHECK(serialised.registers == 42);
  CHECK(serialised.barriers == 2);
  CHECK(serialised.shared_bytes == 4096);
  REQUIRE(serialised.notes.size() == 2);
  CHECK(serialised.notes[0].code == "C7511");
  CHECK_THAT(serialised.notes[0].text, ContainsSubstring("serialized due to insufficient register resources"));
  CHECK(serialised.notes[1].code == "C7519");
  CHECK(is_grave(serialised.notes[0]));
  AssemblyReport const ignored = parse_assembly_log(ignored_log);
  REQUIRE(ignored.notes.size() == 4);
  CHECK(ignored.notes[0].code == "C7508");
  CHECK(ignored.notes[1] == AssemblyNote{"", "a warning without a code"});
  CHECK_FALSE(is_grave(ignored.notes[1]));
  CHECK(ignored.notes[2].code == "C7602");
  CHECK(is_grave(ignored.notes[2]));
  CHECK(ignored.notes[3] == AssemblyNote{"", "Ptx assembly aborted due to errors"});
}

TEST_CASE("notes of serialised wgmma and spills are warnings, and errors on request") {
  support::Options options;
  CHECK_NOTHROW(enforce(options, "gemm", clean_log));
  static std::string warned;
  support::WarningHandler const former = support::set_warning_handler([](std::string_view text) { warned = text; });
  CHECK_NOTHROW(enforce(options, "gemm", serialised_log));
  CHECK_THAT(warned, ContainsSubstring("kernel gemm: the assembler reports: (C7511) Potential") &&
                         ContainsSubstring("; the code is right, but slower"));
  options.ptxas_notes = NotePolicy::error;
  CHECK_THROWS_AS(enforce(options, "gemm", serialised_log), InternalError);
  CHECK_THROWS_WITH(enforce(options, "gemm", serialised_log),
                    ContainsSubstring("kernel gemm: the assembler reports: (C7511) Potential") &&
                        ContainsSubstring("; (C7519) warpgroup.arrive is injected") &&
                        ContainsSubstring("TEGULA_PTXAS_NOTES=warn"));
  CHECK_NOTHROW(enforce(options, "spill", spilling_log, LargestTile{"128x256xf32", 3, "attention.cpp", 41}));
  CHECK_THAT(warned, ContainsSubstring("716 of spill stores and 712 of spill loads; most registers hold 128x256xf32 "
                                       "(attention.cpp:41)"));
  support::set_warning_handler(former);
  options.ptxas_spills = NotePolicy::error;
  CHECK_THROWS_WITH(enforce(options, "spill", spilling_log),
                    "kernel spill: with 64 registers the code has 728 bytes of stack frames, 716 of spill stores and "
                    "712 of spill loads; TEGULA_PTXAS_SPILLS=warn accepts the code");
  options.ptxas_notes = NotePolicy::ignore;
  CHECK_NOTHROW(enforce(options, "gemm", serialised_log));
}

TEST_CASE("products that wait for each other because of a call are a warning: the kernel's author asked for it") {
  support::Options options;
  options.ptxas_notes = NotePolicy::error;
  std::string const log =
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to wgmma "
      "pipeline crossing function boundary at a function call in the function 'gemm'\n";
  CHECK(is_of_a_call(parse_assembly_log(log).notes[0]));
  CHECK_FALSE(is_of_a_call(parse_assembly_log(serialised_log).notes[0]));
  CHECK_NOTHROW(enforce(options, "gemm", log));
  CHECK_THROWS_WITH(enforce(options, "gemm", log + serialised_log), ContainsSubstring("(C7511)"));
}

TEST_CASE("a wgmma without its fence is found in the log of the installed ptxas") {
  support::Options options;
  options.ptxas_notes = NotePolicy::error;
  if (find_ptxas(options).empty()) TEGULA_SKIP("no ptxas in PATH");
  std::string const right = assemble(options, wgmma_ptx("wgmma.fence.sync.aligned;\n"), "sm_90a", "one").log;
  CHECK(parse_assembly_log(right).notes.empty());
  CHECK(parse_assembly_log(right).registers > 0);
  CHECK_NOTHROW(enforce(options, "one", right));
  std::string const wrong = assemble(options, wgmma_ptx(""), "sm_90a", "one").log;
  CHECK_THROWS_WITH(enforce(options, "one", wrong), ContainsSubstring("(C7519)"));
}
