#include "support/environment.hpp"

#include <fmt/format.h>

#include "support/string_buffer.hpp"
#include "tegula/support/error.hpp"

namespace tegula::support {
namespace {

constexpr EnvironmentVariable table[] = {
    {"TEGULA_DUMP", read_dump, "",
     "item{,item}; item: ir | ir-before=<pass> | ir-after=<pass> | ir-after=all | llvm | asm | ptx | "
     "launch | key | all",
     "writes the state of a compilation at the named points"},
    {"TEGULA_DUMP_KERNEL", read_text<&Options::dump_kernel>, "", "<kernel name>", "dumps this kernel only"},
    {"TEGULA_DUMP_DIR", read_text<&Options::dump_dir>, "", "<folder>",
     "dumps go to files of this folder instead of standard error"},
    {"TEGULA_OVERRIDE_DIR", read_text<&Options::override_dir>, "", "<folder>",
     "an edited dump in this folder is read back after its pass"},
    {"TEGULA_REPLAY_DIR", read_text<&Options::replay_dir>, "", "<folder>",
     "folder for the replay file of a failed compilation"},
    {"TEGULA_VERIFY", read_word<&Options::verify_each, each_or_off>, "off", "each | off",
     "each: the IR is verified after every pass, and every launch traces its kernel again"},
    {"TEGULA_TIME", read_word<&Options::time_passes, passes_or_off>, "off", "passes | off",
     "passes: prints the time of every pass"},
    {"TEGULA_ARITHMETIC", read_arithmetic, "free", "free | uncontracted | exact",
     "exact: launches keep every rounding as written; uncontracted: products are rounded before they are added; free: "
     "the licences of lib/doc/arithmetic.md are used"},
    {"TEGULA_ASSERTS", read_asserts, "on", "on | off | all",
     "off: kernels run without their device_asserts; all: GPUs also check the stated ranges of loaded scalars"},
    {"TEGULA_CHECKS", read_checks, "", "check{,check}; check: bounds | overflow | nan | all",
     "launches check indices, arithmetic on indices and floats, as asserts with the source line "
     "(lib/doc/debugging.md)"},
    {"TEGULA_ADVICE", read_word<&Options::advice, on_or_off>, "off", "on | off",
     "on: the first launch of each kernel prints what limits it, the share of that limit that is expected, and "
     "remedies; "
     "launches are timed, and explain adds the measured share (lib/doc/advice.md)"},
    {"TEGULA_LINES", read_word<&Options::lines, on_or_off>, "off", "on | off",
     "on: compiled kernels name the user's functions and lines, for gdb, cuda-gdb and profilers "
     "(lib/doc/debugging.md)"},
    {"TEGULA_SIMULATE", read_simulate, "0",
     "0 | 1 | seed:<n> | latest[:<n>] | earliest[:<n>] | starve:<warp> | choices:<n>,<n>,... | timed",
     "1: every launch runs in the simulator, whole tiles, block by block; a schedule: the kernel after the GPU passes "
     "runs there, warp by warp; races, deadlocks and other findings fail the launch "
     "(lib/doc/memory_model.md)"},
    {"TEGULA_PROFILE", read_profile, "off",
     "off | on | shared | device[:item{,item}]; item: user | compiler | circular | warp | warpgroup | cta | "
     "slots=<n> | rows=<n>",
     "records of every launch are kept in shared or device (on) memory and written at the end of the process: "
     "a Chrome trace, a page with a timeline and a summary of each kernel (lib/doc/profiling.md)"},
    {"TEGULA_PROFILE_DIR", read_text<&Options::profile_dir>, "tegula-profile", "<folder>",
     "folder of those files; tegula-profile if not given"},
    {"TEGULA_THREADS", read_integer<&Options::threads, 1, 1024>, "", "<count from 1 to 1024>",
     "threads of the host executor, the calling one included"},
    {"TEGULA_HOST_CPU", read_text<&Options::host_cpu>, "", "<CPU name of LLVM, such as x86-64-v3>",
     "host kernels are compiled for this CPU in place of the machine's own; it must run its instructions"},
    {"TEGULA_DEVICE", read_device, "", "host | cuda | cuda:<number> | debug",
     "the result of device::best(); debug: the host, and every launch calls its lambda block by block for a debugger "
     "(lib/doc/debugging.md)"},
    {"TEGULA_ARCH", read_text<&Options::arch>, "", "<architecture, such as sm_80>",
     "GPU kernels are compiled for this architecture, which the GPU must run, in place of its best one; simulators "
     "take "
     "it, too"},
    {"TEGULA_CACHE_DIR", read_text<&Options::cache_dir>, "", "<folder>",
     "folder of the cache of compiled kernels; must belong to the user alone; where it holds other files, its "
     "sub-folder tegula-cache"},
    {"TEGULA_CACHE", read_word<&Options::cache, cache_modes>, "on", "on | off | read-only",
     "on: compiled kernels are kept on disk"},
    {"TEGULA_CACHE_LIMIT", read_cache_limit, "1G", "<bytes>[K | M | G] | none",
     "bytes of compiled kernels on disk, 1G if not given; those used least recently are removed"},
    {"TEGULA_ASSEMBLER", read_word<&Options::assembler, assemblers>, "auto", "auto | driver | ptxas",
     "the program that turns PTX into machine code; auto: ptxas if found, else the driver"},
    {"TEGULA_PTXAS", read_text<&Options::ptxas>, "", "<path>", "the ptxas to use instead of the one in PATH"},
    {"TEGULA_PTXAS_NOTES", read_word<&Options::ptxas_notes, note_policies>, "warn", "error | warn | ignore",
     "the reaction when the assembler serialises wgmma or ignores setmaxnreg (its notes C75xx and C76xx): the code is "
     "right, "
     "but slower"},
    {"TEGULA_PTXAS_SPILLS", read_word<&Options::ptxas_spills, note_policies>, "warn", "error | warn | ignore",
     "the reaction when a GPU kernel has spills or stack frames; warn, of spills alone, if not given"},
    {"TEGULA_QUIET", read_quiet, "0", "0 | 1", "1: warnings are not printed"},
};

}  // namespace

std::span<EnvironmentVariable const> environment_table() { return table; }

std::string environment_help() {
  std::string text;
  for (EnvironmentVariable const& variable : table)
    text += fmt::format("{} = {}\n    {}\n", variable.name, variable.grammar, variable.meaning);
  return text;
}

void read_variable(EnvironmentVariable const& variable, std::string_view value, Options& options) {
  if (value.empty() || variable.read(value, options)) return;
  throw UserError(fmt::format("{}={}: not understood; grammar: {}", variable.name, quoted(value), variable.grammar));
}

}  // namespace tegula::support
