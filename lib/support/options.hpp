// Holds the options that environment variables state: one snapshot. environment.hpp lists the variables. No other file
// reads TEGULA_* from the environment (except TEGULA_QUIET, which must work while an option is being refused).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::support {

/// Holds one item of TEGULA_DUMP.
struct DumpItem {
  enum class Kind : std::uint8_t { ir, ir_before, ir_after, llvm, assembly, ptx, launch, key };
  Kind kind = Kind::ir;
  std::string pass;  ///< of ir_before and ir_after; "all" is every pass
  friend bool operator==(DumpItem const&, DumpItem const&) = default;
};

enum class CacheMode : std::uint8_t { on, off, read_only };
enum class Assembler : std::uint8_t { automatic, driver, ptxas };
/// Says how to react to a remark of the assembler.
enum class NotePolicy : std::uint8_t { ignore, warn, error };

/// Holds TEGULA_PROFILE. It says in words of its own what ProfileOptions says, which this folder does not know.
struct ProfileRequest {
  bool on = false;
  bool device = false;  ///< strategy; false: shared
  bool user = true, compiler = true;
  bool circular = false;
  enum class Granularity : std::uint8_t { warp, warpgroup, cta };
  Granularity granularity = Granularity::warp;
  int slots = 0;  ///< 0: the default
  int rows = 0;
  friend bool operator==(ProfileRequest const&, ProfileRequest const&) = default;
};

/// Holds the parsed environment.
struct Options {
  std::vector<DumpItem> dump;
  std::string dump_kernel;   ///< only this kernel is dumped; empty: all
  std::string dump_dir;      ///< empty: standard error
  std::string override_dir;  ///< an edited dump found here replaces the IR after its pass
  std::string replay_dir;    ///< folder for the replay file of a failure; empty: the system's temporary folder
  bool verify_each = false;
  bool time_passes = false;
  bool exact = false;         ///< launches: every rounding as written
  bool uncontracted = false;  ///< launches: products are rounded before they are added
  bool asserts = true;        ///< of launches; false: device_asserts are removed
  bool ranges = false;        ///< of launches; true: a GPU checks the stated ranges of loaded scalars
  bool check_bounds = false, check_overflow = false, check_nan = false;  ///< CompileOptions::checks of launches
  bool advice = false;    ///< the first launch of each kernel prints its advice, and launches are timed
  bool lines = false;     ///< of launches; true: code names the user's functions and lines
  bool simulate = false;  ///< every launch goes through the simulator
  /// Schedule of the warps under `simulate`, for a kernel as the passes transform it; empty: the kernel's tiles, block
  /// by block.
  std::string simulate_schedule;
  ProfileRequest profile;                      ///< of every launch
  std::string profile_dir = "tegula-profile";  ///< for its files
  int threads = 0;        ///< of the host executor, the calling thread included; 0: one per hardware thread
  std::string host_cpu;   ///< LLVM's name of the CPU that host kernels are compiled for; empty: this machine's
  std::string device;     ///< result of device::best(): "", "host", "cuda", "cuda:<n>"
  std::string arch;       ///< GPU kernels are compiled for this architecture; empty: for the device's best one
  bool debug = false;     ///< every launch runs on the debug device; best() is the host
  std::string cache_dir;  ///< empty: $XDG_CACHE_HOME/tegula or ~/.cache/tegula
  CacheMode cache = CacheMode::on;
  std::uint64_t cache_limit = std::uint64_t{1} << 30;  ///< bytes of the cache on disk
  Assembler assembler = Assembler::automatic;
  std::string ptxas;                           ///< path of ptxas; empty: searched in PATH
  NotePolicy ptxas_notes = NotePolicy::warn;   ///< wgmma serialised or setmaxnreg ignored
  NotePolicy ptxas_spills = NotePolicy::warn;  ///< spills and stack frames

  /// True if compiling must happen although a cache has the result: to dump or to replace something.
  [[nodiscard]] bool must_compile() const { return !dump.empty() || !override_dir.empty(); }
  friend bool operator==(Options const&, Options const&) = default;
};

/// Reads the environment. Throws UserError naming variable, value and grammar for a value that does not parse.
Options read_options();

/// Returns the options in force: the environment as it was at the first call. The reference is valid for the process.
Options const& options();

/// Replaces the options in force while it lives; for tests. Not for use while launches run on other threads.
class ScopedOptions {
 public:
  explicit ScopedOptions(Options replacement);
  ~ScopedOptions();
  ScopedOptions(ScopedOptions const&) = delete;
  ScopedOptions& operator=(ScopedOptions const&) = delete;

 private:
  Options const* mine_;
  Options const* former_;
};

}  // namespace tegula::support
