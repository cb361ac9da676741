#include "support/options.hpp"

#include <fmt/format.h>

#include <atomic>
#include <charconv>
#include <cstdlib>

#include "support/locks.hpp"
#include "support/string_buffer.hpp"
#include "tegula/support/error.hpp"

namespace tegula::support {
namespace {

constexpr EnvironmentVariable table[] = {
    {"TEGULA_DUMP",
     "item{,item}; item: ir | ir-before=<pass> | ir-after=<pass> | ir-after=all | llvm | asm | ptx | "
     "launch | key | all",
     "writes the state of a compilation at the named points"},
    {"TEGULA_DUMP_KERNEL", "<kernel name>", "dumps this kernel only"},
    {"TEGULA_DUMP_DIR", "<folder>", "dumps go to files of this folder instead of standard error"},
    {"TEGULA_OVERRIDE_DIR", "<folder>", "an edited dump in this folder is read back after its pass"},
    {"TEGULA_REPLAY_DIR", "<folder>", "folder for the replay file of a failed compilation"},
    {"TEGULA_VERIFY", "each | off",
     "each: the IR is verified after every pass, and every launch traces its kernel again"},
    {"TEGULA_TIME", "passes | off", "passes: prints the time of every pass"},
    {"TEGULA_ARITHMETIC", "free | uncontracted | exact",
     "exact: launches keep every rounding as written; uncontracted: products are rounded before they are added; free: "
     "the licences of lib/doc/arithmetic.md are used"},
    {"TEGULA_ASSERTS", "on | off | all",
     "off: kernels run without their device_asserts; all: GPUs also check the stated ranges of loaded scalars"},
    {"TEGULA_CHECKS", "check{,check}; check: bounds | overflow | nan | all",
     "launches check indices, arithmetic on indices and floats, as asserts with the source line "
     "(lib/doc/debugging.md)"},
    {"TEGULA_LINES", "on | off",
     "on: compiled kernels name the user's functions and lines, for gdb, cuda-gdb and profilers "
     "(lib/doc/debugging.md)"},
    {"TEGULA_SIMULATE",
     "0 | 1 | seed:<n> | latest[:<n>] | earliest[:<n>] | starve:<warp> | choices:<n>,<n>,... | timed",
     "1: every launch runs in the simulator, whole tiles, block by block; a schedule: the kernel after the GPU passes "
     "runs there, warp by warp; races, deadlocks and other findings fail the launch "
     "(lib/doc/memory_model.md)"},
    {"TEGULA_PROFILE",
     "off | on | shared | device[:item{,item}]; item: user | compiler | circular | warp | warpgroup | cta | "
     "slots=<n> | rows=<n>",
     "records of every launch are kept in shared or device (on) memory and written at the end of the process: "
     "a Chrome trace, a page with a timeline and a summary of each kernel (lib/doc/profiling.md)"},
    {"TEGULA_PROFILE_DIR", "<folder>", "folder of those files; tegula-profile if not given"},
    {"TEGULA_THREADS", "<count from 1 to 1024>", "threads of the host executor, the calling one included"},
    {"TEGULA_HOST_CPU", "<CPU name of LLVM, such as x86-64-v3>",
     "host kernels are compiled for this CPU in place of the machine's own; it must run its instructions"},
    {"TEGULA_DEVICE", "host | cuda | cuda:<number> | debug",
     "the result of device::best(); debug: the host, and every launch calls its lambda block by block for a debugger "
     "(lib/doc/debugging.md)"},
    {"TEGULA_CACHE_DIR", "<folder>",
     "folder of the cache of compiled kernels; must belong to the user alone; where it holds other files, its "
     "sub-folder tegula-cache"},
    {"TEGULA_CACHE", "on | off | read-only", "on: compiled kernels are kept on disk"},
    {"TEGULA_CACHE_LIMIT", "<bytes>[K | M | G] | none",
     "bytes of compiled kernels on disk, 1G if not given; those used least recently are removed"},
    {"TEGULA_ASSEMBLER", "auto | driver | ptxas",
     "the program that turns PTX into machine code; auto: ptxas if found, else the driver"},
    {"TEGULA_PTXAS", "<path>", "the ptxas to use instead of the one in PATH"},
    {"TEGULA_PTXAS_NOTES", "error | warn | ignore",
     "the reaction when the assembler serialises wgmma or ignores setmaxnreg (its notes C75xx and C76xx)"},
    {"TEGULA_PTXAS_SPILLS", "error | warn | ignore", "the reaction when a GPU kernel has spills or stack frames"},
    {"TEGULA_QUIET", "0 | 1", "1: warnings are not printed"},
};

EnvironmentVariable const& row(std::string_view name) {
  for (EnvironmentVariable const& variable : table)
    if (variable.name == name) return variable;
  throw InternalError(fmt::format("environment variable {} is not in the table", name));
}

[[noreturn]] void refuse(std::string_view name, std::string_view value) {
  throw UserError(fmt::format("{}={}: not understood; grammar: {}", name, quoted(value), row(name).grammar));
}

/// Gives the value, or "" if unset.
std::string value_of(std::string_view name) {
  char const* value = std::getenv(std::string(row(name).name).c_str());
  return value == nullptr ? std::string() : std::string(value);
}

template <class Value, std::size_t N>
Value one_of(std::string_view name, Value fallback, std::pair<std::string_view, Value> const (&choices)[N]) {
  std::string const text = value_of(name);
  if (text.empty()) return fallback;
  for (auto const& [spelling, value] : choices)
    if (text == spelling) return value;
  refuse(name, text);
}

int integer(std::string_view name, std::string_view whole, std::string_view digits, int min, int max) {
  int value = 0;
  auto const result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || result.ec != std::errc() || result.ptr != digits.data() + digits.size() || value < min ||
      value > max)
    refuse(name, whole);
  return value;
}

void add_dump_item(std::vector<DumpItem>& items, std::string_view item, std::string_view whole) {
  using Kind = DumpItem::Kind;
  auto const with_pass = [&](std::string_view prefix, Kind kind) {
    if (!item.starts_with(prefix) || item.size() == prefix.size()) return false;
    items.push_back({kind, std::string(item.substr(prefix.size()))});
    return true;
  };
  static constexpr std::pair<std::string_view, Kind> plain[] = {{"ir", Kind::ir},         {"llvm", Kind::llvm},
                                                                {"asm", Kind::assembly},  {"ptx", Kind::ptx},
                                                                {"launch", Kind::launch}, {"key", Kind::key}};
  for (auto const& [spelling, kind] : plain)
    if (item == spelling) return items.push_back({kind, {}});
  if (item == "all") {
    for (auto const& [spelling, kind] : plain) items.push_back({kind, {}});
    return items.push_back({Kind::ir_after, "all"});
  }
  if (!with_pass("ir-before=", Kind::ir_before) && !with_pass("ir-after=", Kind::ir_after))
    refuse("TEGULA_DUMP", whole);
}

std::vector<DumpItem> dump_items(std::string_view text) {
  std::vector<DumpItem> items;
  std::string_view rest = text;
  while (!text.empty()) {
    std::size_t const comma = rest.find(',');
    add_dump_item(items, rest.substr(0, comma), text);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return items;
}

std::string device_choice() {
  std::string const text = value_of("TEGULA_DEVICE");
  if (text.starts_with("cuda:")) {
    integer("TEGULA_DEVICE", text, std::string_view(text).substr(5), 0, 1023);
  } else if (!text.empty() && text != "host" && text != "cuda" && text != "debug") {
    refuse("TEGULA_DEVICE", text);
  }
  return text;
}

void read_checks(Options& options) {
  std::string const text = value_of("TEGULA_CHECKS");
  std::string_view rest = text;
  while (!text.empty()) {
    std::size_t const comma = rest.find(',');
    std::string_view const word = rest.substr(0, comma);
    bool const all = word == "all";
    if (!all && word != "bounds" && word != "overflow" && word != "nan") refuse("TEGULA_CHECKS", text);
    options.check_bounds = options.check_bounds || all || word == "bounds";
    options.check_overflow = options.check_overflow || all || word == "overflow";
    options.check_nan = options.check_nan || all || word == "nan";
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

/// Reads one item of TEGULA_PROFILE behind the colon.
void add_profile_item(ProfileRequest& profile, std::string_view item, std::string_view whole) {
  using Granularity = ProfileRequest::Granularity;
  auto const number = [&](std::string_view prefix, int& value) {
    if (!item.starts_with(prefix)) return false;
    constexpr int most = 1 << 20;
    value = integer("TEGULA_PROFILE", whole, item.substr(prefix.size()), 1, most);
    return true;
  };
  if (item == "user") {
    profile.user = true;
  } else if (item == "compiler") {
    profile.compiler = true;
  } else if (item == "circular") {
    profile.circular = true;
  } else if (item == "warp") {
    profile.granularity = Granularity::warp;
  } else if (item == "warpgroup") {
    profile.granularity = Granularity::warpgroup;
  } else if (item == "cta") {
    profile.granularity = Granularity::cta;
  } else if (!number("slots=", profile.slots) && !number("rows=", profile.rows)) {
    refuse("TEGULA_PROFILE", whole);
  }
}

ProfileRequest profile_request() {
  ProfileRequest profile;
  std::string const text = value_of("TEGULA_PROFILE");
  std::string_view const whole = text;
  if (text.empty() || text == "off") return profile;
  std::size_t const colon = whole.find(':');
  std::string_view const word = whole.substr(0, colon);
  if (word != "on" && word != "shared" && word != "device") refuse("TEGULA_PROFILE", text);
  profile.on = true;
  profile.device = word != "shared";
  if (colon == std::string_view::npos) return profile;
  std::string_view rest = whole.substr(colon + 1);
  // Records that are named are the only ones.
  bool const named = [&] {
    for (std::string_view left = rest;;) {
      std::size_t const comma = left.find(',');
      if (std::string_view const item = left.substr(0, comma); item == "user" || item == "compiler") return true;
      if (comma == std::string_view::npos) return false;
      left.remove_prefix(comma + 1);
    }
  }();
  if (named) profile.user = profile.compiler = false;
  for (;;) {
    std::size_t const comma = rest.find(',');
    add_profile_item(profile, rest.substr(0, comma), text);
    if (comma == std::string_view::npos) return profile;
    rest.remove_prefix(comma + 1);
  }
}

/// Gives the schedule by its first word; the simulator reads the rest. Empty for 0, 1 and values that are refused
/// elsewhere.
std::string simulated_schedule() {
  std::string const text = value_of("TEGULA_SIMULATE");
  std::string_view const word = std::string_view(text).substr(0, text.find(':'));
  for (std::string_view const known : {"seed", "latest", "earliest", "starve", "choices", "timed"})
    if (word == known) return text;
  return {};
}

NotePolicy note_policy(std::string_view name, NotePolicy fallback) {
  return one_of<NotePolicy>(name, fallback,
                            {{"error", NotePolicy::error}, {"warn", NotePolicy::warn}, {"ignore", NotePolicy::ignore}});
}

std::atomic<Options const*>& in_force() {
  static constinit std::atomic<Options const*> current = nullptr;
  if (current.load() != nullptr) return current;
  static constinit Lasting<Options const> of_environment;
  Options const* none = nullptr;
  current.compare_exchange_strong(none,
                                  &of_environment.get([] { return std::make_unique<Options const>(read_options()); }));
  return current;
}

}  // namespace

std::span<EnvironmentVariable const> environment_table() { return table; }

std::string environment_help() {
  std::string text;
  for (EnvironmentVariable const& variable : table)
    text += fmt::format("{} = {}\n    {}\n", variable.name, variable.grammar, variable.meaning);
  return text;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  if (text == "none") return UINT64_MAX;
  std::uint64_t number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view const unit = text.substr(static_cast<std::size_t>(end - text.data()));
  constexpr std::string_view units = "KMG";
  if (error != std::errc() || unit.size() > 1) return std::nullopt;
  if (unit.empty()) return number;
  std::size_t const power = units.find(unit[0]);
  if (power == std::string_view::npos) return std::nullopt;
  std::uint64_t const factor = std::uint64_t{1} << 10 * (power + 1);
  if (number > UINT64_MAX / factor) return std::nullopt;
  return number * factor;
}

Options read_options() {
  Options result;
  result.dump = dump_items(value_of("TEGULA_DUMP"));
  result.dump_kernel = value_of("TEGULA_DUMP_KERNEL");
  result.dump_dir = value_of("TEGULA_DUMP_DIR");
  result.override_dir = value_of("TEGULA_OVERRIDE_DIR");
  result.replay_dir = value_of("TEGULA_REPLAY_DIR");
  result.verify_each = one_of<bool>("TEGULA_VERIFY", false, {{"each", true}, {"off", false}});
  result.time_passes = one_of<bool>("TEGULA_TIME", false, {{"passes", true}, {"off", false}});
  enum class Arithmetic { free, uncontracted, exact };
  auto const arithmetic = one_of<Arithmetic>(
      "TEGULA_ARITHMETIC", Arithmetic::free,
      {{"free", Arithmetic::free}, {"uncontracted", Arithmetic::uncontracted}, {"exact", Arithmetic::exact}});
  result.exact = arithmetic == Arithmetic::exact;
  result.uncontracted = arithmetic == Arithmetic::uncontracted;
  enum class Asserts { off, on, all };
  auto const asserts = one_of<Asserts>("TEGULA_ASSERTS", Asserts::on,
                                       {{"on", Asserts::on}, {"off", Asserts::off}, {"all", Asserts::all}});
  result.asserts = asserts != Asserts::off;
  result.ranges = asserts == Asserts::all;
  result.lines = one_of<bool>("TEGULA_LINES", false, {{"on", true}, {"off", false}});
  result.simulate_schedule = simulated_schedule();
  result.simulate =
      !result.simulate_schedule.empty() || one_of<bool>("TEGULA_SIMULATE", false, {{"1", true}, {"0", false}});
  result.profile = profile_request();
  result.profile_dir = value_of("TEGULA_PROFILE_DIR");
  if (result.profile_dir.empty()) result.profile_dir = "tegula-profile";
  if (std::string const threads = value_of("TEGULA_THREADS"); !threads.empty())
    result.threads = integer("TEGULA_THREADS", threads, threads, 1, 1024);
  result.host_cpu = value_of("TEGULA_HOST_CPU");
  result.device = device_choice();
  result.debug = result.device == "debug";
  if (result.debug) result.device = "host";
  read_checks(result);
  result.cache_dir = value_of("TEGULA_CACHE_DIR");
  result.cache =
      one_of<CacheMode>("TEGULA_CACHE", CacheMode::on,
                        {{"on", CacheMode::on}, {"off", CacheMode::off}, {"read-only", CacheMode::read_only}});
  if (std::string const limit = value_of("TEGULA_CACHE_LIMIT"); !limit.empty()) {
    std::optional<std::uint64_t> const bytes = parse_bytes(limit);
    if (!bytes) refuse("TEGULA_CACHE_LIMIT", limit);
    result.cache_limit = *bytes;
  }
  result.assembler =
      one_of<Assembler>("TEGULA_ASSEMBLER", Assembler::automatic,
                        {{"auto", Assembler::automatic}, {"driver", Assembler::driver}, {"ptxas", Assembler::ptxas}});
  result.ptxas = value_of("TEGULA_PTXAS");
  result.ptxas_notes = note_policy("TEGULA_PTXAS_NOTES", NotePolicy::error);
  result.ptxas_spills = note_policy("TEGULA_PTXAS_SPILLS", NotePolicy::ignore);
  one_of<bool>("TEGULA_QUIET", false, {{"1", true}, {"0", false}});
  return result;
}

Options const& options() { return *in_force().load(); }

ScopedOptions::ScopedOptions(Options replacement)
    : mine_(new Options(std::move(replacement))), former_(in_force().exchange(mine_)) {}

ScopedOptions::~ScopedOptions() {
  in_force().store(former_);
  delete mine_;
}

}  // namespace tegula::support
